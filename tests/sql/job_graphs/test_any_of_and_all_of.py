"""A job runs when its parents succeeded: all of them, or any of them; and what happens to the others."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine
from tests.sql.job_graphs.graphing import (
    any_of,
    emit,
    emitted,
    finish,
    job,
    perform,
    register,
    states,
    status,
)
from tests.support.clock import Clock


def leases(engine: Engine, worker: int) -> dict[str, object]:
    return {str(lease.step_id): lease for lease in engine.claim(worker)}


@pytest.mark.requirement("JW-06")
def test_all_of_waits_for_every_parent_and_any_of_for_the_first(engine: Engine):
    number = emitted(engine, job("a"), job("b"), job("every", "a", "b"), any_of("first", "a", "b"))
    worker = engine.worker()
    held = leases(engine, worker)
    finish(engine, worker, [held["b"]])
    assert states(engine, number) == {
        "a": "in_progress",
        "b": "completed",
        "every": "not_started",
        "first": "ready",
    }
    finish(engine, worker, [held["a"]])
    assert {"every": "ready", "first": "ready"}.items() <= states(engine, number).items()
    assert engine.one("select parents_join from job_queue where step_id = 'first'") == "any"


@pytest.mark.requirement("JW-06")
def test_two_parents_in_one_report_release_an_any_of_once(engine: Engine):
    number = emitted(engine, job("a"), job("b"), any_of("c", "a", "b"))
    worker = engine.worker()
    perform(engine, worker, "a", "b")
    assert (
        engine.one("select count(*) from event_log where event_type = 'step.ready' and unit_id & 1048575 = 3")
        == 1
    )
    perform(engine, worker, "c")
    assert status(engine, number) == "succeeded"


def test_when_any_of_is_satisfied_the_other_parents_go_on(engine: Engine):
    number = emitted(engine, job("a"), job("b"), any_of("c", "a", "b"))
    worker = engine.worker()
    held = leases(engine, worker)
    finish(engine, worker, [held["a"]])
    perform(engine, worker, "c")
    assert states(engine, number) == {"a": "completed", "b": "in_progress", "c": "completed"}
    assert status(engine, number) == "active"
    finish(engine, worker, [held["b"]], "dead")
    # The job that any of them released has completed all the same; the dead letter is told by the status.
    assert states(engine, number) == {"a": "completed", "b": "cannot_complete", "c": "completed"}
    assert status(engine, number) == "partially_failed"


def test_any_of_survives_dead_parents_until_the_last(engine: Engine):
    number = emitted(engine, job("a"), job("b"), any_of("c", "a", "b"), job("d", "c"), any_of("e", "d", "b"))
    worker = engine.worker()
    held = leases(engine, worker)
    finish(engine, worker, [held["a"]], "dead")
    assert states(engine, number)["c"] == "not_started"
    finish(engine, worker, [held["b"]], "dead")
    assert states(engine, number) == {
        "a": "cannot_complete",
        "b": "cannot_complete",
        "c": "cancelled",
        "d": "cancelled",
        "e": "cancelled",
    }
    assert status(engine, number) == "failed"


def test_any_of_behind_one_failure_is_cancelled_with_all_its_parents(engine: Engine):
    """Both parents are cancelled by the same failure, in the same statement."""
    number = emitted(engine, job("a"), job("b", "a"), job("c", "a"), any_of("d", "b", "c"))
    worker = engine.worker()
    perform(engine, worker, "a", outcome="dead")
    assert set(states(engine, number).values()) == {"cannot_complete", "cancelled"}
    assert status(engine, number) == "failed"


def test_a_ready_any_of_is_not_cancelled_by_a_parent_that_dies_later(engine: Engine):
    number = emitted(engine, job("a"), job("b"), any_of("c", "a", "b"))
    worker = engine.worker()
    held = leases(engine, worker)
    finish(engine, worker, [held["a"]])
    finish(engine, worker, [held["b"]], "dead")
    assert states(engine, number)["c"] == "ready"


@pytest.mark.parametrize("later", [False, True])
def test_a_delay_holds_an_any_of_also_after_its_parents(engine: Engine, clock: Clock, later: bool):
    number = emitted(engine, job("a"), job("b"), any_of("c", "a", "b", delay_seconds=60))
    worker = engine.worker()
    held = leases(engine, worker)
    if not later:
        finish(engine, worker, [held["a"], held["b"]])
        assert states(engine, number)["c"] == "not_started"
    clock.advance(seconds=60)
    engine.one("select fn_timers_fire()")
    if later:
        assert states(engine, number)["c"] == "not_started"
        finish(engine, worker, [held["b"]])
    assert states(engine, number)["c"] == "ready"


def test_a_replayed_parent_opens_its_any_of_again(engine: Engine):
    number = emitted(engine, job("a"), job("b"), any_of("c", "a", "b"), job("d", "c"))
    worker = engine.worker()
    perform(engine, worker, "a", "b", outcome="dead")
    assert status(engine, number) == "failed"
    engine.db.execute(
        "update dot_config set config_value = '\"development\"' where config_key = 'approval.mode'"
    )
    retry_one(engine, (number << 20) + 1)
    assert states(engine, number) == {
        "a": "ready",
        "b": "cannot_complete",
        "c": "not_started",
        "d": "not_started",
    }
    assert status(engine, number) == "active"
    perform(engine, worker, "a")
    perform(engine, worker, "c")
    perform(engine, worker, "d")
    assert status(engine, number) == "partially_failed"


def test_a_replay_does_not_open_an_any_of_whose_parents_stay_dead(engine: Engine, clock: Clock):
    number = emitted(
        engine, job("a"), job("b"), job("x", "a", "b"), any_of("c", "x", delay_seconds=600), job("y", "a")
    )
    worker = engine.worker()
    perform(engine, worker, "a", "b", outcome="dead")
    retry_one(engine, (number << 20) + 1)
    assert states(engine, number) == {
        "a": "ready",
        "b": "cannot_complete",
        "x": "cancelled",
        "c": "cancelled",
        "y": "not_started",
    }


def retry_one(engine: Engine, unit_id: int) -> None:
    """Retries a dead job; its approval is granted."""
    engine.db.execute("select fn_person_set(1, 'rev', array['reviewer'])")
    engine.db.execute("select fn_person_set(1, 'asks', array['reviewer'])")
    answer = engine.one("select fn_job_retry(1, %s, 'asks')", (unit_id,))
    if answer["approval_id"] is not None and answer["state"] == "approval_requested":
        engine.db.execute("select fn_approval_decide(1, %s, 'rev', 'approve')", (answer["approval_id"],))


@pytest.mark.requirement("JW-10")
def test_a_template_inside_a_template_is_a_workflow_of_its_own(engine: Engine):
    register(
        engine, "inner", job("x", source_ref="$.input.id"), job("y", "x"), params={"id": {"type": "string"}}
    )
    register(
        engine,
        "outer",
        job("a"),
        job("b", "a", template="inner", params={"id": "$.input.order"}),
        job("c", "b"),
        params={"order": {"type": "string"}},
    )
    outer = emit(engine, "outer", {"order": "o-1"}, p_correlation_id="c-1")["workflow_id"]
    worker = engine.worker()
    perform(engine, worker, "a")
    inner = engine.one("select workflow_id from job_workflow where template_id = 'inner'")
    assert engine.db.execute(
        "select generator, status, parent_workflow_id, parent_job_id, correlation_id"
        " from job_workflow where workflow_id = %s",
        (inner,),
    ).fetchone() == ("MOT:inner", "active", outer, (outer << 20) + 2, "c-1")
    assert engine.one("select source_ref from job_queue where step_id = 'x'") == "o-1"
    perform(engine, worker, "x")
    perform(engine, worker, "y")
    assert (status(engine, inner), status(engine, outer)) == ("succeeded", "active")
    perform(engine, worker, "c")
    assert status(engine, outer) == "succeeded"


def test_a_nested_graph_that_fails_fails_its_job(engine: Engine):
    register(engine, "inner", job("x"))
    register(engine, "outer", job("a"), job("b", template="inner"), job("c", "b"), any_of("d", "a", "b"))
    outer = emit(engine, "outer")["workflow_id"]
    worker = engine.worker()
    held = leases(engine, worker)
    finish(engine, worker, [held["x"]], "dead")
    assert states(engine, outer) == {
        "a": "in_progress",
        "b": "cannot_complete",
        "c": "cancelled",
        "d": "not_started",
    }
    finish(engine, worker, [held["a"]])
    perform(engine, worker, "d")
    assert status(engine, outer) == "partially_failed"


def test_an_any_of_reads_null_from_a_parent_that_has_not_succeeded(engine: Engine):
    emitted(
        engine, job("a"), job("b"),
        any_of("c", "a", "b", inputs={"x": "$.steps.a.output.id", "y": "$.steps.b.output.id"}),
    )  # fmt: skip
    worker = engine.worker()
    held = leases(engine, worker)
    (lease,) = engine.report(worker, (held["b"], "completed", {"id": 5}), claim_limit=1)
    assert (lease.step_id, lease.bound_input) == ("c", {"x": None, "y": 5})
