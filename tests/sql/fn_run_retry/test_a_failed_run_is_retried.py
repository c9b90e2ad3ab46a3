"""Retry of a failed run: request and approval, new attempts, and cancelled dependents wait again."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine, operation, subworkflow, wait
from tests.support.deciding import PLACE, deciding


@pytest.fixture(autouse=True)
def known_people(engine: Engine) -> None:
    engine.person("ada", "grace", "joan")


def retry(engine: Engine, run_id: int, actor: str = "ada"):
    return engine.one("select fn_run_retry(1, %s, %s, 'fixed the cause')", (run_id, actor))


def failed_run(engine: Engine) -> tuple[int, int]:
    """a → b → c, where b is dead; d depends on nothing and completes."""
    engine.publish(
        "w", operation("a"), operation("b"), operation("c"), operation("d"),
        edges=[("a", "b"), ("b", "c")],
    )  # fmt: skip
    run_id = engine.start("w")
    session = engine.worker()
    engine.complete(session, *engine.claim(session), output={"ok": 1})
    engine.kill(session, *engine.claim(session))
    assert engine.run_state(run_id) == "failed"
    assert engine.states(run_id) == {
        "a": "completed", "b": "cannot_complete", "c": "cancelled", "d": "completed",
    }  # fmt: skip
    return run_id, session


def test_the_dead_step_is_ready_and_its_successors_wait_again(engine: Engine):
    run_id, session = failed_run(engine)
    answer = retry(engine, run_id)
    assert answer["state"] == "replayed"
    assert answer["unit_ids"] == [engine.unit(run_id, "b")]
    assert answer["reinstated_count"] == 1
    assert engine.run_state(run_id) == "in_progress"
    assert engine.states(run_id) == {
        "a": "completed", "b": "ready", "c": "not_started", "d": "completed",
    }  # fmt: skip
    assert engine.faults() == {}
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_a_retry_stores_a_request_an_approval_and_their_events(engine: Engine):
    run_id, session = failed_run(engine)
    approval_id = retry(engine, run_id)["approval_id"]
    unit_id = engine.unit(run_id, "b")
    request = engine.db.execute(
        """select unit_id, approval_id, proposal_state, replay_state, requested_by, reason,
               scheduled_at is not null
           from dlq_replay_request"""
    ).fetchall()
    assert request == [(unit_id, approval_id, "merged", "scheduled", "ada", "fixed the cause", True)]
    assert engine.state(approval_id) == "approved"
    assert engine.events(approval_id) == ["approval.requested", "approval.approved"]
    assert engine.events(unit_id)[-2:] == ["dlq_replay.proposed", "step.replayed"]
    assert engine.events(engine.unit(run_id, "c"))[-2:] == ["step.aborted", "step.reinstated"]
    assert engine.events(run_id << 20)[-1] == "workflow.reopened"
    payload = engine.one("select payload from event_log where event_type = 'step.replayed'")
    assert payload["approval_id"] == approval_id
    assert engine.one("select resolution from job_dead_letter where resolved_at is not null") == "replayed"
    engine.drain(session)
    assert engine.one("select fn_replays_settle()") == 1
    assert engine.one("select fn_replays_settle()") == 0
    assert engine.db.execute("select replay_state, outcome_jsonb from dlq_replay_request").fetchone() == (
        "completed",
        {"state": "completed"},
    )
    assert engine.events(unit_id)[-1] == "dlq_replay.completed"


def test_attempts_are_counted_from_one_and_earlier_failures_are_kept(engine: Engine):
    engine.publish("w", operation("a", retry={"max_attempts": 2, "initial_seconds": 0}))
    run_id = engine.start("w")
    session = engine.worker()
    error = {"error": {"type": "E", "message": "no"}}
    for _ in range(2):
        engine.report(session, (engine.claim(session)[0], "failed", error))
        engine.timers()
    assert engine.run_state(run_id) == "failed"
    retry(engine, run_id)
    (lease,) = engine.claim(session)
    assert (lease.attempt, lease.lease_no) == (1, 3)
    engine.report(session, (lease, "failed", error))
    assert engine.states(run_id) == {"a": "failed"}
    assert engine.one("select count(*) from unit_failure") == 3


def test_a_run_that_dies_again_can_be_retried_again(engine: Engine):
    run_id, session = failed_run(engine)
    retry(engine, run_id)
    engine.kill(session, *engine.claim(session))
    assert engine.run_state(run_id) == "failed"
    assert engine.one("select fn_replays_settle()") == 1
    assert engine.one("select replay_state from dlq_replay_request") == "failed"
    retry(engine, run_id)
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    assert engine.one("select count(*) from dlq_replay_request") == 2
    assert engine.faults() == {}


def test_all_dead_steps_are_replayed_under_one_approval(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), operation("c"), edges=[("a", "c"), ("b", "c")])
    run_id = engine.start("w")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    answer = retry(engine, run_id)
    assert len(answer["unit_ids"]) == 2
    assert engine.one("select count(distinct approval_id) from dlq_replay_request") == 1
    assert engine.one("select pending_count from step_run where step_id = 'c'") == 2
    assert engine.faults() == {}
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"


def test_a_step_behind_a_cancelled_step_stays_cancelled(engine: Engine):
    engine.publish(
        "w", operation("a"), operation("b"), operation("c"), operation("d"), operation("e"),
        edges=[("a", "c"), ("b", "c"), ("c", "d"), ("a", "e")],
    )  # fmt: skip
    run_id = engine.start("w")
    session = engine.worker()
    leases = engine.claim(session)
    engine.db.execute(
        "select fn_job_cancel(1, %s, 'cli:ada', 'no longer needed')", (engine.unit(run_id, "b"),)
    )
    engine.kill(session, leases[0])
    assert engine.run_state(run_id) == "failed"
    retry(engine, run_id)
    assert engine.states(run_id) == {
        "a": "ready", "b": "cancelled", "c": "cancelled", "d": "cancelled", "e": "not_started",
    }  # fmt: skip
    assert engine.faults() == {}


def test_a_wait_that_timed_out_waits_again(engine: Engine, clock):
    engine.publish("w", wait("parcel", "came", timeout_seconds=10), operation("after"))
    run_id = engine.start("w")
    clock.advance(seconds=11)
    engine.timers()
    assert engine.run_state(run_id) == "failed"
    retry(engine, run_id)
    assert engine.states(run_id) == {"parcel": "waiting", "after": "not_started"}
    engine.db.execute("select fn_signal(1, %s, 'came', '{}', 'k1')", (run_id,))
    engine.drain(engine.worker())
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_a_sub_workflow_gets_a_new_run_and_its_old_run_cannot_be_retried(engine: Engine):
    engine.publish("inner", operation("x"))
    engine.publish("outer", subworkflow("call", "inner"))
    run_id = engine.start("outer")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    inner = engine.one("select run_id from workflow_run where workflow = 'inner'")
    assert engine.run_state(run_id) == "failed"
    with pytest.raises(psycopg.Error) as caught:
        retry(engine, inner)
    assert caught.value.sqlstate == "SW003"
    assert caught.value.diag.message_hint == f"retry run {run_id}"
    retry(engine, run_id)
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    assert engine.one("select count(*) from workflow_run where workflow = 'inner'") == 2
    assert engine.faults() == {}


@pytest.mark.parametrize("state", ["in_progress", "completed", "cancelled"])
def test_only_a_failed_run_is_retried(engine: Engine, state: str):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    if state == "completed":
        engine.drain(engine.worker())
    if state == "cancelled":
        engine.db.execute("select fn_run_cancel(1, %s, 'cli:ada')", (run_id,))
    with pytest.raises(psycopg.Error) as caught:
        retry(engine, run_id)
    assert (caught.value.sqlstate, state in str(caught.value)) == ("SW003", True)


def test_a_run_that_does_not_exist_is_not_found(engine: Engine):
    with pytest.raises(psycopg.Error) as caught:
        retry(engine, 4711)
    assert caught.value.sqlstate == "SW002"


class TestWithARequiredApproval:
    @pytest.fixture(autouse=True)
    def required(self, engine: Engine):
        engine.db.execute(
            "update dot_config set config_value = 'true' where config_key = 'approval.required.replay'"
        )

    def decide(self, engine: Engine, approval_id: int, decision: str, actor: str) -> str:
        state: str = engine.one(deciding(PLACE, PLACE, "a reason"), (approval_id, decision, actor))
        return state

    def test_the_run_stays_failed_until_a_reviewer_approves(self, engine: Engine):
        run_id, session = failed_run(engine)
        answer = retry(engine, run_id)
        assert answer["state"] == "approval_requested"
        assert engine.run_state(run_id) == "failed"
        assert self.decide(engine, answer["approval_id"], "approve", "grace") == "approved"
        assert self.decide(engine, answer["approval_id"], "approve", "grace") == "approved"
        engine.drain(session)
        assert engine.run_state(run_id) == "completed"
        assert engine.faults() == {}

    def test_a_second_request_is_refused_while_the_first_is_open(self, engine: Engine):
        run_id, _ = failed_run(engine)
        retry(engine, run_id)
        with pytest.raises(psycopg.Error) as caught:
            retry(engine, run_id)
        assert caught.value.sqlstate == "SW003"

    def test_after_a_rejection_the_run_stays_failed_and_can_be_requested_again(self, engine: Engine):
        run_id, _ = failed_run(engine)
        approval_id = retry(engine, run_id)["approval_id"]
        assert self.decide(engine, approval_id, "reject", "grace") == "rejected"
        assert engine.run_state(run_id) == "failed"
        assert engine.one("select proposal_state from dlq_replay_request") == "rejected"
        assert retry(engine, run_id)["approval_id"] != approval_id

    @pytest.mark.parametrize(
        ("decision", "actor", "sqlstate"), [("approve", "ada", "SW007"), ("maybe", "grace", "SW001")]
    )
    def test_the_requester_cannot_decide_and_the_decision_must_be_known(
        self, engine: Engine, decision, actor, sqlstate
    ):
        run_id, _ = failed_run(engine)
        approval_id = retry(engine, run_id)["approval_id"]
        with pytest.raises(psycopg.Error) as caught:
            self.decide(engine, approval_id, decision, actor)
        assert caught.value.sqlstate == sqlstate

    def test_a_decided_approval_stays_decided(self, engine: Engine):
        run_id, _ = failed_run(engine)
        approval_id = retry(engine, run_id)["approval_id"]
        self.decide(engine, approval_id, "reject", "grace")
        for approval, sqlstate in ((approval_id, "SW003"), (12, "SW002")):
            with pytest.raises(psycopg.Error) as caught:
                self.decide(engine, approval, "approve", "joan")
            assert caught.value.sqlstate == sqlstate

    def test_the_core_refuses_a_replay_without_its_approval(self, engine: Engine):
        """The guard in the registry requires both ids and a granted approval."""
        run_id, _ = failed_run(engine)
        approval_id = retry(engine, run_id)["approval_id"]
        verdict = engine.one(
            """select fn_state_transition_validate(%s, 'step', 'cannot_complete', 'ready', 'system', 'event',
                   'replay_approved', jsonb_build_object('audit_ref', 'x', 'replay_request_id', 1,
                   'approval_id', %s::bigint, 'payload',
                   jsonb_build_object('replay_request_id', 1, 'approval_id', 1)))""",
            (engine.unit(run_id, "b"), approval_id),
        )
        assert verdict["ok"] is False
        assert verdict["problems"] == ["transition_refused_by_guard:replay_approved"]
