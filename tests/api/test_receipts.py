"""Receipts of real effects over HTTP: listed in pages, settled by hand, reversed."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation
from tests.worker.acting import put_in_force, rule

EFFECT = {
    "result": {"status": 201}, "external_id": "ext-1", "prior": {"sum": 0},
    "reversal": {"operation": "refund", "target": "https://pay.example/refunds", "fields": {"sum": 9}},
}  # fmt: skip


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    put_in_force(db, rule("small sums", "allow", reason="within the limit"))
    engine = Engine(db)
    engine.publish("order", operation("charge"))
    return engine


def acted(engine: Engine, outcome: str, effect: dict[str, Any] | None = None) -> tuple[int, int]:
    """A run whose step charged a card, and the receipt; its worker told the outcome."""
    run_id = engine.start("order")
    worker = engine.worker()
    (lease,) = engine.claim(worker, 1)
    action = {
        "connector": "http", "operation": "post", "target": "https://pay.example/charges",
        "call": "http.post#1", "fields": {"amount": 105}, "reversible": True,
    }  # fmt: skip
    call = (worker, lease.unit_id, lease.lease_no)
    proposed = engine.one("select fn_action_propose(%s, 1, %s, %s, %s)", (*call, Jsonb(action)))
    receipt = int(proposed["receipt_id"])
    told = None if effect is None else Jsonb(effect)
    engine.one("select fn_action_settle(%s, 1, %s, %s, %s, %s, %s)", (*call, receipt, outcome, told))
    if outcome == "confirmed":
        engine.complete(worker, lease)
    return run_id, receipt


def got(api: httpx.Client, path: str, **params: Any) -> Any:
    answer = api.get(f"/api/v1{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_receipts_are_listed_in_pages_and_by_run_and_state(api: httpx.Client, engine: Engine):
    made = [acted(engine, "confirmed", EFFECT) for _ in range(3)]
    run_id, receipt = made[0]
    page = got(api, "/receipts", limit=2)
    rest = got(api, "/receipts", limit=2, cursor=page["next"])
    newest = [str(one) for _, one in reversed(made)]
    assert [one["receipt_id"] for one in page["items"] + rest["items"]] == newest
    assert rest["next"] is None
    (listed,) = got(api, "/receipts", run=run_id, state="confirmed")["items"]
    assert got(api, "/receipts", run=run_id, state="void")["items"] == []
    assert listed == got(api, f"/receipts/{receipt}")
    assert (listed["connector"], listed["operation"], listed["external_id"]) == ("http", "post", "ext-1")
    assert (listed["rule_name"], listed["policy_reason"]) == ("small sums", "within the limit")
    assert listed["reversible"] is True


def test_a_confirmed_effect_is_reversed_by_a_job(api: httpx.Client, engine: Engine):
    _, receipt = acted(engine, "confirmed", EFFECT)
    answer = api.post(f"/api/v1/receipts/{receipt}/reverse", json={"reason": "the wrong card"})
    assert answer.status_code == 202, answer.text
    job = got(api, f"/jobs/{answer.json()['job_id']}")
    assert (job["state_code"], job["scope"]) == ("ready", "job")
    again = api.post(f"/api/v1/receipts/{receipt}/reverse", json={"reason": "the wrong card"})
    assert (again.status_code, again.json()) == (202, answer.json()), "one effect is reversed once"
    assert engine.faults() == {}


@pytest.mark.parametrize("outcome", ["confirmed", "void"])
def test_an_effect_in_doubt_is_settled_by_hand_once(api: httpx.Client, engine: Engine, outcome: str):
    _, receipt = acted(engine, "unconfirmed")
    (doubtful,) = got(api, "/receipts", state="unconfirmed")["items"]
    assert doubtful["receipt_id"] == str(receipt)
    if outcome == "confirmed":
        bare = api.post(f"/api/v1/receipts/{receipt}/settle", json={"outcome": outcome, "reason": "I looked"})
        assert (bare.status_code, bare.json()["field"]) == (422, "result"), bare.text
    body = {"outcome": outcome, "reason": "I looked"} | ({"result": 7} if outcome == "confirmed" else {})
    settled = api.post(f"/api/v1/receipts/{receipt}/settle", json=body)
    assert settled.status_code == 200, settled.text
    assert (settled.json()["state_code"], settled.json()["settled_by"]) == (outcome, "api:billing")
    assert settled.json()["settled_at"] is not None
    other = {"outcome": "void"} if outcome == "confirmed" else {"outcome": "confirmed", "result": 1}
    changed = api.post(f"/api/v1/receipts/{receipt}/settle", json={**other, "reason": "no"})
    assert changed.status_code == 409, changed.text
    assert engine.faults() == {}
