"""Decisions, expiries and cancellations of one approval at the same time: one of them ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.interleave.conftest import Session
from tests.sql.drive import Engine, Lease, operation
from tests.support.clock import Clock
from tests.support.deciding import PLACE, deciding
from tests.worker.acting import put_in_force, rule

LIMIT_SECONDS = 60
ACTION = '{"connector": "c", "operation": "o", "target": "t", "fields": {}, "call": "c.o#1", "writes": true}'


@pytest.fixture(autouse=True)
def known_people(engine: Engine) -> None:
    engine.person("ada", "ben", "cleo")


@pytest.fixture
def waiting_step(engine: Engine) -> tuple[int, int, int]:
    """(run, step, approval) of a step that waits for the approval of its action."""
    put_in_force(engine.db, rule("ask", "needs_approval", expires_seconds=60))
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    approval_id = propose(engine, session, lease)["approval_id"]
    body = {"event": f"approval.decided.{approval_id}", "facet": "waiting_human", "approval_id": approval_id}
    engine.report(session, (lease, "waiting", body))
    assert engine.states(run_id) == {"a": "waiting"}
    return run_id, lease.unit_id, approval_id


def propose(engine: Engine, session: int, lease: Lease) -> dict[str, Any]:
    found: dict[str, Any] = engine.one(
        "select fn_action_propose(%s, 1, %s, %s, %s::jsonb)",
        (session, lease.unit_id, lease.lease_no, ACTION),
    )
    return found


def decide(session: Engine, approval_id: int, decision: str, actor: str) -> str:
    try:
        found: str = session.one(deciding(PLACE, PLACE, "a reason"), (approval_id, decision, actor))
    except psycopg.Error as error:
        session.db.rollback()
        return str(error.sqlstate)
    return found


def ends(engine: Engine, approval_id: int) -> list[str]:
    """The final states of the approval in the log."""
    rows = engine.db.execute(
        "select to_state from event_log where unit_id = %s and from_state = 'requested'", (approval_id,)
    )
    return [state for (state,) in rows]


def race(first: Session, second: Session, one: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """The second call waits for the locks of the first, and continues when the first has committed."""
    won = one()
    waiting = second.start_blocked(other)
    first.commit()
    lost = waiting.result(LIMIT_SECONDS)
    second.commit()
    return won, lost


@pytest.mark.parametrize("words", [("approve", "approve"), ("approve", "reject"), ("reject", "approve")])
def test_of_two_decisions_at_the_same_time_one_settles(engine: Engine, sessions, waiting_step, words):
    run_id, _, approval_id = waiting_step
    first, second = sessions(), sessions()
    won, lost = race(
        first,
        second,
        lambda: decide(first, approval_id, words[0], "ben"),
        lambda: decide(second, approval_id, words[1], "cleo"),
    )
    end = {"approve": "approved", "reject": "rejected"}[words[0]]
    assert (won, lost) == (end, "SW003")
    assert ends(engine, approval_id) == [end]
    assert engine.states(run_id) == {"a": "ready" if end == "approved" else "cannot_complete"}
    assert engine.faults() == {}


def test_a_decision_before_the_expiry_settles_the_approval(
    engine: Engine, sessions, waiting_step, clock: Clock
):
    run_id, _, approval_id = waiting_step
    first, second = sessions(), sessions()

    assert decide(first, approval_id, "approve", "ben") == "approved"
    clock.advance(seconds=61)
    # The keeper passes over what the decision has locked, and finds it settled when it comes back.
    assert second.timers() == 0
    second.commit()
    first.commit()
    second.timers()
    second.commit()
    assert ends(engine, approval_id) == ["approved"]
    assert engine.states(run_id) == {"a": "ready"}
    assert engine.faults() == {}


def test_an_expiry_before_the_decision_settles_the_approval(
    engine: Engine, sessions, waiting_step, clock: Clock
):
    run_id, _, approval_id = waiting_step
    clock.advance(seconds=61)
    first, second = sessions(), sessions()
    fired, lost = race(first, second, first.timers, lambda: decide(second, approval_id, "approve", "ben"))
    assert (fired, lost) == (1, "SW003")
    assert ends(engine, approval_id) == ["expired"]
    assert engine.states(run_id) == {"a": "cannot_complete"}
    assert engine.faults() == {}


def test_a_cancellation_of_the_run_before_the_decision_settles_the_approval(
    engine: Engine, sessions, waiting_step
):
    run_id, _, approval_id = waiting_step
    first, second = sessions(), sessions()
    won, lost = race(
        first,
        second,
        lambda: first.one("select fn_run_cancel(1, %s, 'cli:ada')", (run_id,)),
        lambda: decide(second, approval_id, "approve", "ben"),
    )
    assert (won, lost) == ("cancelled", "SW003")
    assert ends(engine, approval_id) == ["cancelled"]
    assert engine.states(run_id) == {"a": "cancelled"}
    assert engine.faults() == {}


def test_two_decisions_of_a_quorum_of_two_both_count(engine: Engine, sessions):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    approval_id = engine.one(
        "select fn_approval_request(1, 'reopen', %s, 'ada', p_quorum => 2)", (run_id << 20,)
    )
    first, second = sessions(), sessions()
    votes = race(
        first,
        second,
        lambda: decide(first, approval_id, "approve", "ben"),
        lambda: decide(second, approval_id, "approve", "cleo"),
    )
    assert votes == ("requested", "approved")
    assert ends(engine, approval_id) == ["approved"]


@pytest.mark.requirement("RT-05")
def test_two_units_with_one_key_make_one_receipt(engine: Engine, sessions):
    put_in_force(engine.db, rule("free", "allow"))
    engine.enqueue("op", 2)
    session = engine.worker()
    one, other = engine.claim(session)
    keyed = ACTION.replace('"fields"', '"key": "order-7", "fields"')
    first, second = sessions(), sessions()

    def propose_with_key(who: Session, lease: Lease) -> str:
        try:
            found = who.one(
                "select fn_action_propose(%s, 1, %s, %s, %s::jsonb)",
                (session, lease.unit_id, lease.lease_no, keyed),
            )
        except psycopg.Error as error:
            who.rollback()
            return str(error.sqlstate)
        return str(found["answer"])

    won, lost = race(
        first, second, lambda: propose_with_key(first, one), lambda: propose_with_key(second, other)
    )
    assert (won, lost) == ("go", "40001")
    assert propose_with_key(second, other) == "busy"
    second.commit()
    assert engine.one("select count(*) from action_receipt") == 1
    assert engine.faults() == {}


def test_parallel_steps_share_the_cap_on_writes_of_their_run(engine: Engine, sessions):
    put_in_force(engine.db, rule("free", "allow"))
    engine.db.execute("update tenant set max_writes_per_run = 1")
    engine.publish("w", operation("a"), operation("b"), edges=[])
    engine.start("w")
    session = engine.worker()
    one, other = engine.claim(session)
    first, second = sessions(), sessions()
    won, lost = race(
        first, second, lambda: propose(first, session, one), lambda: propose(second, session, other)
    )
    assert won["answer"] == "go"
    assert (lost["answer"], lost["reason_code"]) == ("deny", "writes_exhausted")


def test_a_proposal_that_waits_for_a_lock_is_not_denied(engine: Engine, sessions):
    """The time limit is for the policy: a lock that is not free in time means another try, not a verdict."""
    put_in_force(engine.db, rule("ask", "needs_approval"))
    engine.db.execute("update dot_config set config_value = '2000' where config_key = 'policy.timeout_ms'")
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    first, second = sessions(), sessions()
    first.one("select run_id from run_progress where run_id = %s for update", (run_id,))
    second.one("select fn_action_limit()")
    waiting = second.start_blocked(lambda: propose(second, session, lease))
    with pytest.raises(psycopg.errors.LockNotAvailable):
        waiting.result(LIMIT_SECONDS)
    second.rollback()
    first.rollback()
    assert engine.one("select count(*) from policy_verdict") == 0
    assert propose(engine, session, lease)["answer"] == "wait"
