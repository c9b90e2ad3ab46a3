"""Tenants share a claim by weight; unused shares go to the others; small claims reach every tenant."""

from __future__ import annotations

from collections import Counter

import psycopg
import pytest

pytestmark = pytest.mark.requirement("RT-04")


def _enqueue(db: psycopg.Connection, tenant_id: int, count: int) -> None:
    db.execute(
        "select * from fn_job_enqueue(%s, 'work', array_fill('{}'::jsonb, array[%s]))", (tenant_id, count)
    )


def _tenant(db: psycopg.Connection, code: str, weight: int) -> int:
    row = db.execute(
        "insert into tenant (tenant_code, weight) values (%s, %s) returning tenant_id", (code, weight)
    ).fetchone()
    assert row is not None
    return int(row[0])


def _claimed(db: psycopg.Connection, session_key: int, limit: int) -> Counter[int]:
    rows = db.execute("select tenant_id from fn_job_claim(%s, %s)", (session_key, limit))
    return Counter(row[0] for row in rows)


def _session(db: psycopg.Connection) -> int:
    row = db.execute("select fn_worker_register('turns', '{default}', 100)").fetchone()
    assert row is not None
    return int(row[0])


def test_many_jobs_of_one_tenant_do_not_take_the_share_of_another(db: psycopg.Connection):
    heavy, light = _tenant(db, "heavy", 3), _tenant(db, "light", 1)
    _enqueue(db, heavy, 200)
    _enqueue(db, light, 200)
    claimed = _claimed(db, _session(db), 40)
    assert claimed == {heavy: 30, light: 10}


def test_the_unused_share_of_a_tenant_goes_to_the_others(db: psycopg.Connection):
    busy, quiet = _tenant(db, "busy", 1), _tenant(db, "quiet", 1)
    _enqueue(db, busy, 100)
    _enqueue(db, quiet, 2)
    assert _claimed(db, _session(db), 50) == {busy: 48, quiet: 2}


def test_claims_of_one_job_reach_every_tenant(db: psycopg.Connection):
    tenants = {_tenant(db, f"t{number}", 1) for number in range(3)}
    for tenant_id in tenants:
        _enqueue(db, tenant_id, 60)
    session_key = _session(db)
    # The chance that 60 claims of one job miss one of three tenants is 1 in 10^10.
    served = sum((_claimed(db, session_key, 1) for _ in range(60)), Counter())
    assert set(served) == tenants
