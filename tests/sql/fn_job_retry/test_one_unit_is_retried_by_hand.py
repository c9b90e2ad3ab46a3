"""Retry of one unit: a failed unit is ready at once; a dead one is replayed, and its failed run continues."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine, operation


def retry(engine: Engine, unit_id: int):
    return engine.one("select fn_job_retry(1, %s, 'cli:ada', 'fixed')", (unit_id,))


def test_a_retry_makes_a_failed_unit_ready_before_its_time(engine: Engine):
    (job_id,) = engine.enqueue("op")
    session = engine.worker()
    engine.report(
        session, (engine.claim(session)[0], "failed", {"error": {"type": "E"}, "delay_seconds": 500})
    )
    assert engine.claim(session) == []
    assert retry(engine, job_id)["state"] == "ready"
    assert engine.one("select count(*) from timer") == 0
    (lease,) = engine.claim(session)
    assert lease.attempt == 2
    assert engine.faults() == {}


def test_a_failed_unit_already_in_the_queue_is_not_queued_twice(engine: Engine):
    (job_id,) = engine.enqueue("op", p_concurrency_key="k")
    session = engine.worker()
    engine.report(session, (engine.claim(session)[0], "failed", {"error": {"type": "E"}, "delay_seconds": 0}))
    engine.timers()
    retry(engine, job_id)
    assert engine.faults() == {}
    assert len(engine.claim(session)) == 1
    assert engine.faults() == {}


def test_a_dead_job_runs_again_with_fresh_attempts(engine: Engine):
    (job_id,) = engine.enqueue("op")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    assert retry(engine, job_id)["state"] == "replayed"
    (lease,) = engine.claim(session)
    assert (lease.unit_id, lease.attempt, lease.lease_no) == (job_id, 1, 2)
    engine.complete(session, lease)
    assert engine.state(job_id) == "completed"
    assert engine.one("select count(*) from job_dead_letter where resolved_at is null") == 0
    assert engine.faults() == {}


def test_the_retry_of_a_dead_step_continues_its_run_and_leaves_other_dead_steps(engine: Engine):
    engine.publish(
        "w", operation("a"), operation("b"), operation("c"), operation("d"),
        edges=[("a", "c"), ("b", "d")],
    )  # fmt: skip
    run_id = engine.start("w")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    assert engine.run_state(run_id) == "failed"
    retry(engine, engine.unit(run_id, "a"))
    assert engine.run_state(run_id) == "in_progress"
    assert engine.states(run_id) == {
        "a": "ready", "b": "cannot_complete", "c": "not_started", "d": "cancelled",
    }  # fmt: skip
    engine.drain(session)
    assert engine.run_state(run_id) == "failed"
    assert engine.faults() == {}


def test_a_dead_step_of_a_running_run_is_replayed(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), operation("c"), edges=[("a", "c")])
    run_id = engine.start("w")
    session = engine.worker()
    a, b = engine.claim(session)
    engine.kill(session, a)
    retry(engine, a.unit_id)
    engine.complete(session, b)
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_a_unit_that_has_not_failed_is_not_retried(engine: Engine):
    (job_id,) = engine.enqueue("op")
    for number, sqlstate in ((job_id, "SW003"), (4711, "SW002")):
        with pytest.raises(psycopg.Error) as caught:
            retry(engine, number)
        assert caught.value.sqlstate == sqlstate


def test_a_dead_step_of_a_cancelled_run_stays_dead(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), edges=[])
    run_id = engine.start("w")
    session = engine.worker()
    engine.kill(session, engine.claim(session, 1)[0])
    engine.one("select fn_run_cancel(1, %s, 'cli:ada')", (run_id,))
    with pytest.raises(psycopg.Error) as caught:
        retry(engine, engine.unit(run_id, "a"))
    assert caught.value.sqlstate == "SW003"
