"""People who act at the same time: one gets the step, one decision settles the approval, no deadlock."""

from __future__ import annotations

import psycopg
import pytest

from tests.interleave.conftest import LIMIT_SECONDS, Session
from tests.sql.drive import Engine, human, operation, subworkflow
from tests.sql.people.asking import People
from tests.support.clock import Clock
from tests.support.deciding import PLACE, deciding


@pytest.fixture
def people(engine: Engine) -> People:
    made = People(engine)
    made.add("ada", "office")
    made.add("ben", "office", "reviewer")
    made.add("cleo", "reviewer")
    return made


@pytest.fixture
def unit(engine: Engine, people: People) -> int:
    engine.publish("w", human("sign", role="office", deadline=600), operation("after"))
    return engine.unit(engine.start("w"), "sign")


def outcome(session: Session, query: str, *parameters: object) -> object:
    """The result of a call, or the SQLSTATE of its refusal."""
    try:
        return session.one(query, parameters)
    except psycopg.Error as error:
        session.rollback()
        return error.sqlstate


CLAIM = "select fn_step_claim(1, %s, %s) ->> 'state'"
DECIDE = deciding(PLACE, PLACE, "a reason")


@pytest.mark.parametrize("commits", [True, False])
def test_of_two_claims_at_the_same_time_one_gets_the_step(engine: Engine, sessions, unit: int, commits: bool):
    first, second = sessions(), sessions()
    assert first.one(CLAIM, (unit, "ada")) == "in_progress"
    other = second.start_blocked(lambda: outcome(second, CLAIM, unit, "ben"))
    if commits:
        first.commit()
    else:
        first.rollback()
    assert other.result(LIMIT_SECONDS) == ("SW003" if commits else "in_progress")
    second.commit()
    assert engine.one("select pic from v_inbox where step_run_id = %s", (unit,)) == (
        "ada" if commits else "ben"
    )
    assert engine.events(unit).count("step.started") == 1
    assert engine.faults() == {}


def test_the_same_claim_twice_at_the_same_time_counts_once(engine: Engine, sessions, unit: int):
    first, second = sessions(), sessions()
    keyed = "select fn_step_claim(1, %s, 'ada', 'k')"
    answer = first.one(keyed, (unit,))
    again = second.start_blocked(lambda: second.one(keyed, (unit,)))
    first.commit()
    assert again.result(LIMIT_SECONDS) == answer
    second.commit()
    assert engine.events(unit).count("step.started") == 1


def test_a_claim_during_the_cancellation_of_its_run_is_refused(engine: Engine, sessions, unit: int):
    cancelling, claiming = sessions(), sessions()
    cancelling.one("select fn_run_cancel(1, %s, 'cli:r')", (unit >> 20,))
    claim = claiming.start_blocked(lambda: outcome(claiming, CLAIM, unit, "ada"))
    cancelling.commit()
    assert claim.result(LIMIT_SECONDS) == "SW004"
    assert engine.state(unit) == "cancelled"
    assert engine.faults() == {}


@pytest.mark.parametrize("completes_first", [True, False])
def test_a_completion_and_the_deadline_at_the_same_time(
    engine: Engine, people: People, sessions, unit: int, clock: Clock, completes_first: bool
):
    people.claim(unit, "ada")
    clock.advance(seconds=601)
    first, second = sessions(), sessions()
    complete = "select fn_step_complete(1, %s, 'ada') ->> 'transition_id'"
    if completes_first:
        assert first.one(complete, (unit,)) == "step.T8"
        # The keeper passes over the locked run.
        assert second.timers() == 0
        second.commit()
        first.commit()
        second.timers()
    else:
        first.timers()
        other = second.start_blocked(lambda: outcome(second, complete, unit))
        first.commit()
        # The step was in progress when the call started and is overdue now: the call uses the new state.
        assert other.result(LIMIT_SECONDS) == "step.T7"
    second.commit()
    late = """select state_code, completed_after_deadline, overdue_first_at is not null
        from work_unit where unit_id = %s"""
    assert engine.db.execute(late, (unit,)).fetchone() == ("completed", True, True)
    assert engine.faults() == {}


