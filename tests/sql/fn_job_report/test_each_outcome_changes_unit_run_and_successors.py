"""Each reported outcome changes the unit, its run and its successors as declared, once, under its lease."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation
from tests.support.clock import Clock

ERROR = {"error": {"type": "ValueError", "message": "no"}}


def one_step(engine: Engine, **more) -> tuple[int, int]:
    engine.publish("w", operation("a", **more), operation("b"))
    return engine.start("w"), engine.worker()


@pytest.mark.requirement("LN-06")
def test_completed_activates_the_next_step_and_the_last_completes_the_run(engine: Engine):
    run_id, session = one_step(engine)
    engine.complete(session, *engine.claim(session), output={"n": 1})
    assert engine.states(run_id) == {"a": "completed", "b": "ready"}
    engine.complete(session, *engine.claim(session), output={"n": 2})
    assert engine.run_state(run_id) == "completed"
    assert engine.one("select _run_result(1, %s)", (run_id,)) == {"n": 2}
    assert engine.one("select finished_at is not null from workflow_run") is True
    assert engine.events(run_id << 20) == ["workflow.started", "workflow.completed"]
    assert engine.faults() == {}


@pytest.mark.requirement("LN-05")
def test_a_repeated_report_is_refused_and_changes_nothing(engine: Engine):
    _, session = one_step(engine)
    (lease,) = engine.claim(session)
    assert engine.complete(session, lease, output=1) == []
    (refusal,) = engine.complete(session, lease, output=2)
    assert (refusal.row_kind, refusal.unit_id, refusal.lease_no) == ("refused", lease.unit_id, 1)
    assert engine.one("select output from unit_output") == 1
    assert engine.events(lease.unit_id).count("step.completed") == 1


@pytest.mark.requirement("LN-05")
@pytest.mark.parametrize("change", [{"lease_no": 7}, {"unit_id": 4711}])
def test_a_report_with_another_token_is_refused(engine: Engine, change):
    run_id, session = one_step(engine)
    (lease,) = engine.claim(session)
    answer = engine.complete(session, replace(lease, **change))
    assert [row.row_kind for row in answer] == ["refused"]
    assert engine.states(run_id)["a"] == "in_progress"


@pytest.mark.requirement("LN-05")
def test_a_report_of_another_session_is_refused(engine: Engine):
    run_id, session = one_step(engine)
    (lease,) = engine.claim(session)
    assert [row.row_kind for row in engine.complete(engine.worker("thief"), lease)] == ["refused"]
    assert engine.states(run_id)["a"] == "in_progress"


@pytest.mark.requirement("LN-09", "SM-13")
def test_a_step_is_retried_until_max_attempts_and_then_the_run_fails(engine: Engine):
    run_id, session = one_step(engine, retry={"max_attempts": 3, "initial_seconds": 0})
    for attempt in (1, 2, 3):
        (lease,) = engine.claim(session)
        assert (lease.attempt, lease.lease_no) == (attempt, attempt)
        engine.report(session, (lease, "failed", ERROR))
        engine.timers()
    assert engine.states(run_id) == {"a": "cannot_complete", "b": "cancelled"}
    assert engine.run_state(run_id) == "failed"
    letter = engine.db.execute("select failure_class, error, attempt_count from job_dead_letter").fetchone()
    assert letter == ("handler_error", ERROR["error"], 3)
    assert engine.one("select count(*) from unit_failure") == 3
    assert engine.faults() == {}


@pytest.mark.requirement("RT-08")
def test_the_error_and_the_time_of_the_next_attempt_are_stored(engine: Engine, clock: Clock):
    _, session = one_step(engine, retry={"max_attempts": 5, "initial_seconds": 8, "max_seconds": 20})
    before = clock.now()
    engine.report(session, (engine.claim(session)[0], "failed", ERROR))
    after = clock.now()
    row = engine.db.execute(
        "select state_code, status, attempt, last_error, next_eligible_at from job_queue where step_id = 'a'"
    ).fetchone()
    assert row is not None
    assert row[:4] == ("failed", "retry_waiting", 1, ERROR["error"])
    assert before <= row[4] <= after + timedelta(seconds=8)


@pytest.mark.requirement("RT-08")
def test_the_retry_delay_grows_with_full_jitter_up_to_its_limit(engine: Engine):
    """Many units that fail in the same way are not all tried again at the same time."""
    retry = {"max_attempts": 10, "initial_seconds": 10, "max_seconds": 25, "multiplier": 2}
    engine.publish("w", operation("a", retry=retry))
    session = engine.worker()
    engine.db.execute("select fn_run_start(1, 'w', array_fill('{}'::jsonb, array[100]))")
    caps = {1: 10, 2: 20, 3: 25, 4: 25}
    for attempt, cap in caps.items():
        engine.report(session, *((lease, "failed", ERROR) for lease in engine.claim(session)))
        pauses = [
            float(seconds)
            for (seconds,) in engine.db.execute(
                """select extract(epoch from next_eligible_at - failed_at) from unit_failure
                   where attempt_count = %s""",
                (attempt,),
            )
        ]
        assert len(pauses) == 100
        assert all(0 <= pause <= cap for pause in pauses)
        assert max(pauses) > cap / 2
        assert len({round(pause, 3) for pause in pauses}) > 50
        engine.db.execute("update timer set due_at = stepwell.now()")
        engine.timers()


@pytest.mark.requirement("RT-08", "SM-13")
@pytest.mark.parametrize(
    ("body", "outcome", "expected"),
    [
        ({"error": {"type": "TimeoutError"}}, "failed", "timeout"),
        ({"error": {"type": "TypeError"}}, "failed", "invalid_input"),
        ({"error": {"type": "Whatever"}}, "failed", "handler_error"),
        ({"failure_class": "rate_limited", "error": {}}, "failed", "rate_limited"),
        ({"error": {"type": "Strange"}}, "failed", "handler_error"),
    ],
)
def test_failures_are_classified_by_the_registry(engine: Engine, body, outcome: str, expected: str):
    run_id, session = one_step(engine, retry={"max_attempts": 2, "non_retryable": ["Strange"]})
    engine.report(session, (engine.claim(session)[0], outcome, body))
    found = engine.db.execute("select failure_class, classification from unit_failure").fetchone()
    assert found is not None
    assert found[0] == expected
    permanent = expected == "invalid_input" or body["error"].get("type") == "Strange"
    assert found[1] == ("permanent" if permanent else "transient")
    assert engine.states(run_id)["a"] == ("cannot_complete" if permanent else "failed")


def test_a_handler_can_ask_for_a_retry_with_its_own_delay(engine: Engine, clock: Clock):
    _, session = one_step(engine, retry={"max_attempts": 2})
    engine.report(
        session, (engine.claim(session)[0], "retry", {"delay_seconds": 500, "error": {"type": "TypeError"}})
    )
    clock.advance(seconds=499)
    assert engine.timers() == 0
    clock.advance(seconds=2)
    assert engine.timers() == 1
    assert len(engine.claim(engine.worker("second"))) == 1


@pytest.mark.requirement("LN-07")
def test_the_outcome_waiting_ends_the_lease_and_emits_the_outbound_events(engine: Engine):
    run_id, session = one_step(engine)
    (lease,) = engine.claim(session)
    for event_type in ("invoice", "mail"):
        engine.db.execute("select fn_event_type_register(1, %s)", (event_type,))
    sent = [{"type": "invoice", "payload": {"n": 1}}, {"type": "mail", "payload": {}}]
    body = {"event": "paid", "seconds": 60, "outbound": sent}
    engine.report(session, (lease, "waiting", body))
    assert engine.db.execute(
        "select state_code, waiting_facet, lease_owner from step_run where step_id = 'a'"
    ).fetchone() == ("waiting", "waiting_external", None)
    emitted = engine.db.execute(
        "select payload from event_log where event_type = 'event.emitted' order by event_id"
    ).fetchall()
    assert [event for (event,) in emitted] == sent
    # What it waits for, until when, and what it sent are one commit.
    row = "select waiting_event_type, deadline_at - w.since_at from workflow_step as s"
    row += " inner join event_wait as w on s.waiting_event_type = w.event_type"
    assert engine.db.execute(row).fetchone() == ("paid", timedelta(seconds=60))
    commits = "select count(distinct tx) from event_log where event_type in ('step.waiting', 'event.emitted')"
    assert engine.one(commits) == 1
    assert engine.faults() == {}
    engine.db.execute("select fn_signal(1, %s, 'paid', %s, 'e1')", (run_id, Jsonb({"sum": 5})))
    (again,) = engine.claim(session)
    assert again.wake == {"task_type": "RESUMED", "event_type": "paid", "payload": {"sum": 5}}
    assert (again.attempt, again.lease_no) == (1, 2)


@pytest.mark.requirement("LN-08")
def test_a_wait_that_times_out_is_claimable_and_the_lease_says_so(engine: Engine, clock: Clock):
    _, session = one_step(engine)
    engine.report(session, (engine.claim(session)[0], "waiting", {"event": "paid", "seconds": 60}))
    clock.advance(seconds=61)
    # The first session has expired: it sent no heartbeat.
    session = engine.worker("second")
    assert engine.timers() == 1
    (again,) = engine.claim(session)
    assert again.wake["task_type"] == "WAITING_TIMEOUT"


def test_a_sleeping_step_has_no_lease_and_its_timer_wakes_it(engine: Engine, clock: Clock):
    run_id, session = one_step(engine)
    engine.report(session, (engine.claim(session)[0], "sleep", {"seconds": 10}))
    assert engine.states(run_id)["a"] == "waiting"
    assert engine.claim(session) == []
    clock.advance(seconds=11)
    assert engine.timers() == 1
    assert engine.claim(session)[0].wake["task_type"] == "SLEPT"


def test_a_released_lease_is_claimable_again_and_costs_no_attempt(engine: Engine):
    run_id, session = one_step(engine)
    engine.report(session, (engine.claim(session)[0], "released", None))
    assert engine.states(run_id)["a"] == "ready"
    (lease,) = engine.claim(session)
    assert (lease.attempt, lease.lease_no) == (1, 2)


def test_a_report_can_claim_in_the_same_call(engine: Engine):
    _, session = one_step(engine)
    (lease,) = engine.claim(session)
    (following,) = engine.report(session, (lease, "completed", 1), claim_limit=5)
    assert (following.row_kind, following.step_id) == ("lease", "b")


def test_one_report_can_hold_different_outcomes_of_many_runs(engine: Engine):
    engine.publish("w", operation("a", retry={"max_attempts": 2}), operation("b"))
    for _ in range(6):
        engine.start("w")
    session = engine.worker()
    leases = engine.claim(session)
    outcomes = ["completed", "failed", "dead", "sleep", "released", "waiting"]
    body = {"seconds": 60, "event": "x", **ERROR}
    assert engine.report(session, *zip(leases, outcomes, [body] * 6, strict=True)) == []
    states = [engine.state(lease.unit_id) for lease in leases]
    assert states == ["completed", "failed", "cannot_complete", "waiting", "ready", "waiting"]
    assert engine.faults() == {}


@pytest.mark.parametrize(
    ("outcome", "body", "word"), [("vanished", None, "vanished"), ("waiting", {"seconds": 1}, "event")]
)
def test_an_unknown_or_incomplete_outcome_is_refused(engine: Engine, outcome: str, body, word: str):
    run_id, session = one_step(engine)
    (lease,) = engine.claim(session)
    with pytest.raises(psycopg.Error) as caught:
        engine.report(session, (lease, outcome, body))
    assert (caught.value.sqlstate, word in str(caught.value)) == ("SW001", True)
    assert engine.states(run_id)["a"] == "in_progress"


def test_a_failure_cancels_the_dependents_and_not_the_siblings(engine: Engine):
    engine.publish(
        "w", operation("a"), operation("b"), operation("c"), operation("d"),
        edges=[("a", "c"), ("c", "d")],
    )  # fmt: skip
    run_id = engine.start("w")
    session = engine.worker()
    a, b = engine.claim(session)
    engine.kill(session, a)
    assert engine.run_state(run_id) == "in_progress"
    assert engine.states(run_id) == {
        "a": "cannot_complete", "b": "in_progress", "c": "cancelled", "d": "cancelled",
    }  # fmt: skip
    engine.complete(session, b)
    assert engine.run_state(run_id) == "failed"
    assert engine.faults() == {}
