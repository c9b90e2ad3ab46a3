"""Approvals over HTTP: listed, shown, and decided by the same rules as in Python."""

from __future__ import annotations

from pathlib import Path

import httpx
import psycopg
import pytest
from starlette.requests import Request

from stepwell.api import approvals
from stepwell.api.app import create_app
from stepwell.config import Settings
from stepwell.errors import PermissionDenied
from tests.api.serving import serving
from tests.sql.drive import Engine, human
from tests.support.roles import as_process
from tests.worker.acting import put_in_force, rule


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


def decided(api: httpx.Client, approval: int, **words: str) -> httpx.Response:
    """Reads the approval and decides what is shown."""
    shown = api.get(f"/api/v1/approvals/{approval}").json().get("shown_digest", "0" * 64)
    return api.post(f"/api/v1/approvals/{approval}/decisions", json={"shown_digest": shown, **words})


def test_a_reviewer_can_decide_and_the_requester_cannot(api: httpx.Client, approval: int):
    (listed,) = api.get("/api/v1/approvals", params={"state": "requested"}).json()
    assert (listed["approval_id"], listed["requested_by"], listed["action"]) == (
        str(approval),
        "ada",
        "reopen",
    )
    own = decided(api, approval, decision="approve", person="ada")
    assert (own.status_code, own.json()["type"]) == (403, "urn:stepwell:problem:permission-denied")
    granted = decided(api, approval, decision="approve", person="ben", reason="seen").json()
    assert (granted["state_code"], granted["decided_by"]) == ("approved", "ben")
    again = decided(api, approval, decision="reject", person="eve")
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
        ({"decision": "approve", "person": "ben", "shown_digest": None}, 422, "body.shown_digest"),
    ],
)
def test_the_error_for_a_wrong_decision_names_its_field(
    api: httpx.Client, approval: int, body, status, field
):
    path = f"/api/v1/approvals/{approval}/decisions"
    answer = api.post(path, json={"shown_digest": "0" * 64} | body)
    assert answer.status_code == status
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_a_rejection_needs_a_reason(api: httpx.Client, approval: int):
    silent = decided(api, approval, decision="reject", person="ben")
    assert (silent.status_code, silent.json()["field"]) == (422, "reason"), silent.json()
    said = decided(api, approval, decision="reject", person="ben", reason="the wrong year").json()
    assert (said["state_code"], said["votes"][0]["reason"]) == ("rejected", "the wrong year")


def test_an_unknown_approval_or_state_is_an_error(api: httpx.Client, approval: int):
    assert api.get("/api/v1/approvals/999999").status_code == 404
    missing = decided(api, 999999, decision="approve", person="ben")
    assert missing.status_code == 404
    assert api.get("/api/v1/approvals", params={"state": "open"}).status_code == 422


def test_an_approval_names_its_subject_and_the_presentation_of_its_state(api: httpx.Client, approval: int):
    shown = api.get(f"/api/v1/approvals/{approval}").json()
    assert shown["subject"] == {"scope": "step", "name": "sign", "workflow": "w"}
    assert shown["state"] == {
        "label_en": "Requested",
        "label_vi": "Chờ duyệt",
        "color_token": "ui.traffic_light.yellow",
        "icon_token": "icon.hourglass",
    }
    (listed,) = api.get("/api/v1/approvals").json()
    assert listed == shown


def test_the_subject_of_an_approval_can_be_a_run_a_job_or_a_policy(api: httpx.Client, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish("w", human("sign", role="office"))
    run_id = engine.start("w")
    (job_id,) = engine.enqueue("mail.send")
    for unit_id in (run_id << 20, job_id):
        engine.one("select fn_approval_request(1, 'stop', %s, 'ada')", (unit_id,))
    put_in_force(db, rule("free", "allow"))
    policy, job, run = (one["subject"] for one in api.get("/api/v1/approvals").json())
    assert run == {"scope": "workflow_run", "name": None, "workflow": "w"}
    assert job == {"scope": "job", "name": "mail.send", "workflow": None}
    assert policy == {"scope": "proposal", "name": None, "workflow": None}


def test_a_page_of_another_origin_cannot_decide(api: httpx.Client, approval: int):
    """A page of another origin cannot send JSON without a CORS check, and the check refuses it."""
    path = f"/api/v1/approvals/{approval}/decisions"
    body = b'{"decision": "approve", "person": "ben", "shown_digest": "%s"}' % (b"0" * 64)
    for headers in (
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {},
    ):
        assert api.post(path, content=body, headers=headers).status_code == 422
    asked = {"Origin": "http://elsewhere.example", "Access-Control-Request-Method": "POST"}
    answer = api.options(path, headers=asked)
    assert "access-control-allow-origin" not in answer.headers
    assert api.get(f"/api/v1/approvals/{approval}").json()["votes"] == []


@pytest.mark.parametrize("host", ["192.0.2.7", "2001:db8::7", ""])
def test_another_machine_cannot_decide_over_http(host: str):
    request = Request({"type": "http", "client": (host, 1), "headers": []})
    with pytest.raises(PermissionDenied, match="only from this machine"):
        approvals._from_this_machine(request)


def test_a_token_says_who_decides(dsn: str, db: psycopg.Connection, approval: int, tmp_path: Path):
    """With the role of the API nobody is believed: the token of the request binds each transaction."""
    path = f"/api/v1/approvals/{approval}/decisions"
    token = db.execute("select token from fn_token_create(1, 'ben', 'test', 3600)").fetchone()
    assert token is not None
    bearer = {"Authorization": f"Bearer {token[0]}"}
    address = as_process(dsn, "api")
    with serving(create_app(Settings(database_url=address, data_dir=tmp_path), address)) as client:
        unbound = client.get("/api/v1/approvals")
        assert (unbound.status_code, "bound to no tenant" in unbound.text) == (403, True)
        assert client.get("/api/v1/approvals", headers={"Authorization": "Bearer sw_no"}).status_code == 403
        (listed,) = client.get("/api/v1/approvals", headers=bearer).json()
        assert listed["approval_id"] == str(approval)
        body = {"decision": "approve", "shown_digest": listed["shown_digest"]}
        posing = client.post(path, json={**body, "person": "ada"}, headers=bearer)
        assert (posing.status_code, "cannot act as ada" in posing.text) == (403, True)
        granted = client.post(path, json={**body, "person": "ben"}, headers=bearer)
        assert granted.json()["decided_by"] == "ben"
