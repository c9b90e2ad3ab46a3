"""Claims, reports, recoveries and cancellations at the same time: each unit completes once, no deadlock."""

from __future__ import annotations

from concurrent.futures import wait as wait_for

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation, wait
from tests.support.clock import Clock

LIMIT_SECONDS = 60


@pytest.mark.requirement("LN-04")
def test_two_claims_at_the_same_time_never_lease_the_same_unit(engine: Engine, sessions):
    engine.enqueue("op", 10)
    one, two = engine.worker("one"), engine.worker("two")
    first, second = sessions(), sessions()
    of_first = first.claim(one, 4)
    of_second = second.claim(two, 100)
    first.commit()
    second.commit()
    assert len(of_first) == 4
    assert len(of_second) == 6
    assert not {lease.unit_id for lease in of_first} & {lease.unit_id for lease in of_second}
    assert engine.faults() == {}


def test_a_claim_that_is_rolled_back_leaves_the_work_claimable(engine: Engine, sessions):
    engine.enqueue("op", 3)
    session = engine.worker()
    first = sessions()
    assert len(first.claim(session)) == 3
    first.rollback()
    assert len(engine.claim(session)) == 3


@pytest.mark.requirement("LN-05")
def test_a_report_after_recovery_changes_nothing(engine: Engine, clock: Clock):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    late = engine.worker("late", lease_seconds=5)
    (old,) = engine.claim(late)
    clock.advance(seconds=6)
    assert engine.one("select fn_leases_recover()") == 1
    (new,) = engine.claim(engine.worker("next"))
    assert new.lease_no == old.lease_no + 1
    (refusal,) = engine.complete(late, old, output={"late": True})
    assert (refusal.row_kind, refusal.unit_id) == ("refused", old.unit_id)
    assert engine.states(run_id) == {"a": "in_progress"}
    assert engine.one("select count(*) from unit_output") == 0


@pytest.mark.requirement("LN-05")
def test_a_report_before_recovery_but_after_expiry_changes_nothing(engine: Engine, clock: Clock):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    late = engine.worker(lease_seconds=5)
    (old,) = engine.claim(late)
    clock.advance(seconds=6)
    assert [row.row_kind for row in engine.complete(late, old)] == ["refused"]
    assert engine.states(run_id) == {"a": "in_progress"}
    engine.one("select fn_leases_recover()")
    assert engine.states(run_id) == {"a": "ready"}


@pytest.mark.requirement("RT-03")
def test_a_recovery_passes_over_an_open_report_and_recovers_nothing(engine: Engine, sessions, clock: Clock):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    worker = engine.worker(lease_seconds=5)
    (lease,) = engine.claim(worker)
    first, second = sessions(), sessions()
    first.complete(worker, lease, output=1)
    clock.advance(seconds=6)
    assert second.one("select fn_leases_recover()") == 0
    second.commit()
    first.commit()
    assert engine.one("select fn_leases_recover()") == 0
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_a_report_during_an_open_recovery_is_refused(engine: Engine, sessions, clock: Clock):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    worker = engine.worker(lease_seconds=5)
    (lease,) = engine.claim(worker)
    first, second = sessions(), sessions()
    clock.advance(seconds=6)
    assert first.one("select fn_leases_recover()") == 1
    reporting = second.start_call(lambda: second.complete(worker, lease))
    wait_for([reporting], timeout=1)
    first.commit()
    assert [row.row_kind for row in reporting.result(LIMIT_SECONDS)] == ["refused"]
    second.commit()
    assert engine.states(run_id) == {"a": "ready"}
    assert engine.faults() == {}


def test_a_cancellation_during_a_claim_cancels_the_claimed_step(engine: Engine, sessions):
    engine.publish("w", operation("a"), operation("b"))
    run_id = engine.start("w")
    worker = engine.worker()
    claiming, cancelling = sessions(), sessions()
    (lease,) = claiming.claim(worker)
    cancel = cancelling.start_blocked(
        lambda: cancelling.one("select fn_run_cancel(1, %s, 'cli:ada')", (run_id,))
    )
    claiming.commit()
    assert cancel.result(LIMIT_SECONDS) == "cancelled"
    cancelling.commit()
    assert engine.states(run_id) == {"a": "cancelled", "b": "cancelled"}
    assert [row.row_kind for row in engine.complete(worker, lease)] == ["refused"]
    lost = engine.db.execute(
        "select unit_id, reason from fn_worker_heartbeat(%s, '{1}', %s, %s, 0)",
        (worker, [lease.unit_id], [lease.lease_no]),
    ).fetchall()
    assert lost == [(lease.unit_id, "cancelled")]
    engine.one("select fn_worker_close(%s)", (worker,))
    assert engine.faults() == {}