def test_a_delegation_during_a_release_is_refused(engine: Engine, people: People, sessions, unit: int):
    people.claim(unit, "ada")
    first, second = sessions(), sessions()
    first.one("select fn_step_release(1, %s, 'ada')", (unit,))
    other = second.start_blocked(
        lambda: outcome(second, "select fn_step_delegate(1, %s, 'ada', 'ben')", unit)
    )
    first.commit()
    assert other.result(LIMIT_SECONDS) == "SW004"
    assert engine.one("select pic_id from work_unit where unit_id = %s", (unit,)) is None


@pytest.mark.parametrize("words", [("approve", "approve"), ("approve", "reject"), ("reject", "approve")])
def test_of_two_persons_who_decide_at_the_same_time_one_settles(
    engine: Engine, sessions, unit: int, words: tuple[str, str]
):
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (unit,))
    first, second = sessions(), sessions()
    end = first.one(DECIDE, (approval, words[0], "ben"))
    other = second.start_blocked(lambda: outcome(second, DECIDE, approval, words[1], "cleo"))
    first.commit()
    assert other.result(LIMIT_SECONDS) == "SW003"
    assert engine.state(approval) == end
    ends = "select count(*) from event_log where unit_id = %s and to_state is not null"
    assert engine.one(ends, (approval,)) == 2  # the request and one final state
    assert engine.faults() == {}


def test_two_persons_who_approve_at_the_same_time_make_a_quorum_of_two(engine: Engine, sessions, unit: int):
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada', p_quorum => 2)", (unit,))
    first, second = sessions(), sessions()
    assert first.one(DECIDE, (approval, "approve", "ben")) == "requested"
    other = second.start_blocked(lambda: outcome(second, DECIDE, approval, "approve", "cleo"))
    first.commit()
    assert other.result(LIMIT_SECONDS) == "approved"
    second.commit()
    assert engine.events(approval).count("approval.approved") == 1


@pytest.mark.parametrize("decides_first", [True, False])
def test_of_a_decision_and_an_expiry_at_the_same_time_the_first_counts(
    engine: Engine, sessions, unit: int, clock: Clock, decides_first: bool
):
    approval = engine.one(
        "select fn_approval_request(1, 'reopen', %s, 'ada', p_expires_seconds => 60)", (unit,)
    )
    first, second = sessions(), sessions()
    if decides_first:
        assert first.one(DECIDE, (approval, "approve", "ben")) == "approved"
        clock.advance(seconds=61)
        # The keeper passes over the locked run.
        assert second.timers() == 0
        second.commit()
        first.commit()
        second.timers()
    else:
        clock.advance(seconds=61)
        first.timers()
        other = second.start_blocked(lambda: outcome(second, DECIDE, approval, "approve", "ben"))
        first.commit()
        assert other.result(LIMIT_SECONDS) == "SW003"
    second.commit()
    assert engine.state(approval) == ("approved" if decides_first else "expired")
    assert engine.faults() == {}


def test_a_decision_during_the_cancellation_of_the_run_is_refused(engine: Engine, sessions, unit: int):
    approval = engine.one("select fn_approval_request(1, 'spend', %s, 'ada')", (unit,))
    cancelling, deciding = sessions(), sessions()
    cancelling.one("select fn_run_cancel(1, %s, 'cli:r')", (unit >> 20,))
    other = deciding.start_blocked(lambda: outcome(deciding, DECIDE, approval, "approve", "ben"))
    cancelling.commit()
    assert other.result(LIMIT_SECONDS) == "SW003"
    assert engine.events(approval) == ["approval.requested", "approval.cancelled"]
    assert engine.faults() == {}


# -- sub-workflows ------------------------------------------------------------------------------


@pytest.fixture
def inner(engine: Engine, people: People) -> int:
    """A step of a sub-workflow that ada has claimed; two other steps of it are operations."""
    retry = {"max_attempts": 3, "initial_seconds": 60}
    engine.publish(
        "inner", human("x", role="office"), operation("a", retry=retry), operation("b", retry=retry), edges=[]
    )  # fmt: skip
    engine.publish("outer", subworkflow("in", "inner"), human("y", role="office"), edges=[])
    unit = engine.unit(engine.start("outer") + 1, "x")
    people.claim(unit, "ada")
    return unit


WAIT = "select fn_step_wait(1, %s, 'ada', '{waiting_human}') ->> 'state'"
FAILURE = {"error": {"type": "E", "message": "no"}}


