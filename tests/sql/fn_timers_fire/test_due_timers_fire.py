"""Due timers fire in batches, and a timer that its unit no longer needs does not stop the others."""

from __future__ import annotations

import psycopg

from tests.sql.drive import Engine, operation, wait
from tests.support.clock import Clock


def test_the_call_returns_how_many_fired_and_when_the_next_is_due(engine: Engine, clock: Clock):
    engine.publish("w", wait("one", "a", timeout_seconds=10), wait("two", "b", timeout_seconds=50), edges=[])
    run_id = engine.start("w")
    assert engine.one("select fired_count from fn_timers_fire()") == 0
    clock.advance(seconds=11)
    fired, next_due_at = engine.db.execute("select * from fn_timers_fire()").fetchone()  # type: ignore[misc]
    assert fired == 1
    assert 30 < (next_due_at - clock.now()).total_seconds() < 40
    assert engine.states(run_id) == {"one": "cannot_complete", "two": "waiting"}
    clock.advance(seconds=40)
    assert engine.timers() == 1
    assert engine.run_state(run_id) == "failed"
    assert engine.db.execute("select * from fn_timers_fire()").fetchone() == (0, None)


def test_a_batch_is_bounded(engine: Engine, clock: Clock):
    engine.enqueue("op", 30, p_process_after=clock.now().replace(year=2090))
    engine.db.execute("update timer set due_at = stepwell.now()")
    assert [engine.one("select fired_count from fn_timers_fire(20)") for _ in range(3)] == [20, 10, 0]


def test_a_timer_that_is_no_longer_needed_does_not_stop_others(engine: Engine, clock: Clock):
    """A step that was resumed by hand does not stop the timers of others."""
    engine.publish("w", operation("a"))
    run_id, other = engine.start("w"), engine.start("w")
    session = engine.worker()
    for lease in engine.claim(session):
        engine.report(session, (lease, "waiting", {"event": "came", "seconds": 10}))
    verdict = engine.one(
        """select fn_state_transition_validate(%s, 'step', 'waiting', 'ready', 'system', 'event', 'by_hand',
               '{"resolution_ref": "note:1"}')""",
        (engine.unit(run_id, "a"),),
    )
    assert verdict["ok"] is True
    clock.advance(seconds=11)
    engine.timers()
    assert engine.states(other) == {"a": "ready"}
    assert engine.one("select count(*) from timer") == 0
    assert engine.faults() == {}


def test_a_retry_due_while_its_run_is_paused_is_queued_on_resume(engine: Engine, clock: Clock):
    engine.publish("w", operation("a", retry={"max_attempts": 2}))
    run_id = engine.start("w")
    session = engine.worker(lease_seconds=1000)
    engine.report(session, (engine.claim(session)[0], "failed", {"error": {"type": "E"}, "delay_seconds": 5}))
    engine.one("select fn_run_pause(1, %s, 'cli:ada')", (run_id,))
    clock.advance(seconds=6)
    assert engine.timers() == 1
    assert engine.claim(session) == []
    engine.one("select fn_run_resume(1, %s, 'cli:ada')", (run_id,))
    assert len(engine.claim(session)) == 1
    assert engine.faults() == {}


def test_partitions_of_future_months_are_created_once(engine: Engine, db: psycopg.Connection):
    assert engine.one("select fn_partitions_ensure()") == 0
    assert engine.one("select fn_partitions_ensure('2031-11-15'::timestamptz, 6)") == 7
    assert engine.one("select fn_partitions_ensure('2031-11-15'::timestamptz, 6)") == 0
    names = [
        name
        for (name,) in db.execute(
            "select relname from pg_class where relname ~ '^event_log_2031_..$' order by 1"
        )
    ]
    assert names == ["event_log_2031_11", "event_log_2031_12"]