def test_a_cancellation_during_a_claim_cancels_the_job(engine: Engine, sessions):
    """A claim locks the ready row before the unit; a cancel must not lock them in the other order."""
    (job_id,) = engine.enqueue("op")
    worker = engine.worker()
    claiming, cancelling = sessions(), sessions()
    with claiming.db.cursor() as cursor:
        cursor.execute("select from job_ready where unit_id = %s for update", (job_id,))
        cancel = cancelling.start_blocked(
            lambda: cancelling.one("select fn_job_cancel(1, %s, 'cli:ada')", (job_id,))
        )
        claimed = claiming.start_call(lambda: claiming.claim(worker))
        assert len(claimed.result(LIMIT_SECONDS)) == 1
    claiming.commit()
    assert cancel.result(LIMIT_SECONDS) == "cancelled"
    cancelling.commit()
    assert engine.state(job_id) == "cancelled"


def test_a_claim_of_a_retry_does_not_wait_for_a_cancellation(engine: Engine, sessions):
    """A retry changes counters of the run: a claim that holds the ready row must not wait for the run."""
    engine.publish("w", operation("a", retry={"max_attempts": 5, "initial_seconds": 0}), operation("b"))
    run_id = engine.start("w")
    worker = engine.worker()
    engine.report(worker, (engine.claim(worker)[0], "failed", {"error": {"type": "E"}}))
    engine.timers()
    claiming, cancelling = sessions(), sessions()
    cancelling.db.execute("select from run_progress where run_id = %s for update", (run_id,))
    assert claiming.claim(worker) == []
    cancel = cancelling.start_blocked(
        lambda: cancelling.one("select fn_run_cancel(1, %s, 'cli:ada')", (run_id,))
    )
    claiming.commit()
    assert cancel.result(LIMIT_SECONDS) == "cancelled"
    cancelling.commit()
    assert engine.claim(worker) == []
    assert engine.run_state(run_id) == "cancelled"
    assert engine.faults() == {}


def test_a_report_during_a_cancellation_is_refused_and_frees_the_slot_once(engine: Engine, sessions):
    """The slot is freed once; the worker repeats its report and is refused."""
    engine.enqueue("op", 3, p_concurrency_key="k", p_max_concurrency=1)
    worker = engine.worker()
    (lease,) = engine.claim(worker)
    cancelling, reporting = sessions(), sessions()
    cancelling.one("select fn_job_cancel(1, %s, 'cli:ada')", (lease.unit_id,))
    report = reporting.start_blocked(lambda: reporting.complete(worker, lease, output={"late": True}))
    cancelling.commit()
    with pytest.raises(psycopg.errors.SerializationFailure):
        report.result(LIMIT_SECONDS)
    reporting.rollback()
    again = reporting.complete(worker, lease, output={"late": True})
    assert [row.row_kind for row in again] == ["refused"]
    reporting.commit()
    assert engine.state(lease.unit_id) == "cancelled"
    assert engine.one("select used_count from concurrency_slot") == 1
    assert engine.one("select count(*) from unit_output") == 0
    assert engine.faults() == {}


@pytest.mark.parametrize(
    "cancel", ["fn_run_cancel(1, {run}, 'cli:ada')", "fn_job_cancel(1, {unit}, 'cli:ada')"]
)
def test_a_unit_cancelled_during_its_claim_frees_its_slot(engine: Engine, sessions, cancel: str):
    engine.publish(
        "w", operation("a", group=1), operation("b", group=1), edges=[],
        groups=[{"no": 1, "max_concurrency": 1}],
    )  # fmt: skip
    run_id = engine.start("w")
    worker = engine.worker()
    claiming, cancelling = sessions(), sessions()
    (lease,) = claiming.claim(worker)
    query = "select " + cancel.format(run=run_id, unit=lease.unit_id)
    waiting = cancelling.start_blocked(lambda: cancelling.one(query))
    claiming.commit()
    assert waiting.result(LIMIT_SECONDS) == "cancelled"
    cancelling.commit()
    assert engine.faults() == {}


def test_a_claim_that_commits_after_its_session_closed_is_recovered(engine: Engine, sessions):
    engine.publish("w", operation("a", retry={"max_attempts": 3}))
    run_id = engine.start("w")
    worker = engine.worker()
    claiming = sessions()
    assert len(claiming.claim(worker, 1)) == 1
    assert engine.one("select fn_worker_close(%s)", (worker,)) == 0
    claiming.commit()
    assert engine.one("select fn_leases_recover()") == 1
    assert engine.one("select fn_leases_recover()") == 0
    assert engine.states(run_id) == {"a": "ready"}
    assert engine.faults() == {}


