"""A change of policy is a proposal: it is in force only after it is approved."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.unit_numbers import short
from tests.sql.binding import APPLICATION_ROLES, as_role, token
from tests.sql.drive import Engine
from tests.sql.people.asking import refused
from tests.sql.policy.judging import judged
from tests.support.clock import Clock
from tests.support.deciding import PLACE, deciding
from tests.worker.acting import put_in_force, rule

ALLOW, DENY = rule("one", "allow"), rule("one", "deny")


@pytest.fixture(autouse=True)
def known_people(engine: Engine) -> None:
    engine.person("ada", "ben", "cleo")


def propose(engine: Engine, *rules: dict[str, Any], actor: str = "ada") -> dict[str, Any]:
    found: dict[str, Any] = engine.one(
        "select fn_policy_propose(1, %s, 'source', %s, 'why')", (Jsonb(list(rules)), actor)
    )
    return found


def decide(engine: Engine, approval_id: int, decision: str, actor: str = "ben") -> str:
    found: str = engine.one(deciding(PLACE, PLACE, "a reason"), (approval_id, decision, actor))
    return found


def states(engine: Engine) -> list[tuple[int, str]]:
    return engine.db.execute("select version_no, state_code from v_policy order by version_no").fetchall()


@pytest.mark.requirement("RT-06")
def test_the_operator_activates_only_the_first_policy(engine: Engine):
    made = propose(engine, ALLOW)
    assert judged(engine)["reason_code"] == "no_policy"
    assert engine.one("select fn_policy_activate(1, 1, 'operator')") == "active"
    assert engine.one("select fn_policy_activate(1, 1, 'operator')") == "active"
    assert judged(engine)["effect"] == "allow"
    assert engine.state(made["approval_id"]) == "cancelled"
    assert engine.events(made["proposal_id"])[-2:] == ["proposal.merged", "policy.activated"]
    second = propose(engine, DENY)
    with refused("SW003", f"approval {short(second['approval_id'])} is granted"):
        engine.one("select fn_policy_activate(1, 2, 'operator')")
    with refused("SW002", "version 9"):
        engine.one("select fn_policy_activate(1, 9, 'operator')")
    assert engine.faults() == {}


@pytest.mark.requirement("RT-06")
def test_a_later_policy_is_in_force_when_its_approval_is_granted(engine: Engine):
    put_in_force(engine.db, ALLOW, rule("gone", "deny", "$.attempt > 3", 11))
    made = propose(engine, DENY, rule("new", "allow", "$.attempt > 9", 12))
    assert [one["name"] for one in made["diff"]["added"]] == ["new"]
    assert [one["name"] for one in made["diff"]["removed"]] == ["gone"]
    assert made["diff"]["changed"] == [{"old": ALLOW, "new": DENY}]
    assert judged(engine)["effect"] == "allow"
    with refused("SW007", "the requester of an approval cannot decide it"):
        decide(engine, made["approval_id"], "approve", "cli:ada")
    assert decide(engine, made["approval_id"], "approve") == "approved"
    assert judged(engine) | {"effect": "deny", "policy_version": 2} == judged(engine)
    assert states(engine) == [(1, "replaced"), (2, "active")]
    assert engine.events(made["proposal_id"]) == [
        "proposal.drafted", "proposal.submitted", "approval.opened", "proposal.review_started",
        "proposal.approved", "policy.activated", "proposal.merged",
    ]  # fmt: skip
    assert engine.faults() == {}


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize("end", ["reject", "expire", "withdraw"])
def test_a_policy_that_is_not_approved_is_never_in_force(engine: Engine, clock: Clock, end: str):
    put_in_force(engine.db, ALLOW)
    made = propose(engine, DENY)
    if end == "reject":
        decide(engine, made["approval_id"], "reject")
    elif end == "withdraw":
        engine.one("select fn_approval_withdraw(1, %s, 'ada')", (made["approval_id"],))
    else:
        clock.advance(days=2)
        engine.timers()
    assert states(engine) == [(1, "active"), (2, "rejected")]
    assert judged(engine)["effect"] == "allow"
    assert engine.faults() == {}


def test_the_configuration_can_require_two_approvals(engine: Engine):
    put_in_force(engine.db, ALLOW)
    engine.db.execute("update dot_config set config_value = '2' where config_key = 'approval.quorum.policy'")
    made = propose(engine, DENY)
    assert decide(engine, made["approval_id"], "approve", "ben") == "requested"
    assert judged(engine)["effect"] == "allow"
    assert decide(engine, made["approval_id"], "approve", "cleo") == "approved"


def test_a_proposal_against_replaced_rules_is_not_put_in_force(engine: Engine):
    put_in_force(engine.db, ALLOW)
    first, second = propose(engine, DENY), propose(engine, rule("other", "deny"))
    decide(engine, first["approval_id"], "approve")
    with refused("SW003", "no longer in force"):
        decide(engine, second["approval_id"], "approve")
    assert decide(engine, second["approval_id"], "reject") == "rejected"
    assert states(engine) == [(1, "replaced"), (2, "active"), (3, "rejected")]
    with refused("SW003", "already in force"):
        propose(engine, DENY)


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize(
    "change",
    ["update policy_set set rules = '[]'", "delete from policy_set", "truncate policy_set cascade"],
)
def test_not_even_the_owner_can_change_a_rule_set(engine: Engine, change: str):
    put_in_force(engine.db, ALLOW)
    with refused("SW007", "cannot be changed"):
        engine.db.execute(change)


def test_each_role_may_call_only_its_policy_and_action_functions(db: psycopg.Connection):
    def may(role: str, function: str) -> bool:
        row = db.execute(
            """select bool_or(has_function_privilege(%s, oid, 'execute')) from pg_proc
               where pronamespace = 'stepwell'::regnamespace and proname = %s""",
            (role, function),
        ).fetchone()
        assert row is not None
        return bool(row[0])

    # The API may ask; the function answers only the person of the development mode: the test below.
    assert may("stepwell_api", "fn_policy_activate")
    assert may("stepwell_api", "fn_policy_propose")
    assert may("stepwell_api", "fn_receipt_reverse")
    # A client that asks for a verdict limits the time of its own transaction.
    assert may("stepwell_api", "fn_action_limit")
    assert may("stepwell_worker", "fn_action_limit")
    for function in ("fn_action_propose", "fn_action_settle", "fn_action_reversal"):
        assert may("stepwell_worker", function)
        assert not may("stepwell_api", function)
    for role in set(APPLICATION_ROLES) - {"stepwell_api"}:
        assert not may(role, "fn_policy_activate")
    for role in ("stepwell_worker", "stepwell_reader"):
        assert not may(role, "fn_policy_propose")
        assert not may(role, "fn_receipt_settle")


@pytest.mark.requirement("RT-06")
def test_the_api_puts_no_policy_in_force_outside_development_mode(engine: Engine):
    """Not even for an admin, whose roles allow every change of a policy."""
    propose(engine, ALLOW)
    admin = token(engine.db, 1)
    activate = "select stepwell.fn_policy_activate(1, 1, %s)"
    for text, actor, words in (
        (admin, "binder", "only the owner of the schema puts a policy in force without an approval"),
        (None, "binder", "bound to no tenant"),
        (None, "operator", "bound to no tenant"),
    ):
        with refused("SW007", words), as_role(engine.db, "stepwell_api", text):
            engine.one(activate, (actor,))
    assert states(engine) == [(1, "review")]
    assert judged(engine)["reason_code"] == "no_policy"


@pytest.mark.requirement("RT-06")
def test_a_worker_can_act_with_the_rights_of_the_worker_role_only(engine: Engine):
    put_in_force(engine.db, ALLOW)
    engine.enqueue("op")
    session = engine.worker()
    (lease,) = engine.claim(session)
    action = {"connector": "c", "operation": "o", "target": "t", "fields": {}, "call": "c.o#1"}
    with engine.db.transaction(force_rollback=True):
        engine.db.execute("set local role stepwell_worker")
        engine.db.execute("select stepwell.fn_action_limit()")
        found = engine.one(
            "select stepwell.fn_action_propose(%s, 1, %s, %s, %s)",
            (session, lease.unit_id, lease.lease_no, Jsonb(action)),
        )
        assert found["answer"] == "go"
        settled = engine.one(
            "select stepwell.fn_action_settle(%s, 1, %s, %s, %s, 'confirmed', %s)",
            (session, lease.unit_id, lease.lease_no, found["receipt_id"], Jsonb({"result": 7})),
        )
        assert (settled["state"], settled["result"]) == ("confirmed", 7)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            engine.db.execute("select * from stepwell.action_receipt")


@pytest.mark.parametrize("action", ["act", "proposal", "replay", "replay_plan"])
def test_nobody_asks_for_what_the_engine_asks_itself(engine: Engine, action: str):
    """Whoever asks chooses the tier, the quorum and the approvers; for these the engine chooses them."""
    put_in_force(engine.db, ALLOW)
    made = propose(engine, DENY)
    with refused("SW001", "action", "request their own approval"):
        engine.one("select fn_approval_request(1, %s, %s, 'ben')", (action, made["proposal_id"]))


@pytest.mark.parametrize("end", ["approve", "reject", "withdraw", "expire"])
def test_another_approval_about_a_proposal_decides_nothing(engine: Engine, clock: Clock, end: str):
    """Such an approval of an earlier release may still be open; it helps neither the proposer nor others."""
    engine.db.execute("update dot_config set config_value = '2' where config_key = 'approval.quorum.policy'")
    put_in_force(engine.db, ALLOW)
    made = propose(engine, DENY)
    other = engine.one(
        "select _approval_request(1, 'proposal', %s, 'ben', 'why', 1, 1, 60)", (made["proposal_id"],)
    )
    with refused("SW007", "cannot decide it"):
        decide(engine, other, "approve", "ada")
    if end in ("approve", "reject"):
        decide(engine, other, end, "cleo")
    elif end == "withdraw":
        engine.one("select fn_approval_withdraw(1, %s, 'ben')", (other,))
    else:
        clock.advance(seconds=61)
        engine.db.execute("select fn_timers_fire(100)")
    assert engine.state(other) != "requested"
    assert engine.state(made["proposal_id"]) == "review"
    assert judged(engine)["effect"] == "allow"
    evidence = Jsonb({"approval_id": other, "actor": "cleo", "audit_ref": "x"})
    verdict = engine.one(
        "select fn_state_transition_validate(%s, 'proposal', 'review', 'approved', 'reviewer', 'rpc',"
        " 'proposal_decide', %s, true)",
        (made["proposal_id"], evidence),
    )
    assert "transition_refused_by_guard:proposal_approved" in verdict["problems"]
    # Its own approval still does, with its own quorum.
    decide(engine, made["approval_id"], "approve", "ben")
    assert decide(engine, made["approval_id"], "approve", "cleo") == "approved"
    assert judged(engine)["effect"] == "deny"
    assert engine.faults() == {}
