"""The evidence bundle of real actions holds verdicts, approvals, receipts and costs, and no field value."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

import stepwell as sw
from stepwell.govern.verify import verify
from tests.govern.conftest import export_run
from tests.support.wait import until_async
from tests.worker.acting import open_approval, put_in_force, rule, state_of

CANARY = "CANARY-51c2-secret"


@pytest.mark.requirement("RT-10")
def test_a_bundle_holds_verdicts_approvals_receipts_and_costs(app, play, db, dsn, ledger, acts, tmp_path):
    put_in_force(
        db,
        rule("small", "allow", "$.fields.amount < 10", 5),
        rule("ask", "needs_approval", two_person=True, tier="high", approvers=["ben", "cleo"]),
    )

    async def scenario():
        async with sw.Worker(app, slots=1):
            run = await acts(
                {"target": "A", "fields": {"amount": 9, "note": CANARY}},
                {"target": "B", "fields": {"amount": 900, "note": CANARY, "password": CANARY}},
            )
            await until_async(lambda: state_of(db) == "waiting")
            for voter in ("ben", "cleo"):
                await app.acting_as(voter).approval_decide(
                    await app.approval(open_approval(db)), "approve", voter, reason="within the budget"
                )
            await run.result()
            return run.id

    run_id = play(scenario)
    made = export_run(dsn, run_id, tmp_path)
    data = Path(made.url).read_bytes()
    assert verify(data) == []
    assert CANARY.encode() not in data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {
            name: json.loads(archive.read(name)) for name in archive.namelist() if name.endswith(".json")
        }
        events = [json.loads(line) for line in archive.read("events.jsonl").splitlines()]
    assert {(item["target"], item["effect"]) for item in files["decisions.json"]} >= {
        ("A", "allow"),
        ("B", "needs_approval"),
    }
    (approval,) = files["approvals.json"]
    assert [vote["voter"] for vote in approval["votes"]] == ["ben", "cleo"]
    shapes = {value["label"]: value["shape"] for value in files["values.json"]}
    assert "$.fields.amount: number" in shapes[f"approval:{approval['approval_id']}:about"]
    assert [(item["target"], item["state_code"]) for item in files["receipts.json"]] == [
        ("A", "confirmed"),
        ("B", "confirmed"),
    ]
    assert files["costs.json"] == [
        {
            "provider": "ledger", "model": "book-1", "currency": "EUR", "call_count": 2,
            "input_tokens": 6, "output_tokens": 10, "cost_micros": 2400,
        }
    ]  # fmt: skip
    assert {"action.judged", "receipt.confirmed", "approval.approved"} <= {
        event["event_type"] for event in events
    }