def test_an_open_heartbeat_protects_its_session_from_recovery(engine: Engine, sessions, clock: Clock):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    worker = engine.worker(lease_seconds=5)
    (lease,) = engine.claim(worker)
    beating, recovering = sessions(), sessions()
    clock.advance(seconds=4)
    beating.db.execute(
        "select * from fn_worker_heartbeat(%s, '{1}', %s, %s, 0)", (worker, [lease.unit_id], [lease.lease_no])
    )
    clock.advance(seconds=2)
    assert recovering.one("select fn_leases_recover()") == 0
    recovering.commit()
    beating.commit()
    assert engine.one("select fn_leases_recover()") == 0
    assert engine.states(run_id) == {"a": "in_progress"}


@pytest.mark.requirement("RT-01")
def test_two_starts_with_one_key_at_the_same_time_make_one_run(engine: Engine, sessions):
    engine.publish("w", operation("a"))
    first, second = sessions(), sessions()
    start = "select run_id, is_new from fn_run_start(1, 'w', %s::jsonb[], array['order-1'])"
    (started,) = first.db.execute(start, ([Jsonb({"n": 1})],)).fetchall()
    waiting = second.start_blocked(lambda: second.db.execute(start, ([Jsonb({"n": 2})],)).fetchall())
    first.commit()
    (repeated,) = waiting.result(LIMIT_SECONDS)
    second.commit()
    assert (started[1], repeated) == (True, (started[0], False))
    assert engine.one("select input from workflow_run") == {"n": 1}


def test_a_start_with_the_same_key_succeeds_when_the_first_rolls_back(engine: Engine, sessions):
    engine.publish("w", operation("a"))
    first, second = sessions(), sessions()
    start = "select run_id, is_new from fn_run_start(1, 'w', %s::jsonb[], array['order-1'])"
    first.db.execute(start, ([Jsonb({})],))
    waiting = second.start_blocked(lambda: second.db.execute(start, ([Jsonb({})],)).fetchall())
    first.rollback()
    ((_, is_new),) = waiting.result(LIMIT_SECONDS)
    second.commit()
    assert is_new is True


@pytest.mark.requirement("LN-10")
@pytest.mark.parametrize("signal_first", [True, False])
def test_of_a_signal_and_a_timeout_at_the_same_time_the_first_counts(
    engine: Engine, sessions, clock: Clock, signal_first: bool
):
    engine.publish("w", wait("parcel", "came", timeout_seconds=10), operation("after"))
    run_id = engine.start("w")
    clock.advance(seconds=11)
    first, second = sessions(), sessions()

    def signal(session) -> object:
        try:
            return session.db.execute(
                "select accepted, woken_unit_id from fn_signal(1, %s, 'came', '{}', 'k')", (run_id,)
            ).fetchone()
        except psycopg.Error as error:
            session.rollback()
            return error.sqlstate

    if signal_first:
        signal(first)
        # The keeper passes over the locked run, and finds nothing to do when it comes back.
        assert second.timers() == 0
        second.commit()
        first.commit()
        second.timers()
        second.commit()
        assert engine.states(run_id) == {"parcel": "completed", "after": "ready"}
    else:
        first.timers()
        other = second.start_blocked(lambda: signal(second))
        first.commit()
        assert other.result(LIMIT_SECONDS) == "SW003"
        second.commit()
        assert engine.states(run_id) == {"parcel": "cannot_complete", "after": "cancelled"}
    assert engine.events(engine.unit(run_id, "parcel")).count("step.waiting") == 1
    assert engine.faults() == {}


def test_two_reports_at_the_same_time_release_the_joined_step_once(engine: Engine, sessions):
    engine.publish("w", operation("a"), operation("b"), operation("c"), edges=[("a", "c"), ("b", "c")])
    run_id = engine.start("w")
    worker = engine.worker()
    left, right = engine.claim(worker)
    first, second = sessions(), sessions()
    first.complete(worker, left)
    other = second.start_blocked(lambda: second.complete(worker, right))
    first.commit()
    assert other.result(LIMIT_SECONDS) == []
    second.commit()
    assert engine.states(run_id)["c"] == "ready"
    assert engine.events(engine.unit(run_id, "c")) == ["step.ready"]
    assert engine.faults() == {}


def test_a_pause_during_a_report_keeps_the_next_step_out_of_the_queue(engine: Engine, sessions):
    engine.publish("w", operation("a"), operation("b"))
    run_id = engine.start("w")
    worker = engine.worker()
    (lease,) = engine.claim(worker)
    pausing, reporting = sessions(), sessions()
    pausing.one("select fn_run_pause(1, %s, 'cli:ada')", (run_id,))
    report = reporting.start_blocked(lambda: reporting.complete(worker, lease))
    pausing.commit()
    assert report.result(LIMIT_SECONDS) == []
    reporting.commit()
    assert engine.states(run_id) == {"a": "completed", "b": "ready"}
    assert engine.claim(worker) == []
    engine.one("select fn_run_resume(1, %s, 'cli:ada')", (run_id,))
    assert len(engine.claim(worker)) == 1
    assert engine.faults() == {}
