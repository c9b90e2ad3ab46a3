"""A change through `fn_state_transition_validate` keeps queue, slots, timers and dead letters right."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation
from tests.support.clock import Clock

ASK = "select fn_state_transition_validate(%s, %s, %s, %s, %s, %s, %s, %s)"


def change(engine: Engine, unit_id: int, path: str, actor: str, trigger: str, **evidence: Any) -> dict:
    """`path` is `from->to` of a job or step, `trigger` is `kind ref`."""
    scope = engine.one("select scope from work_unit where unit_id = %s", (unit_id,))
    from_state, to_state = path.split("->")
    answer: dict = engine.one(
        ASK,
        (unit_id, scope, from_state, to_state, actor, *trigger.split(), Jsonb({"audit_ref": "a"} | evidence)),
    )
    return answer


def used(engine: Engine) -> int:
    """How many slots of the only concurrency key are taken."""
    found: int = engine.one("select used_count from concurrency_slot")
    return found


def failed_job(engine: Engine, session: int, **named: Any) -> int:
    """A job that failed once and whose retry is in the queue."""
    (job,) = engine.enqueue("op", **named)
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "retry", {"error": {"type": "E", "message": "again"}, "delay_seconds": 5}))
    return job


@pytest.mark.parametrize("is_due", [True, False], ids=["in the queue", "its timer is set"])
def test_a_failed_job_that_is_retried_by_hand_is_claimed_once(engine: Engine, clock: Clock, is_due: bool):
    session = engine.worker()
    job = failed_job(engine, session)
    if is_due:
        clock.advance(seconds=6)
        assert engine.timers() == 1
    assert change(engine, job, "failed->ready", "reviewer", "rpc step_retry")["ok"]
    assert engine.one("select array_agg(is_retry) from job_ready") == [False]
    (lease,) = engine.claim(session)
    clock.advance(seconds=60)
    engine.timers()
    assert engine.claim(session) == []
    engine.complete(session, lease)
    assert engine.state(job) == "completed"
    assert engine.faults() == {}


BLOCK = {"block_reason": "missing_iu"}
FAILURE = {"classification": "transient", "failure_class": "timeout"}


@pytest.mark.parametrize(
    ("path", "actor", "trigger", "evidence"),
    [
        ("in_progress->completed", "executor_worker", "rpc step_complete", {}),
        ("in_progress->cancelled", "reviewer", "rpc workflow_cancel", {}),
        ("in_progress->blocked", "executor_worker", "rpc step_block", BLOCK | {"payload": BLOCK}),
        ("in_progress->failed", "executor_worker", "event executor_failure", {"payload": FAILURE}),
    ],
)  # fmt: skip
def test_a_leased_job_that_does_not_run_any_more_frees_its_slot(
    engine: Engine, path: str, actor: str, trigger: str, evidence: dict
):
    session = engine.worker()
    first, second = engine.enqueue("op", 2, p_concurrency_key="k", p_max_concurrency=1)
    (lease,) = engine.claim(session)
    assert (lease.unit_id, used(engine)) == (first, 1)
    assert change(engine, first, path, actor, trigger, **evidence)["ok"]
    assert engine.state(first) == path.split("->")[1]
    # The slot belongs to the next in line now, and to nobody else.
    assert used(engine) == 1
    (lease,) = engine.claim(session)
    assert lease.unit_id == second
    engine.complete(session, lease)
    assert used(engine) == 0
    assert engine.faults() == {}


def test_a_leased_job_that_is_released_stands_in_line_for_its_slot_again(engine: Engine):
    session = engine.worker()
    (job,) = engine.enqueue("op", p_concurrency_key="k", p_max_concurrency=1)
    engine.claim(session)
    assert change(engine, job, "in_progress->ready", "executor_worker", "rpc step_release")["ok"]
    assert used(engine) == 1
    engine.complete(session, *engine.claim(session))
    assert (engine.state(job), used(engine)) == ("completed", 0)
    assert engine.faults() == {}


def test_a_worker_keeps_lease_and_slot_while_its_job_is_overdue_and_in_time_again(engine: Engine):
    session = engine.worker()
    (job,) = engine.enqueue("op", p_concurrency_key="k", p_max_concurrency=1)
    (lease,) = engine.claim(session)
    engine.db.execute(
        "update work_unit set deadline_at = now() - interval '1 hour' where unit_id = %s", (job,)
    )
    assert change(engine, job, "in_progress->overdue", "system", "timer deadline_passed")["ok"]
    assert used(engine) == 1
    engine.db.execute(
        "update work_unit set deadline_at = now() + interval '1 hour' where unit_id = %s", (job,)
    )
    answer = change(engine, job, "overdue->in_progress", "system", "condition_resolved deadline_extended")
    assert answer["ok"]
    assert used(engine) == 1
    assert engine.complete(session, lease) == []
    assert (engine.state(job), used(engine)) == ("completed", 0)
    assert engine.faults() == {}


@pytest.mark.requirement("SM-07")
@pytest.mark.parametrize("actor", ["executor_worker", "system"])
def test_a_permanent_failure_ends_the_step_and_its_run(engine: Engine, actor: str):
    engine.publish("w", operation("a"), operation("b"))
    run_id = engine.start("w")
    engine.claim(engine.worker())
    failure = {
        "classification": "permanent",
        "failure_class": "handler_error",
        "error": {"type": "E", "message": "no"},
    }
    step = engine.unit(run_id, "a")
    assert change(engine, step, "in_progress->failed", actor, "event executor_failure", payload=failure)["ok"]
    assert engine.states(run_id) == {"a": "cannot_complete", "b": "cancelled"}
    assert engine.run_state(run_id) == "failed"
    assert engine.one("select error from job_dead_letter where unit_id = %s", (step,)) == failure["error"]
    assert engine.faults() == {}


def test_a_transient_failure_is_tried_again(engine: Engine, clock: Clock):
    session = engine.worker(lease_seconds=86400)
    (job,) = engine.enqueue("op")
    engine.claim(session)
    assert change(
        engine, job, "in_progress->failed", "executor_worker", "event executor_failure", payload=FAILURE
    )["ok"]
    assert engine.one("select attempt_count from unit_failure") == 1
    clock.advance(hours=1)
    assert engine.timers() == 1
    engine.complete(session, *engine.claim(session))
    assert engine.state(job) == "completed"
    assert engine.faults() == {}


def test_a_failed_job_that_is_given_up_has_a_dead_letter(engine: Engine, clock: Clock):
    job = failed_job(engine, engine.worker())
    clock.advance(seconds=6)
    engine.timers()
    answer = change(
        engine,
        job,
        "failed->cannot_complete",
        "escalation_handler",
        "rpc escalate",
        classification="permanent",
    )
    assert answer["ok"]
    assert engine.one("select count(*) from job_ready") == 0
    assert (
        engine.one("select failure_class from job_dead_letter where unit_id = %s", (job,)) == "handler_error"
    )
    assert engine.faults() == {}


def test_a_wait_that_is_ended_by_hand_is_not_ended_again_by_its_event(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "waiting", {"event": "came", "seconds": 10}))
    step = engine.unit(run_id, "a")
    assert change(engine, step, "waiting->ready", "system", "event by_hand", resolution_ref="note:1")["ok"]
    assert engine.one("select count(*) from event_wait") == 0
    assert engine.one("select count(*) from timer") == 0
    engine.db.execute("select fn_signal(1, %s, 'came', '{}', 'k')", (run_id,))
    assert len(engine.claim(session)) == 1
    assert engine.faults() == {}


def test_a_run_and_an_approval_are_changed_only_by_their_own_functions(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    answer = change(engine, run_id << 20, "in_progress->paused", "reviewer", "rpc workflow_pause")
    assert (answer["ok"], answer["problems"]) == (False, ["has_calls_of_its_own:workflow_run"])
    assert engine.run_state(run_id) == "in_progress"
    approval = engine.one("select fn_approval_request(1, 'workflow_cancel', %s, 'ada')", (run_id << 20,))
    answer = change(engine, approval, "requested->rejected", "reviewer", "rpc approval_decide")
    assert answer["problems"] == ["has_calls_of_its_own:approval"]
    assert engine.state(approval) == "requested"
    assert engine.faults() == {}


@pytest.mark.parametrize(
    ("end", "path"),
    [
        ("cancelled", "cancelled->not_started"),
        ("cannot_complete", "cannot_complete->cancelled"),
        ("cannot_complete", "cannot_complete->ready"),
    ],
)
def test_a_step_that_has_ended_is_changed_only_by_its_own_functions(engine: Engine, end: str, path: str):
    """A retry begins the run and what depends on the step again; the door would change the step alone."""
    engine.publish("w", operation("a"), operation("b"))
    run_id = engine.start("w")
    session = engine.worker()
    leases = engine.claim(session)
    step = engine.unit(run_id, "a")
    if end == "cancelled":
        assert change(engine, step, "in_progress->cancelled", "reviewer", "rpc workflow_cancel")["ok"]
    else:
        engine.kill(session, *leases)
    before = engine.states(run_id)
    actor = "system" if path.endswith("ready") else "reviewer"
    trigger = "rpc workflow_cancel" if path.endswith("->cancelled") else "event replay_approved"
    payload = {"replay_request_id": 1, "approval_id": 1}
    answer = change(engine, step, path, actor, trigger, **payload, payload=payload)
    assert answer["problems"] == ["has_calls_of_its_own:ended_step"]
    assert (answer["ok"], engine.states(run_id)) == (False, before)
    assert engine.faults() == {}
