"""Decisions, expiries and cancellations that meet over one approval: one ends it, its step moves once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.interleave.conftest import Session
from tests.sql.drive import Engine, Lease, operation
from tests.support.clock import Clock
from tests.worker.acting import put_in_force, rule

LIMIT_SECONDS = 60
ACTION = '{"connector": "c", "operation": "o", "target": "t", "fields": {}, "call": "c.o#1", "writes": true}'


@pytest.fixture
def parked(engine: Engine) -> tuple[int, int, int]:
    """(run, step, approval): a step that waits for the approval of its action."""
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
        found: str = session.one(
            "select fn_approval_decide(1, %s, %s, %s, 'so it is')", (approval_id, decision, actor)
        )
    except psycopg.Error as error:
        session.db.rollback()
        return str(error.sqlstate)
    return found


def ends(engine: Engine, approval_id: int) -> list[str]:
    """Every end the approval had, by the log."""
    rows = engine.db.execute(
        "select to_state from event_log where unit_id = %s and from_state = 'requested'", (approval_id,)
    )
    return [state for (state,) in rows]


def race(first: Session, second: Session, one: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """The second begins while the first holds everything, and goes on when it has committed."""
    won = one()
    waiting = second.meanwhile(other)
    first.commit()
    lost = waiting.result(LIMIT_SECONDS)
    second.commit()
    return won, lost


@pytest.mark.parametrize("words", [("approve", "approve"), ("approve", "reject"), ("reject", "approve")])
def test_two_decisions_settle_once(engine: Engine, sessions, parked, words):
    run_id, _, approval_id = parked
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


def test_an_approval_and_its_expiry_settle_once(engine: Engine, sessions, parked, clock: Clock):
    run_id, _, approval_id = parked
    first, second = sessions(), sessions()

    def decide_then_expire() -> str:
        found = decide(first, approval_id, "approve", "ben")
        clock.advance(seconds=61)
        return found

    won, _ = race(first, second, decide_then_expire, second.timers)
    assert won == "approved"
    assert ends(engine, approval_id) == ["approved"]
    assert engine.states(run_id) == {"a": "ready"}
    assert engine.faults() == {}


def test_an_expiry_and_a_late_approval_settle_once(engine: Engine, sessions, parked, clock: Clock):
    run_id, _, approval_id = parked
    clock.advance(seconds=61)
    first, second = sessions(), sessions()
    fired, lost = race(first, second, first.timers, lambda: decide(second, approval_id, "approve", "ben"))
    assert (fired, lost) == (1, "SW003")
    assert ends(engine, approval_id) == ["expired"]
    assert engine.states(run_id) == {"a": "cannot_complete"}
    assert engine.faults() == {}


def test_an_approval_and_the_cancellation_of_its_run_settle_once(engine: Engine, sessions, parked):
    run_id, _, approval_id = parked
    first, second = sessions(), sessions()
    won, lost = race(
        first,
        second,
        lambda: first.one("select fn_run_cancel(1, %s, 'ada')", (run_id,)),
        lambda: decide(second, approval_id, "approve", "ben"),
    )
    assert (won, lost) == ("cancelled", "SW003")
    assert ends(engine, approval_id) == ["cancelled"]
    assert engine.states(run_id) == {"a": "cancelled"}
    assert engine.faults() == {}


def test_two_votes_of_a_quorum_of_two_meet_and_both_count(engine: Engine, sessions):
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
def test_two_units_with_one_key_make_one_intent(engine: Engine, sessions):
    put_in_force(engine.db, rule("free", "allow"))
    engine.enqueue("op", 2)
    session = engine.worker()
    one, other = engine.claim(session)
    keyed = ACTION.replace('"fields"', '"key": "order-7", "fields"')
    first, second = sessions(), sessions()

    def intend(who: Session, lease: Lease) -> str:
        try:
            found = who.one(
                "select fn_action_propose(%s, 1, %s, %s, %s::jsonb)",
                (session, lease.unit_id, lease.lease_no, keyed),
            )
        except psycopg.Error as error:
            who.rollback()
            return str(error.sqlstate)
        return str(found["answer"])

    won, lost = race(first, second, lambda: intend(first, one), lambda: intend(second, other))
    assert (won, lost) == ("go", "40001")
    assert intend(second, other) == "busy"
    second.commit()
    assert engine.one("select count(*) from action_receipt") == 1
    assert engine.faults() == {}


def test_parallel_steps_share_the_writes_of_their_run(engine: Engine, sessions):
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


def test_who_waits_for_a_lock_is_not_denied(engine: Engine, sessions):
    """The time limit is the policy's: a lock that is not to be had in time is another try, not a verdict."""
    put_in_force(engine.db, rule("ask", "needs_approval"))
    engine.db.execute("update dot_config set config_value = '2000' where config_key = 'policy.timeout_ms'")
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    first, second = sessions(), sessions()
    first.one("select run_id from run_progress where run_id = %s for update", (run_id,))
    second.one("select fn_action_limit()")
    waiting = second.meanwhile(lambda: propose(second, session, lease))
    with pytest.raises(psycopg.errors.LockNotAvailable):
        waiting.result(LIMIT_SECONDS)
    second.rollback()
    first.rollback()
    assert engine.one("select count(*) from policy_verdict") == 0
    assert propose(engine, session, lease)["answer"] == "wait"
