"""A card shows the approval, and Slack accepts it whatever texts people wrote."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.govern.slack.card import HEADS, draw, reason_dialog
from tests.connectors.blocks import block_problems
from tests.support.sample import sample

ACT = {
    "approval_id": 7 << 20,
    "state_code": "requested",
    "action": "act",
    "requested_by": "ada",
    "acting": "worker-1",
    "reason": "writes to production need a second person",
    "tier": 3,
    "quorum": 2,
    "approve_count": 0,
    "votes": None,
    "run_id": 12,
    "workflow": "ticket.triage",
    "subject": "assign",
    "expires_epoch": 1_800_000_000,
    "approvers": ["ben"],
    "approver_role": "lead",
    "shown_digest": "ab" * 32,
    "about": {
        "connector": "servicenow",
        "operation": "update",
        "target": "incident/0a",
        "reversible": True,
        "rule": "prod-writes",
        "fields": {"values": {"assignment_group": "network"}},
    },
}


def words(blocks: list) -> str:
    return json.dumps(blocks, ensure_ascii=False)


def test_a_card_shows_the_writes_of_an_action_and_the_policy_rule():
    text, blocks = draw(1, ACT)
    shown = words(blocks)
    for part in (
        "*ada* asks to *servicenow.update* `incident/0a` in *assign* of ticket.triage, run 12",
        "*Tier*\\nhigh",
        "*Approved*\\n0 of 2",
        "*Acting*\\nworker-1",
        "*Decided by*\\nben, role lead",
        "*Proposed writes*",
        "assignment_group",
        "*Policy* (rule prod-writes)\\nwrites to production",
    ):
        assert part in shown
    assert text.startswith("⏳ Approval needed: *ada* asks to *servicenow.update*")
    assert [button["value"] for button in blocks[-1]["elements"]] == ["1:7340032:" + "ab" * 32] * 2


def test_a_card_shows_the_difference_of_a_policy_change():
    about = {"kind": "policy", "diff": {"added": [{"name": "deny-all"}]}}
    shown = words(draw(1, {**ACT, "action": "policy", "about": about})[1])
    assert "asks to activate another policy" in shown
    assert "deny-all" in shown


def test_a_card_shows_what_a_plan_of_replays_would_repeat():
    effects = [{"connector": "shop", "operation": "refund", "count": 3}]
    about = {"kind": "replay", "letters": 40, "runs": 12, "effects": effects, "stages": [1, 10, 29]}
    blocks = draw(1, {**ACT, "action": "replay_plan", "about": about})[1]
    shown = words(blocks)
    for part in ("asks to replay 40 dead letters of 12 runs", "*What is repeated*", "refund", "29"):
        assert part in shown
    assert [one["text"]["text"] for one in blocks[-1]["elements"]] == ["Approve", "Reject…"]


def test_a_card_names_the_receipt_that_an_action_would_undo():
    assert "undoes receipt 9.2" in words(
        draw(1, {**ACT, "about": {**ACT["about"], "reverses": (9 << 20) + 2}})[1]
    )


def test_what_the_card_does_not_know_cannot_be_approved_in_slack():
    _, blocks = draw(1, {**ACT, "about": {**ACT["about"], "side_effects": ["burns the house"]}})
    assert [one["text"]["text"] for one in blocks[-1]["elements"]] == ["Reject…"]
    assert "does not show everything" in words(blocks)


@pytest.mark.parametrize("state", sorted(set(HEADS) - {"requested"}))
def test_the_card_of_an_ended_approval_has_no_buttons_and_shows_the_end(state):
    votes = [{"voter": "ben", "decision": "reject", "reason": "no"}]
    ended = {**ACT, "state_code": state, "decided_by": "ben", "decided_epoch": 1_700_000_000, "votes": votes}
    text, blocks = draw(1, ended)
    assert "actions" not in [block["type"] for block in blocks]
    assert HEADS[state] in text
    assert "*Ended by*\\nben" in words(blocks)
    assert "*ben* rejected: no" in words(blocks)


texts = st.text(max_size=5_000) | st.sampled_from(["<!channel>", "&" * 3_000, "```" * 999, "<@U1>" * 700, ""])
values = st.recursive(
    texts | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@sample(60)
@given(
    approval=st.fixed_dictionaries(
        {
            "approval_id": st.integers(1, 2**62),
            "state_code": st.sampled_from(sorted(HEADS)),
            "action": texts,
            "requested_by": texts,
            "acting": texts | st.none(),
            "reason": texts | st.none(),
            "tier": st.integers(0, 9),
            "quorum": st.integers(1, 2),
            "approve_count": st.integers(0, 2),
            "run_id": st.integers(1, 2**40),
            "workflow": texts | st.none(),
            "subject": texts | st.none(),
            "decided_by": texts | st.none(),
            "expires_epoch": st.integers(0, 4_000_000_000) | st.none(),
            "decided_epoch": st.none(),
            "approvers": st.lists(texts, max_size=50) | st.none(),
            "approver_role": texts | st.none(),
            "shown_digest": st.just("cd" * 32),
            "votes": st.lists(
                st.fixed_dictionaries({"voter": texts, "decision": texts, "reason": texts}), max_size=20
            ),
            "about": st.none()
            | st.fixed_dictionaries(
                {"connector": texts, "operation": texts, "target": texts, "fields": values, "rule": texts}
            ),
        }
    ),
    has_buttons=st.booleans(),
)
def test_slack_accepts_every_card_and_no_text_mentions_a_user(approval, has_buttons):
    text, blocks = draw(1, approval, has_buttons=has_buttons)
    assert block_problems(blocks) == []
    assert text
    shown = words(blocks) + text
    assert "<!channel" not in shown
    assert "<@" not in shown


@pytest.mark.parametrize(
    "padded",
    [
        {"reason": "x" * 2_601},
        {"requested_by": "x" * 301},
        {"approvers": ["x" * 301]},
        {"about": {**ACT["about"], "fields": {"a": "x" * 2_900, "amount": 1_000_000}}},
        {"about": {**ACT["about"], "fields": {"a": "&" * 700, "amount": 1_000_000}}},
        {"about": {**ACT["about"], "target": "/" + "x" * 300}},
        {"about": {"kind": "policy", "diff": {"added": [{"name": "x" * 2_900}]}}},
        {"about": {"kind": "replay", "letters": 1, "effects": [{"target": "x" * 2_900}]}},
    ],
    ids=lambda padded: next(iter(padded)),
)
def test_what_is_too_long_to_be_shown_cannot_be_approved_in_slack(padded):
    _, blocks = draw(1, {**ACT, **padded})
    (actions,) = [block for block in blocks if block["type"] == "actions"]
    assert [one["text"]["text"] for one in actions["elements"]] == ["Reject…"]
    assert "does not show everything" in words(blocks)
    assert block_problems(blocks) == []


def test_a_card_with_the_longest_texts_is_accepted():
    long = "&" * 5_000
    about = dict.fromkeys(("connector", "operation", "target", "rule"), long)
    people = dict.fromkeys(("requested_by", "acting", "reason", "workflow", "subject", "approver_role"), long)
    _, blocks = draw(1, {**ACT, **people, "about": {**about, "fields": {long: long}, "diff": {long: long}}})
    assert block_problems(blocks) == []


def test_the_dialog_requires_a_reason_and_holds_the_id_of_its_approval():
    view = reason_dialog(1, 7, "ab" * 32, "C0AAAA")
    assert block_problems(view["blocks"]) == []
    place = {"tenant_id": 1, "approval_id": 7, "shown_digest": "ab" * 32, "channel": "C0AAAA"}
    assert json.loads(view["private_metadata"]) == place
    assert view["blocks"][1].get("optional") is None, "the reason must be required"
