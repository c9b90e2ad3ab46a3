"""What a claim reads does not grow with the tenants and operations that have work: pages, not time."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database

CROWD = """
    create temporary table dealt as
    with owner as (
        insert into tenant (tenant_code) select %(name)s || n from generate_series(1, %(tenants)s) as n
        returning tenant_id
    ), named as (
        insert into operation (tenant_id, operation_name, executor_class_id)
        select o.tenant_id, 'op' || n, 1 from owner as o cross join generate_series(1, %(operations)s) as n
        returning tenant_id, operation_id
    )
    select n.tenant_id, n.operation_id, nextval('run_seq') << 20 as job_id
    from named as n cross join generate_series(1, %(jobs)s)
"""
JOBS = """
    insert into job_detail (tenant_id, job_id, payload, created_at, created_by)
    select d.tenant_id, d.job_id, '{}', now(), 'test' from dealt as d;
    insert into work_unit (tenant_id, unit_id, operation_id, executor_class_id, max_attempts,
        last_transition_at, scope, state_machine_id, state_code)
    select d.tenant_id, d.job_id, d.operation_id, 1, 3, now(), 'job', stepwell._machine_of('job'), 'ready'
    from dealt as d;
    insert into job_ready (tenant_id, executor_class_id, rank, operation_id, unit_id, is_retry)
    select d.tenant_id, 1, 0, d.operation_id, d.job_id, false from dealt as d;
    drop table dealt;
"""


def crowd(db: psycopg.Connection, name: str, tenants: int, operations: int, jobs: int) -> None:
    """So many jobs of each operation of each tenant."""
    given = {"name": name, "tenants": tenants, "operations": operations, "jobs": jobs}
    with psycopg.ClientCursor(db) as cursor:
        cursor.execute(CROWD, given)
    db.execute(JOBS)
    for table in ("tenant", "operation", "handler", "job_ready", "work_unit", "job_detail"):
        db.execute(f"vacuum analyze {table}")


def pages(engine: Engine, session: int, limit: int) -> int:
    """The pages that a claim looks at, of all tables and indexes: the median of three, with warm caches."""
    found = []
    for _ in range(4):
        plan = engine.one(
            "explain (analyze, buffers, format json) select * from fn_job_claim(%s, %s)", (session, limit)
        )[0]["Plan"]
        assert plan["Actual Rows"] == limit
        found.append(int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]))
    return sorted(found[1:])[1]


@pytest.mark.parametrize("limit", [1, 50])
def test_ten_thousand_tenants_cost_no_more_than_a_hundred(engine: Engine, limit: int):
    session = engine.worker(serves=["op1"])
    crowd(engine.db, "few", tenants=100, operations=1, jobs=3)
    few = pages(engine, session, limit)
    crowd(engine.db, "many", tenants=10_000, operations=1, jobs=1)
    many = pages(engine, session, limit)
    assert many <= 1.6 * few, (few, many)


@pytest.mark.parametrize("limit", [1, 50])
def test_a_thousand_operations_cost_no_more_than_fifty(engine: Engine, limit: int):
    session = engine.worker(serves=[f"op{number}" for number in range(1, 1001)])
    crowd(engine.db, "few", tenants=1, operations=50, jobs=8)
    few = pages(engine, session, limit)
    engine.drain(engine.worker())
    crowd(engine.db, "many", tenants=1, operations=1000, jobs=4)
    many = pages(engine, session, limit)
    assert many <= 1.6 * few, (few, many)