def colour(engine: Engine, run_id: int) -> str:
    found: str = engine.one("select rollup_state_code from run_progress where run_id = %s", (run_id,))
    return found


def test_a_person_in_a_sub_run_waits_for_the_parent_run(engine: Engine, sessions, inner: int):
    outer = (inner >> 20) - 1
    above, below = sessions(), sessions()
    above.one(CLAIM, (engine.unit(outer, "y"), "ben"))
    waiting = below.start_blocked(lambda: outcome(below, WAIT, inner))
    above.commit()
    assert waiting.result(LIMIT_SECONDS) == "waiting"
    below.commit()
    assert colour(engine, outer) == "yellow"
    assert engine.faults() == {}


def test_a_report_that_changes_the_colour_of_a_locked_parent_run_is_refused(
    engine: Engine, sessions, inner: int
):
    outer = (inner >> 20) - 1
    worker = engine.worker()
    lease, other = engine.claim(worker)
    above, below = sessions(), sessions()
    above.one(CLAIM, (engine.unit(outer, "y"), "ben"))
    # A report that does not change the colour of its run needs no lock of the parent run.
    assert below.complete(worker, other) == []
    below.commit()
    with pytest.raises(psycopg.errors.LockNotAvailable):
        below.report(worker, (lease, "failed", FAILURE))
    below.rollback()
    assert engine.state(lease.unit_id) == "in_progress"
    above.commit()
    assert below.report(worker, (lease, "failed", FAILURE)) == []
    below.commit()
    assert colour(engine, outer) == "red"
    assert engine.faults() == {}


def test_a_cancel_from_the_parent_and_a_report_from_the_sub_run_do_not_deadlock(
    engine: Engine, sessions, inner: int
):
    """The cancel has locked the parent run and waits for the sub-run. The report has locked the sub-run and
    needs the parent run: it must not wait.
    """
    outer = (inner >> 20) - 1
    worker = engine.worker()
    lease, other = engine.claim(worker)
    cancelling, reporting = sessions(), sessions()
    reporting.complete(worker, other)
    cancel = cancelling.start_blocked(
        lambda: cancelling.one("select fn_run_cancel(1, %s, 'cli:r')", (outer,))
    )
    with pytest.raises(psycopg.errors.LockNotAvailable):
        reporting.report(worker, (lease, "failed", FAILURE))
    reporting.rollback()
    assert cancel.result(LIMIT_SECONDS) == "cancelled"
    cancelling.commit()
    assert [row.row_kind for row in engine.complete(worker, lease)] == ["refused"]
    engine.one("select fn_worker_close(%s)", (worker,))
    assert engine.faults() == {}


def test_two_people_in_two_sub_runs_of_one_run_both_succeed(engine: Engine, people: People, sessions):
    engine.publish("inner", human("x", role="office"))
    engine.publish("outer", subworkflow("one", "inner"), subworkflow("two", "inner"), edges=[])
    outer = engine.start("outer")
    units = [engine.unit(run, "x") for run in (outer + 1, outer + 2)]
    for unit in units:
        people.claim(unit, "ada")
    first, second = sessions(), sessions()
    first.one(WAIT, (units[1],))
    other = second.start_blocked(lambda: outcome(second, WAIT, units[0]))
    first.commit()
    assert other.result(LIMIT_SECONDS) == "waiting"
    second.commit()
    assert engine.one("select wait_count from run_progress where run_id = %s", (outer,)) == 2
    assert engine.faults() == {}


def test_a_correction_in_a_sub_run_waits_for_the_parent_run(
    engine: Engine, people: People, sessions, inner: int
):
    outer = (inner >> 20) - 1
    people.complete(inner, "ada")
    engine.drain(engine.worker())
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (inner,))
    engine.one(DECIDE, (approval, "approve", "ben"))
    above, reopening = sessions(), sessions()
    above.one(CLAIM, (engine.unit(outer, "y"), "ben"))
    query = "select fn_step_reopen_for_correction(1, %s, 'ben', 'data_error', %s) ->> 'state'"
    reopen = reopening.start_blocked(lambda: outcome(reopening, query, inner, approval))
    above.commit()
    assert reopen.result(LIMIT_SECONDS) == "in_progress"
    reopening.commit()
    assert engine.state(engine.unit(outer, "in")) == "in_progress"
    assert engine.faults() == {}
