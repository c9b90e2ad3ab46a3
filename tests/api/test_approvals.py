"""Approvals over HTTP: listed, shown, and decided by the same rules as everywhere else."""

from __future__ import annotations

import httpx
import psycopg
import pytest
from starlette.requests import Request

from stepwell.api import approvals
from stepwell.errors import PermissionDenied
from tests.sql.drive import Engine, human


@pytest.fixture
def approval(db: psycopg.Connection) -> int:
    engine = Engine(db)
    engine.publish("w", human("sign", role="office"))
    for name, role in (("ada", "office"), ("ben", "lead")):
        db.execute("select fn_person_set(1, %s, array[%s])", (name, role))
    run_id = engine.start("w")
    found: int = engine.one(
        "select fn_approval_request(1, 'reopen', %s, 'ada', 'a wrong number')", (engine.unit(run_id, "sign"),)
    )
    return found


def test_a_reviewer_decides_and_the_requester_does_not(api: httpx.Client, approval: int):
    (listed,) = api.get("/api/v1/approvals", params={"state": "requested"}).json()
    assert (listed["approval_id"], listed["requested_by"], listed["action"]) == (
        str(approval),
        "ada",
        "reopen",
    )
    path = f"/api/v1/approvals/{approval}/decisions"
    own = api.post(path, json={"decision": "approve", "person": "ada"})
    assert (own.status_code, own.json()["type"]) == (403, "urn:stepwell:problem:permission-denied")
    granted = api.post(path, json={"decision": "approve", "person": "ben", "reason": "seen"}).json()
    assert (granted["state_code"], granted["decided_by"]) == ("approved", "ben")
    again = api.post(path, json={"decision": "reject", "person": "eve"})
    assert again.status_code == 409
    shown = api.get(f"/api/v1/approvals/{approval}").json()
    assert [(vote["voter"], vote["decision"]) for vote in shown["votes"]] == [("ben", "approve")]
    assert api.get("/api/v1/approvals", params={"state": "requested"}).json() == []


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"decision": "perhaps", "person": "ben"}, 422, "body.decision"),
        ({"decision": "approve"}, 422, "body.person"),
        ({"decision": "approve", "person": ""}, 422, "body.person"),
    ],
)
def test_a_bad_word_names_its_field(api: httpx.Client, approval: int, body, status, field):
    answer = api.post(f"/api/v1/approvals/{approval}/decisions", json=body)
    assert answer.status_code == status
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_what_does_not_exist_is_said(api: httpx.Client, approval: int):
    assert api.get("/api/v1/approvals/999999").status_code == 404
    missing = api.post("/api/v1/approvals/999999/decisions", json={"decision": "approve", "person": "ben"})
    assert missing.status_code == 404
    assert api.get("/api/v1/approvals", params={"state": "open"}).status_code == 422


@pytest.mark.parametrize("host", ["192.0.2.7", "2001:db8::7", ""])
def test_another_machine_decides_nothing_over_http(host: str):
    request = Request({"type": "http", "client": (host, 1), "headers": []})
    with pytest.raises(PermissionDenied, match="from this machine only"):
        approvals._from_this_machine(request)
