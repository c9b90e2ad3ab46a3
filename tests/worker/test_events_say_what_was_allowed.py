"""The events of approvals, votes, verdicts and receipts have all that their rows say, except values."""

from __future__ import annotations

from typing import Any

import psycopg

import stepwell as sw
from stepwell.govern.verify import commitment, salt_of
from tests.support.wait import until_async
from tests.worker.acting import open_approval, put_in_force, rule, state_of

CANARY = "CANARY-88d1-secret"


def payloads(db: psycopg.Connection[Any], *event_types: str) -> list[dict[str, Any]]:
    query = "select payload from event_log where event_type = any (%s) order by tx, event_id"
    rows = db.execute(query, (list(event_types),)).fetchall()
    return [payload for (payload,) in rows]


def shown(db: psycopg.Connection[Any], label: str, text: str) -> dict[str, Any]:
    """A value as an event shows it: its size, and its hash with the salt of the chain."""
    row = db.execute("select salt from audit_chain where tenant_id = 1").fetchone()
    assert row is not None
    return {"size": len(text.encode()), "commitment": commitment(salt_of(row[0], label), text)}


def test_the_log_has_all_facts_of_an_action_and_no_value(app, play, db, ledger, acts):
    put_in_force(db, rule("ask", "needs_approval", two_person=True, tier="high", approvers=["ben", "cleo"]))

    async def scenario():
        async with sw.Worker(app, slots=1):
            run = await acts({"target": "B", "fields": {"amount": 900, "note": CANARY}})
            await until_async(lambda: state_of(db) == "waiting")
            for voter in ("ben", "cleo"):
                await app.acting_as(voter).approval_decide(
                    await app.approval(open_approval(db)), "approve", voter, reason="within the budget"
                )
            await run.result()

    play(scenario)
    approval = db.execute(
        "select approval_id, subject_unit_id, about::text, to_jsonb(a) - 'about' from approval_detail as a"
        " where action = 'act'"
    ).fetchone()
    assert approval is not None
    approval_id, subject, about, facts = approval
    (asked,) = [found for found in payloads(db, "approval.requested") if found["action"] == "act"]
    assert asked["about"] == shown(db, f"approval:{approval_id}:about", about)
    same = ("action", "subject_unit_id", "tier", "quorum", "acting", "approvers", "reason")
    assert {name: asked[name] for name in same} == {name: facts[name] for name in same}
    assert asked["expires_at"].endswith("Z")
    opened = db.execute(
        "select unit_id, payload from event_log where event_type = 'approval.opened'"
    ).fetchall()
    assert (subject, {"approval_id": approval_id, "action": "act"}) in opened
    votes = [(found["voter"], found["decision"]) for found in payloads(db, "approval.vote_recorded")]
    assert votes == [("ben", "approve"), ("cleo", "approve")]
    verdicts = db.execute(
        "select verdict_id, lease_no, tier, two_person from policy_verdict order by verdict_id"
    ).fetchall()
    judged = payloads(db, "action.judged")
    assert [
        (found["verdict_id"], found["attempt"], found["tier"], found["two_person"]) for found in judged
    ] == verdicts
    receipt = db.execute(
        "select receipt_id, request_metadata::text, response_metadata::text, prior::text, reversal::text,"
        " to_jsonb(r) from action_receipt as r"
    ).fetchone()
    assert receipt is not None
    receipt_id, request, response, prior, reversal, facts = receipt
    assert [found.get("receipt_id") for found in judged] == [None, receipt_id]
    (intended,), (confirmed,) = payloads(db, "receipt.intended"), payloads(db, "receipt.confirmed")
    settled = ("external_id", "provider", "model", "input_tokens", "output_tokens", "cost_micros", "currency")
    for found, names in (
        (intended, ("idempotency_key", "unit_id", "step_id", "connector", "operation", "target",
            "action_hash", "writes", "reversible", "verdict_id", "approval_id", "requested_by", "acting")),
        (confirmed, (*settled, "reversible")),
    ):  # fmt: skip
        assert {name: found[name] for name in names} == {name: facts[name] for name in names}
    parts = {"request": request, "response": response, "prior": prior, "reversal": reversal}
    for part, text in parts.items():
        found = (intended if part == "request" else confirmed)[part]
        assert found == shown(db, f"receipt:{receipt_id}:{part}", text)
    told = db.execute("select string_agg(payload::text, '') from event_log").fetchone()
    assert told is not None
    assert CANARY not in told[0]
