"""What a caller may do now, over HTTP: in the snapshot, in the body of a step and as a list of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine, human, operation


@pytest.fixture
def step(db: psycopg.Connection) -> int:
    engine = Engine(db)
    db.execute("select fn_person_set(1, 'ada', array['office'])")
    engine.publish("w", human("sign", role="office"), operation("after"))
    return engine.unit(engine.start("w"), "sign")


def allowed(actions: list[dict[str, Any]]) -> set[str]:
    return {one["action"] for one in actions if one["allowed"]}


def test_the_calls_that_are_allowed_are_accepted_at_the_path_that_is_named(
    http: httpx.Client, token: Callable[..., str], step: int
):
    ada = {"Authorization": f"Bearer {token('ada', 'person', ['office'])}"}
    zed = {"Authorization": f"Bearer {token('zed', 'person', None)}"}
    body = f"/api/v1/runs/{step >> 20}/steps/1"
    assert allowed(http.get(body, headers=ada).json()["actions"]) == {"claim", "comment"}
    found = http.get(f"/api/v1/units/{step}/actions", headers=zed).json()
    assert allowed(found) == set()
    claim = next(one for one in found if one["action"] == "claim")
    assert (claim["reason"]["kind"], "office" in claim["reason"]["en"]) == ("person", True)

    listed = http.get(f"/api/v1/units/{step}/actions", headers=ada).json()
    path = next(one["path"] for one in listed if one["action"] == "claim")
    answer = http.post(f"/api/v1{path}", headers=ada)
    assert answer.status_code == 200
    assert "complete" in allowed(http.get(body, headers=ada).json()["actions"])


def test_the_actions_of_a_run_are_those_of_the_caller(
    http: httpx.Client, token: Callable[..., str], step: int
):
    run = f"/api/v1/runs/{step >> 20}"
    ada = {"Authorization": f"Bearer {token('ada', 'person', ['office'])}"}
    olga = {"Authorization": f"Bearer {token('olga', 'person', ['operator'])}"}
    assert allowed(http.get(f"{run}/snapshot", headers=ada).json()["actions"]) == {"signal"}
    found = http.get(f"{run}/snapshot", headers=olga).json()["actions"]
    assert found == http.get(f"{run}/actions", headers=olga).json()
    assert {"pause", "label", "signal"} <= allowed(found)
    assert http.post(f"{run}/pause", headers=olga).status_code == 200
    assert "resume" in allowed(http.get(f"{run}/actions", headers=olga).json())


def test_an_approval_is_requested_and_withdrawn(api: httpx.Client, step: int):
    asked = {"action": "reopen", "unit_id": step, "reason": "wrong invoice", "role": "reviewer"}
    made = api.post("/api/v1/approvals", json=asked)
    assert (made.status_code, made.json()["state_code"]) == (201, "requested"), made.text
    path = f"/api/v1/approvals/{made.json()['approval_id']}/withdraw"
    assert api.post(path, json={"reason": "no need"}).json()["state_code"] == "cancelled"
    refused = api.post("/api/v1/approvals", json={**asked, "action": "Not A Name"})
    assert (refused.status_code, refused.json()["field"]) == (422, "action")
    missing = api.post("/api/v1/approvals", json={**asked, "unit_id": 99 << 20})
    assert missing.status_code == 404
