"""Pause, resume and cancel of runs, steps and jobs, and the error of each call that is refused."""

from __future__ import annotations

import json

import psycopg
import pytest

from tests.sql.drive import Engine, human, operation, subworkflow, wait


def call(engine: Engine, name: str, number: int, *more):
    return engine.one(f"select {name}(1, %s, 'cli:ada'{', %s' * len(more)})", (number, *more))


@pytest.mark.requirement("SM-15")
def test_steps_of_a_paused_run_cannot_be_claimed_and_leased_steps_can_finish(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), operation("c"), edges=[("a", "c")])
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session, 1)
    assert call(engine, "fn_run_pause", run_id) == "paused"
    assert call(engine, "fn_run_pause", run_id) == "paused"
    assert engine.claim(session) == []
    assert engine.complete(session, lease) == []
    assert engine.states(run_id) == {"a": "completed", "b": "ready", "c": "ready"}
    assert engine.claim(session) == []
    assert engine.faults() == {}
    assert call(engine, "fn_run_resume", run_id) == "in_progress"
    assert call(engine, "fn_run_resume", run_id) == "in_progress"
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    assert engine.events(run_id << 20) == [
        "workflow.started", "workflow.paused", "workflow.resumed", "workflow.completed",
    ]  # fmt: skip


@pytest.mark.requirement("SM-08")
def test_the_state_of_a_run_makes_a_repeat_harmless_until_somebody_else_changes_it(engine: Engine):
    """Without a key a repeat adds no event, but after a resume a pause is a new one."""
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    for name in ("fn_run_pause", "fn_run_resume", "fn_run_pause", "fn_run_cancel"):
        before = len(engine.events(run_id << 20))
        assert call(engine, name, run_id) == call(engine, name, run_id)
        assert len(engine.events(run_id << 20)) == before + 1


@pytest.mark.requirement("SM-15")
def test_a_run_that_finishes_while_paused_completes_on_resume(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    call(engine, "fn_run_pause", run_id)
    engine.complete(session, lease)
    assert engine.run_state(run_id) == "paused"
    call(engine, "fn_run_resume", run_id)
    assert engine.run_state(run_id) == "completed"


@pytest.mark.requirement("SM-15")
def test_a_cancelled_run_leaves_no_queue_row_timer_or_wait(engine: Engine):
    engine.publish("inner", operation("x"), operation("y"))
    engine.publish(
        "w", operation("a", group=1), operation("b", group=1), wait("parcel", "came", timeout_seconds=60),
        subworkflow("call", "inner"), human("sign"), operation("last"),
        edges=[("a", "last"), ("b", "last")], groups=[{"no": 1, "max_concurrency": 1}],
    )  # fmt: skip
    run_id = engine.start("w")
    session = engine.worker()
    leases = engine.claim(session, 1)
    assert call(engine, "fn_run_cancel", run_id, "no longer needed") == "cancelled"
    assert call(engine, "fn_run_cancel", run_id) == "cancelled"
    assert set(engine.states(run_id).values()) == {"cancelled"}
    assert engine.one("select state_code from workflow_run where workflow = 'inner'") == "cancelled"
    for table in ("job_ready", "job_line", "timer", "event_wait"):
        assert engine.one(f"select count(*) from {table}") == 0
    assert [row.row_kind for row in engine.complete(session, *leases)] == ["refused"]
    assert engine.faults() == {}


def test_a_completed_run_cannot_be_cancelled(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    engine.drain(engine.worker())
    with pytest.raises(psycopg.Error) as caught:
        call(engine, "fn_run_cancel", run_id)
    assert caught.value.sqlstate == "SW003"


@pytest.mark.parametrize("name", ["fn_run_cancel", "fn_run_pause", "fn_run_resume"])
def test_a_run_that_does_not_exist_is_not_found(engine: Engine, name: str):
    with pytest.raises(psycopg.Error) as caught:
        call(engine, name, 4711)
    assert caught.value.sqlstate == "SW002"


def test_a_failed_run_is_not_paused(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    with pytest.raises(psycopg.Error) as caught:
        call(engine, "fn_run_pause", run_id)
    assert caught.value.sqlstate == "SW004"
    assert call(engine, "fn_run_cancel", run_id) == "cancelled"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-15")
def test_cancelling_requires_an_approval_if_the_configuration_says_so(engine: Engine):
    engine.db.execute(
        "update dot_config set config_value = 'true' where config_key = 'approval.required.workflow_cancel'"
    )
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    with pytest.raises(psycopg.Error, match="cancel_authorised") as caught:
        call(engine, "fn_run_cancel", run_id)
    assert caught.value.sqlstate == "SW004"
    command = f"`stepwell approvals request workflow_cancel {run_id}.0`"
    assert command in str(caught.value.diag.message_primary)
    assert command in json.loads(caught.value.diag.message_detail or "")["vi"]
    assert engine.run_state(run_id) == "in_progress"


@pytest.mark.parametrize("state", ["ready", "in_progress", "failed", "waiting"])
def test_a_single_job_is_cancelled_in_any_open_state(engine: Engine, state: str):
    (job_id,) = engine.enqueue("op")
    session = engine.worker()
    if state != "ready":
        (lease,) = engine.claim(session)
        outcome = {"failed": "failed", "waiting": "waiting"}.get(state)
        if outcome:
            engine.report(session, (lease, outcome, {"event": "x", "seconds": 60, "delay_seconds": 60}))
    assert engine.state(job_id) == state
    assert call(engine, "fn_job_cancel", job_id, "duplicate") == "cancelled"
    assert call(engine, "fn_job_cancel", job_id) == "cancelled"
    assert engine.claim(session) == []
    assert engine.faults() == {}


def test_cancelling_a_step_cancels_its_dependents(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), operation("c"), edges=[("a", "b")])
    run_id = engine.start("w")
    call(engine, "fn_job_cancel", engine.unit(run_id, "a"))
    assert engine.states(run_id) == {"a": "cancelled", "b": "cancelled", "c": "ready"}
    assert engine.faults() == {}


def test_a_job_that_ended_or_does_not_exist_is_not_cancelled(engine: Engine):
    (job_id,) = engine.enqueue("op")
    engine.drain(engine.worker())
    for number, sqlstate in ((job_id, "SW003"), (4711, "SW002")):
        with pytest.raises(psycopg.Error) as caught:
            call(engine, "fn_job_cancel", number)
        assert caught.value.sqlstate == sqlstate
