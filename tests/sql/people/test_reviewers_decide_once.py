"""Approvals: a quorum of reviewers decides once, before it expires; the requester cannot decide."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, human
from tests.sql.people.asking import People, refused
from tests.support.clock import Clock
from tests.support.deciding import PLACE, deciding


def asked(engine: Engine, **named) -> int:
    engine.publish("w", human("sign", role="office"))
    unit = engine.unit(engine.start("w"), "sign")
    words = "".join(f", p_{name} => %s" for name in named)
    found: int = engine.one(
        f"select fn_approval_request(1, 'reopen', %s, 'ada', 'why'{words})", (unit, *named.values())
    )
    return found


def decide(engine: Engine, approval: int, decision: str, actor: str) -> str:
    found: str = engine.one(deciding(PLACE, PLACE, "a reason"), (approval, decision, actor))
    return found


def test_one_other_person_is_enough_for_a_quorum_of_one(engine: Engine, people: People):
    approval = asked(engine)
    with refused("SW007", "the requester of an approval cannot decide it"):
        decide(engine, approval, "approve", "ada")
    assert decide(engine, approval, "approve", "ben") == "approved"
    assert decide(engine, approval, "approve", "ben") == "approved"
    assert engine.events(approval) == ["approval.requested", "approval.vote_recorded", "approval.approved"]
    with refused("SW003", "decided"):
        decide(engine, approval, "reject", "cleo")
    assert engine.one("select count(*) from timer where unit_id = %s", (approval,)) == 0
    assert engine.faults() == {}


def test_a_quorum_of_two_needs_two_different_persons(engine: Engine, people: People):
    approval = asked(engine, quorum=2)
    assert decide(engine, approval, "approve", "ben") == "requested"
    assert decide(engine, approval, "approve", "ben") == "requested"
    assert engine.one("select approve_count from v_approval where approval_id = %s", (approval,)) == 1
    assert decide(engine, approval, "approve", "cleo") == "approved"


def test_one_rejection_ends_the_approval(engine: Engine, people: People):
    approval = asked(engine, quorum=2)
    decide(engine, approval, "approve", "ben")
    assert decide(engine, approval, "reject", "cleo") == "rejected"
    with refused("SW003", "decided"):
        decide(engine, approval, "approve", "dan")


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_rejection_needs_a_reason(engine: Engine, people: People, reason: str | None):
    approval = asked(engine)
    with refused("SW001", "a reject requires a reason"):
        engine.one(deciding("reject", "ben", PLACE), (approval, reason))
    assert engine.state(approval) == "requested"
    assert engine.one("select count(*) from approval_vote") == 0


def test_an_expired_approval_cannot_be_decided(engine: Engine, people: People, clock: Clock):
    approval = asked(engine, expires_seconds=60)
    clock.advance(seconds=61)
    with refused("SW003", "expired"):
        decide(engine, approval, "approve", "ben")
    engine.timers()
    assert engine.state(approval) == "expired"
    assert engine.events(approval)[-1] == "approval.expired"
    assert engine.faults() == {}


def test_only_the_requester_can_withdraw_an_approval(engine: Engine, people: People):
    approval = asked(engine)
    with refused("SW007", "only the requester"):
        engine.one("select fn_approval_withdraw(1, %s, 'ben')", (approval,))
    assert engine.one("select fn_approval_withdraw(1, %s, 'ada')", (approval,)) == "cancelled"
    assert engine.one("select fn_approval_withdraw(1, %s, 'ada')", (approval,)) == "cancelled"
    with refused("SW003"):
        decide(engine, approval, "approve", "ben")


def test_a_repeated_request_with_the_same_key_returns_the_first_approval(engine: Engine, people: People):
    first = asked(engine, key="k")
    unit = engine.one("select subject_unit_id from approval_detail")
    again = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada', p_key => 'k')", (unit,))
    assert again == first
    with refused("SW001", "quorum"):
        asked(engine, quorum=3)


def test_an_approval_for_another_action_or_run_allows_nothing(engine: Engine, people: People):
    engine.publish("w", human("sign", role="office"))
    run_id = engine.start("w")
    engine.db.execute(
        "update dot_config set config_value = 'true' where config_key = 'approval.required.workflow_cancel'"
    )
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (run_id << 20,))
    decide(engine, approval, "approve", "ben")
    with refused("SW004", "cancel_authorised"):
        engine.one(
            "select fn_run_cancel(1, %s, 'cli:ada', null, %s::jsonb)",
            (run_id, f'{{"approval_id": {approval}}}'),
        )
    right = engine.one("select fn_approval_request(1, 'workflow_cancel', %s, 'ada')", (run_id << 20,))
    decide(engine, right, "approve", "ben")
    evidence = f'{{"approval_id": {right}}}'
    other = engine.start("w")
    with refused("SW004", "cancel_authorised"):
        engine.one("select fn_run_cancel(1, %s, 'cli:ada', null, %s::jsonb)", (other, evidence))
    assert (
        engine.one("select fn_run_cancel(1, %s, 'cli:ada', null, %s::jsonb)", (run_id, evidence))
        == "cancelled"
    )
