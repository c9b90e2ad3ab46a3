"""`LockWatch` reports a session that waits against the lock order, and no session that waits in order."""

from __future__ import annotations

import pytest

from tests.interleave.conftest import Session
from tests.sql.drive import Engine, operation
from tests.support.lock_order import LockWatch
from tests.support.wait import until
from tests.worker.acting import put_in_force, rule

# Name of a row → the statement that locks it. The name begins with its table.
LOCKS = {
    "worker_session": "select from worker_session where session_id = 1 for update",
    "run_progress 1": "select from run_progress order by run_id limit 1 for update",
    "run_progress 2": "select from run_progress order by run_id desc limit 1 for update",
    "job_ready": "select from job_ready order by unit_id limit 1 for update",
    "work_unit": "select from work_unit where scope = 'step' order by unit_id limit 1 for update",
    "concurrency_slot a": "select from concurrency_slot where slot_key = 'key:a' for update",
    "concurrency_slot b": "select from concurrency_slot where slot_key = 'key:b' for update",
    "run_write_count": "update run_write_count set write_count = write_count + 1",
    "policy_active": "update policy_active set activated_by = 'ada'",
    "tenant": "select from tenant where tenant_id = 1 for update",
}
# What a session holds, and what it waits for.
VIOLATIONS = [
    ("run_progress 1", "worker_session"),
    ("run_progress 2", "run_progress 1"),
    ("job_ready", "run_progress 1"),
    ("work_unit", "run_progress 1"),
    ("concurrency_slot a", "run_progress 1"),
    ("concurrency_slot a", "work_unit"),
    ("concurrency_slot b", "concurrency_slot a"),
    ("run_write_count", "concurrency_slot a"),
    ("policy_active", "work_unit"),
    ("tenant", "run_progress 1"),
    ("tenant", "concurrency_slot a"),
    ("tenant", "policy_active"),
]
IN_ORDER = [
    ("worker_session", "run_progress 1"),
    ("run_progress 1", "run_progress 2"),
    ("run_progress 1", "work_unit"),
    ("run_progress 1", "concurrency_slot a"),
    ("concurrency_slot a", "concurrency_slot b"),
    ("concurrency_slot a", "run_write_count"),
    ("work_unit", "policy_active"),
    ("concurrency_slot a", "tenant"),
    ("policy_active", "tenant"),
]


@pytest.fixture
def rows(engine: Engine) -> None:
    """At least one row of each table that has a place in the lock order, two runs and two slots."""
    put_in_force(engine.db, rule("free", "allow"))
    engine.worker()
    engine.publish("w", operation("a"))
    for _ in range(2):
        engine.start("w")
    for key in ("a", "b"):
        engine.enqueue("op", p_concurrency_key=key, p_max_concurrency=2)
    unit_id = engine.one("select min(unit_id) from work_unit where scope = 'step'")
    engine.db.execute("insert into run_write_count values (1, %s, 0)", (unit_id,))


def waited(sessions, watch: LockWatch, held: str, waited_for: str) -> None:
    """One session has the second row; another locks the first and waits for the second, until it is seen."""
    holder: Session = sessions()
    waiter: Session = sessions()
    holder.db.execute(LOCKS[waited_for])
    waiter.db.execute(LOCKS[held])
    waiting = waiter.start_blocked(lambda: waiter.db.execute(LOCKS[waited_for]))
    until(lambda: watch.wait_count > 0)
    holder.rollback()
    waiting.result(60)
    waiter.rollback()


@pytest.mark.parametrize(("held", "waited_for"), VIOLATIONS)
def test_a_wait_against_the_order_is_reported(sessions, dsn: str, rows: None, held: str, waited_for: str):
    with LockWatch(dsn) as watch:
        waited(sessions, watch, held, waited_for)
    (fault,) = watch.faults
    assert fault.startswith(f"holds {held.split()[0]} ")
    assert f"waits for {waited_for.split()[0]} " in fault


@pytest.mark.parametrize(("held", "waited_for"), IN_ORDER)
def test_a_wait_in_order_is_not_reported(sessions, dsn: str, rows: None, held: str, waited_for: str):
    with LockWatch(dsn) as watch:
        waited(sessions, watch, held, waited_for)
    assert watch.faults == set()


def test_a_unit_after_a_slot_is_reported_also_to_the_holder_of_its_run(sessions, dsn: str, rows: None):
    holder, waiter = sessions(), sessions()
    holder.db.execute(LOCKS["work_unit"])
    waiter.db.execute(LOCKS["run_progress 1"])
    waiter.db.execute(LOCKS["concurrency_slot a"])
    with LockWatch(dsn) as watch:
        waiting = waiter.start_blocked(lambda: waiter.db.execute(LOCKS["work_unit"]))
        until(lambda: watch.wait_count > 0)
        holder.rollback()
        waiting.result(60)
    assert [fault for fault in watch.faults if fault.startswith("holds concurrency_slot")]


def test_a_claim_that_waits_for_a_unit_is_reported(sessions, dsn: str, rows: None):
    with LockWatch(dsn) as watch:
        waited(sessions, watch, "job_ready", "work_unit")
    assert [fault for fault in watch.faults if fault.startswith("a claim waits for work_unit")]
