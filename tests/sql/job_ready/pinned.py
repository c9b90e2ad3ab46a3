"""A queue with dead rows that an open transaction keeps: how to make one, and what a look at it reads."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine

# Enough dead rows that a walk over them costs more than everything else that a claim reads.
MANY = 20_000


def pin(connection: psycopg.Connection[Any], kind: str) -> None:
    """Holds the vacuum horizon: as one that only reads, one that wrote elsewhere, one that put a job."""
    if kind == "reader":
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("select count(*) from stepwell.tenant")
    elif kind == "writer":
        connection.execute("create table public.elsewhere ()")
    else:
        Engine(connection).enqueue("late")


def lane(engine: Engine, name: str, *, rank: int = 0) -> dict[str, int]:
    """The lane of an operation of this tenant; the operation exists then."""
    found = "select operation_id from operation where tenant_id = %s and operation_name = %s"
    if engine.one(found, (engine.tenant_id, name)) is None:
        declared = Jsonb([{"name": name}])
        engine.db.execute("select fn_operation_register(%s, %s)", (engine.tenant_id, declared))
    number = engine.one(found, (engine.tenant_id, name))
    return {"tenant": engine.tenant_id, "operation": number, "rank": rank}


def bury(engine: Engine, name: str, count: int = MANY, *, rank: int = 0) -> None:
    """Rows that were in the queue and are not any more, as after claims. Their units are the newest."""
    given = {**lane(engine, name, rank=rank), "count": count}
    engine.db.execute(
        """insert into job_ready (tenant_id, executor_class_id, rank, operation_id, unit_id, is_retry)
           select %(tenant)s, 1, %(rank)s, %(operation)s, nextval('run_seq') << 20, false
           from generate_series(1, %(count)s)""",
        given,
    )
    engine.db.execute(
        """delete from job_ready as r where r.tenant_id = %(tenant)s and r.operation_id = %(operation)s
               and r.rank = %(rank)s
               and not exists (select from work_unit as u where u.unit_id = r.unit_id)""",
        given,
    )


def warm(engine: Engine, session: int) -> None:
    """Two looks: the first walks far and begins to remember, the second remembers."""
    for _ in range(2):
        assert engine.claim(session) == []


def pages(engine: Engine, call: str, *given: object) -> int:
    """The pages that a call reads, of all tables and indexes."""
    plan = engine.one(f"explain (analyze, buffers, format json) select * from {call}", given)[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
