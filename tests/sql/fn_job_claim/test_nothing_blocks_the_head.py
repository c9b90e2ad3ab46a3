"""What cannot be taken at the head of the queue is passed over: busy retries, rows of other claims."""

from __future__ import annotations

from collections import Counter

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation

FAILED = {"error": {"type": "E", "message": "no"}}


@pytest.fixture
def other(dsn: str):
    with psycopg.connect(dsn, options="-csearch_path=stepwell") as connection:
        yield connection


def retries_in_the_queue(engine: Engine, count: int) -> None:
    engine.publish("w", operation("op", retry={"max_attempts": 9, "initial_seconds": 0}))
    for _ in range(count):
        engine.start("w")
    session = engine.worker("first")
    engine.report(session, *((lease, "failed", FAILED) for lease in engine.claim(session)))
    engine.timers()


@pytest.mark.parametrize("limit", [1, 3, 100])
@pytest.mark.parametrize("busy_count", [1, 40])
def test_a_retry_of_a_busy_run_starves_nobody(engine: Engine, other, limit: int, busy_count: int):
    retries_in_the_queue(engine, busy_count)
    engine.enqueue("op", 50)
    other.execute("select from run_progress for update")
    session = engine.worker()
    got = sum(len(engine.claim(session, limit)) for _ in range(-(-50 // limit)))
    assert got == 50
    assert engine.claim(session, limit) == []
    other.rollback()
    assert len(engine.claim(session, 100)) == busy_count
    assert engine.faults() == {}


def test_rows_of_another_claim_are_passed_over(engine: Engine, other):
    engine.enqueue("op", 300)
    other.execute("select from job_ready order by unit_id limit 200 for update")
    session = engine.worker()
    assert [len(engine.claim(session, 40)) for _ in range(4)] == [40, 40, 20, 0]


def test_a_high_priority_comes_first_whatever_its_class(engine: Engine):
    engine.db.execute(
        "select fn_operation_register(1, %s)",
        (Jsonb([{"name": "fast"}, {"name": "heavy", "executor": "process"}]),),
    )
    session = engine.worker(classes=["default", "process"])
    engine.enqueue("fast", 600)
    engine.enqueue("heavy", 5, p_priority=1000)
    engine.enqueue("fast", 5, p_priority=10)
    taken = engine.claim(session, 8)
    assert Counter(lease.operation for lease in taken) == {"heavy": 5, "fast": 3}
    ranks = engine.db.execute(
        "select distinct priority from work_unit where lease_session_id = _session_id_of(%s)", (session,)
    ).fetchall()
    assert sorted(ranks) == [(10,), (1000,)]


def test_operations_of_one_priority_share_and_the_oldest_goes_first(engine: Engine):
    engine.enqueue("b", 1)
    for name in ("a", "b", "c"):
        engine.enqueue(name, 100)
    session = engine.worker()
    assert [lease.operation for lease in engine.claim(session, 1)] == ["b"]
    assert Counter(lease.operation for lease in engine.claim(session, 30)) == {"a": 10, "b": 10, "c": 10}


def test_with_many_operations_none_is_left_behind(engine: Engine):
    """More than one claim looks at: each look begins at another of them."""
    for _ in range(5):
        for number in range(60):
            engine.enqueue(f"op{number}")
    session = engine.worker()
    served: Counter[str | None] = Counter()
    for _ in range(20):
        served.update(lease.operation for lease in engine.claim(session, 10))
    assert len(served) >= 55, "200 of 300 jobs were claimed, and some operations got none"
    assert engine.drain(session) == 100
