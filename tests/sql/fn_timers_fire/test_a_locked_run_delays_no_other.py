"""An open transaction on one run delays no other run: the keeper skips rows that are locked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.sql.drive import Engine, operation, subworkflow, wait
from tests.support.clock import Clock


@contextmanager
def holding(dsn: str, query: str, *parameters: object) -> Iterator[psycopg.Connection]:
    """A transaction of a client that stays open until the block ends."""
    with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as other:
        other.execute(query.encode(), parameters)
        yield other
        other.rollback()


@pytest.fixture
def no_lock_wait(engine: Engine) -> Engine:
    """An engine that raises an error instead of waiting for a lock."""
    engine.db.execute("set lock_timeout = '50ms'")
    return engine


def test_a_locked_run_delays_no_timer_of_another_run(no_lock_wait: Engine, dsn: str, clock: Clock):
    engine = no_lock_wait
    engine.publish("w", wait("parcel", "came", timeout_seconds=10))
    held, *others = [engine.start("w") for _ in range(44)]
    clock.advance(seconds=11)
    with holding(dsn, "select fn_signal(1, %s, 'other', '{}', 'k', 'ada')", held):
        called_at = clock.now()
        fired, next_due_at = engine.db.execute("select * from fn_timers_fire()").fetchone()  # type: ignore[misc]
        assert fired == 43
        assert next_due_at > called_at
        assert {engine.run_state(run_id) for run_id in others} == {"failed"}
        assert engine.run_state(held) == "in_progress"
        assert engine.timers() == 0
    assert engine.timers() == 1
    assert engine.run_state(held) == "failed"
    assert engine.faults() == {}


def test_a_locked_parent_run_delays_only_the_timers_of_its_subruns(
    no_lock_wait: Engine, dsn: str, clock: Clock
):
    engine = no_lock_wait
    engine.publish("child", wait("parcel", "came", timeout_seconds=10))
    engine.publish("parent", subworkflow("sub", "child"))
    held, free = engine.start("parent"), engine.start("parent")
    clock.advance(seconds=11)
    with holding(dsn, "select 1 from run_progress where run_id = %s for update", held):
        assert engine.timers() == 1
        assert (engine.run_state(held), engine.run_state(free)) == ("in_progress", "failed")
    assert engine.timers() == 1
    assert engine.run_state(held) == "failed"


def test_many_locked_timers_that_are_due_first_delay_no_other(no_lock_wait: Engine, dsn: str, clock: Clock):
    engine = no_lock_wait
    engine.publish("w", wait("parcel", "came", timeout_seconds=10))
    held = [engine.start("w") for _ in range(12)]
    clock.advance(seconds=1)
    free = engine.start("w")
    clock.advance(seconds=20)
    with holding(dsn, "select 1 from run_progress where run_id = any (%s) for update", held):
        assert engine.one("select fired_count from fn_timers_fire(4)") == 1
    assert engine.run_state(free) == "failed"
    assert [engine.one("select fired_count from fn_timers_fire(4)") for _ in range(4)] == [4, 4, 4, 0]


def test_a_locked_job_is_released_later(no_lock_wait: Engine, dsn: str, clock: Clock):
    engine = no_lock_wait
    job_ids = engine.enqueue("op", 3, p_process_after=clock.now().replace(year=2090))
    engine.db.execute("update timer set due_at = stepwell.now()")
    with holding(dsn, "select 1 from work_unit where unit_id = %s for update", job_ids[1]):
        assert engine.timers() == 2
    assert engine.timers() == 1


def test_a_locked_run_delays_no_recovery_of_another_run(no_lock_wait: Engine, dsn: str, clock: Clock):
    engine = no_lock_wait
    engine.publish("w", operation("a"))
    held, free = engine.start("w"), engine.start("w")
    engine.claim(engine.worker(lease_seconds=5))
    clock.advance(seconds=6)
    with holding(dsn, "select 1 from run_progress where run_id = %s for update", held):
        assert engine.one("select fn_leases_recover()") == 1
        assert (engine.states(held), engine.states(free)) == ({"a": "in_progress"}, {"a": "ready"})
        assert engine.one("select fn_leases_recover()") == 0
    assert engine.one("select fn_leases_recover()") == 1
    assert engine.one("select count(*) from event_log where event_type = 'worker.silent'") == 1
    assert engine.faults() == {}


def test_sessions_with_locked_runs_delay_no_recovery_of_another_session(
    no_lock_wait: Engine, dsn: str, clock: Clock
):
    engine = no_lock_wait
    engine.publish("w", operation("a"))
    held = [engine.start("w") for _ in range(6)]
    for run_id in held:
        engine.claim(engine.worker(f"held {run_id}", lease_seconds=5))
    free = engine.start("w")
    engine.claim(engine.worker("free", lease_seconds=5))
    clock.advance(seconds=6)
    with holding(dsn, "select 1 from run_progress where run_id = any (%s) for update", held):
        recovered = 0
        for _ in range(200):
            recovered += engine.one("select fn_leases_recover(1)")
            if recovered:
                break
        assert engine.states(free) == {"a": "ready"}
