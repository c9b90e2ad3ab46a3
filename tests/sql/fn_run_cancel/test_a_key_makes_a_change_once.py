"""A change of a run, a step or a job happens once for each key: a repeat gets the first answer."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.binding import as_role, token
from tests.sql.drive import Engine, operation
from tests.sql.fn_run_cancel.test_a_run_is_paused_resumed_and_cancelled import call

OPPOSITE = {"pause": ("fn_run_resume", "in_progress"), "resume": ("fn_run_pause", "paused")}


def once(engine: Engine, name: str, unit: int, key: str | None = "k"):
    return engine.one("select fn_change_once(1, %s, %s, 'cli:ada', %s)", (unit, name, key))


@pytest.mark.requirement("SM-08")
@pytest.mark.parametrize("name", OPPOSITE)
def test_a_repeat_with_the_same_key_changes_nothing_whatever_came_between(engine: Engine, name: str):
    """A pause, then somebody resumes the run, and the pause is sent again: with its key it pauses nothing."""
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    unit = run_id << 20
    if name == "resume":
        call(engine, "fn_run_pause", run_id)
    back, state = OPPOSITE[name]
    first = once(engine, f"workflow_{name}", unit)
    call(engine, back, run_id)
    before = engine.events(unit)
    assert once(engine, f"workflow_{name}", unit) == first
    assert engine.run_state(run_id) == state
    assert engine.events(unit) == before
    assert once(engine, f"workflow_{name}", unit, "another") == first
    assert engine.run_state(run_id) == first


@pytest.mark.requirement("SM-08")
def test_a_cancelled_step_that_waits_again_is_not_cancelled_by_a_repeat(engine: Engine):
    engine.publish("w", operation("a"), operation("b"))
    run_id = engine.start("w")
    session = engine.worker()
    unit = engine.unit(run_id, "b")
    engine.kill(session, *engine.claim(session))
    assert once(engine, "step_cancel", unit) == "cancelled"
    answer = once(engine, "workflow_retry", run_id << 20)
    assert engine.state(unit) == "not_started"
    assert once(engine, "step_cancel", unit) == "cancelled"
    assert engine.state(unit) == "not_started"
    # The run goes on: a retry that is none of its own would be refused.
    assert once(engine, "workflow_retry", run_id << 20) == answer
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"


@pytest.mark.requirement("SM-08")
def test_a_run_is_cancelled_and_a_job_retried_once_for_each_key(engine: Engine):
    engine.publish("w", operation("a"))
    unit = engine.start("w") << 20
    assert once(engine, "workflow_cancel", unit) == once(engine, "workflow_cancel", unit) == "cancelled"
    assert engine.events(unit).count("workflow.cancelled") == 1
    (job_id,) = engine.enqueue("op")
    session = engine.worker()
    engine.report(session, (engine.claim(session)[0], "failed", {"delay_seconds": 60}))
    first = once(engine, "step_retry", job_id)
    assert engine.state(job_id) == "ready"
    engine.report(session, (engine.claim(session)[0], "failed", {"delay_seconds": 60}))
    # The second failure waits for its time: the repeat of the first retry does not hasten it.
    assert once(engine, "step_retry", job_id) == first
    assert engine.state(job_id) == "failed"
    assert once(engine, "step_retry", job_id, "another")["state"] == "ready"


@pytest.mark.requirement("SM-08")
def test_a_call_that_failed_was_no_call(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    with pytest.raises(psycopg.Error, match="only a failed run can be retried"):
        once(engine, "workflow_retry", run_id << 20)
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    assert once(engine, "workflow_retry", run_id << 20)["unit_ids"] == [engine.unit(run_id, "a")]


@pytest.mark.parametrize(
    ("name", "unit", "key", "sqlstate", "words"),
    [
        ("workflow_stop", None, "k", "SW001", "call: workflow_cancel, workflow_pause, "),
        ("workflow_pause", None, None, "SW001", "key: 1 to "),
        ("workflow_pause", None, "", "SW001", "key: 1 to "),
        ("workflow_pause", None, "x" * 5000, "SW001", "key: 1 to "),
        ("workflow_pause", 4711 << 20, "k", "SW002", "run 4711 does not exist"),
        ("step_cancel", 4711, "k", "SW002", "does not exist"),
    ],
)
def test_a_wrong_call_is_named(engine: Engine, name, unit, key, sqlstate: str, words: str):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    with pytest.raises(psycopg.Error, match=words) as caught:
        once(engine, name, unit or run_id << 20, key)
    assert caught.value.sqlstate == sqlstate
    assert engine.run_state(run_id) == "in_progress"


def test_a_repeat_needs_the_same_right_as_the_call(db: psycopg.Connection, engine: Engine):
    engine.publish("w", operation("a"))
    unit = engine.start("w") << 20
    once(engine, "workflow_pause", unit)
    query = "select stepwell.fn_change_once(1, %s, 'workflow_pause', 'mallory', 'k')"
    for text in (None, token(db, 1, "mallory", ())):
        with pytest.raises(psycopg.Error) as caught, as_role(db, "stepwell_api", text):
            db.execute(query, (unit,))
        assert caught.value.sqlstate == "SW007"
