"""A row that enters the queue notifies only if a worker is idle: commits that notify wait for each other, so
the engine avoids notifications that no worker needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.sql.drive import Engine, operation
from tests.support.wait import LIMIT_SECONDS

CHANNEL = "stepwell_ready"
PUT = (
    "insert into job_ready (tenant_id, executor_class_id, rank, operation_id, unit_id, is_retry)"
    " select tenant_id, executor_class_id, 0, operation_id, unit_id, false from work_unit where scope = 'job'"
)


@pytest.fixture
def listener(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"listen {CHANNEL}")
        yield connection


def is_woken(engine: Engine, listener: psycopg.Connection[Any]) -> bool:
    """Whether a notification came before this one: `asked` marks the end of the earlier notifications."""
    engine.db.execute("select pg_notify(%s, 'asked')", (CHANNEL,))
    heard: list[str] = []
    while "asked" not in heard:
        heard += [notify.payload for notify in listener.notifies(timeout=LIMIT_SECONDS, stop_after=1)]
    return heard != ["asked"]


def idle(engine: Engine, name: str = "idle") -> int:
    session = engine.worker(name)
    assert engine.claim(session) == []
    return session


@pytest.mark.parametrize("worker", ["idle", "busy", "closed", "none"])
def test_a_row_wakes_only_idle_workers(engine: Engine, listener, worker: str):
    if worker != "none":
        session = idle(engine)
    if worker == "busy":
        engine.enqueue("other")
        engine.claim(session, 1)
    elif worker == "closed":
        engine.db.execute("select fn_worker_close(%s)", (session,))
    is_woken(engine, listener)
    engine.enqueue("job")
    assert is_woken(engine, listener) is (worker == "idle")


def test_a_row_inserted_without_a_function_wakes_idle_workers(engine: Engine, listener):
    """A plain insert notifies too: the trigger does it, not the function that inserts."""
    engine.enqueue("job")
    engine.db.execute("delete from job_ready")
    idle(engine)
    engine.db.execute(PUT)
    assert is_woken(engine, listener)


def test_a_report_that_leases_all_released_steps_wakes_nobody(engine: Engine, listener):
    steps = [operation("a"), *(operation(f"b{n}") for n in range(3))]
    engine.publish("w", *steps, edges=[("a", f"b{n}") for n in range(3)])
    engine.start("w")
    session = engine.worker("busy")
    (lease,) = engine.claim(session, 1)
    idle(engine)
    is_woken(engine, listener)
    assert len(engine.report(session, (lease, "completed", None), claim_limit=10)) == 3
    assert not is_woken(engine, listener)


def test_a_report_that_leaves_a_released_step_wakes_the_others(engine: Engine, listener):
    steps = [operation("a"), *(operation(f"b{n}") for n in range(3))]
    engine.publish("w", *steps, edges=[("a", f"b{n}") for n in range(3)])
    engine.start("w")
    session = engine.worker("busy")
    (lease,) = engine.claim(session, 1)
    idle(engine)
    is_woken(engine, listener)
    assert len(engine.report(session, (lease, "completed", None), claim_limit=2)) == 2
    assert is_woken(engine, listener)


def test_a_report_suppresses_notifications_only_until_it_returns(engine: Engine, listener):
    """The next call in the same transaction notifies again."""
    engine.publish("w", operation("a"))
    engine.start("w")
    session = engine.worker("busy")
    (lease,) = engine.claim(session, 1)
    idle(engine)
    is_woken(engine, listener)
    with engine.db.transaction():
        engine.report(session, (lease, "completed", None), claim_limit=10)
        engine.enqueue("job")
    assert is_woken(engine, listener)
