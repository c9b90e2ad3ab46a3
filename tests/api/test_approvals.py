"""Approvals over HTTP: listed, shown, and decided by the same rules as in Python."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine, human
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


@pytest.fixture
def acting(http: httpx.Client, token: Callable[..., str], approval: int) -> Callable[[str], dict[str, str]]:
    """The headers of a person."""
    roles = {"ada": ("office",), "ben": ("lead",), "eve": ("office",)}
    return lambda name: {"Authorization": f"Bearer {token(name, 'person', *roles[name])}"}


def decided(http: httpx.Client, approval: int, headers: dict[str, str], **words: str) -> httpx.Response:
    """Reads the approval and decides what is shown."""
    shown = http.get(f"/api/v1/approvals/{approval}", headers=headers).json()
    body = {"shown_digest": shown.get("shown_digest", "0" * 64), **words}
    return http.post(f"/api/v1/approvals/{approval}/decisions", json=body, headers=headers)


def test_a_reviewer_can_decide_and_the_requester_cannot(http: httpx.Client, approval: int, acting):
    ada, ben, eve = acting("ada"), acting("ben"), acting("eve")
    page = http.get("/api/v1/approvals", params={"state": "requested"}, headers=ada).json()
    (listed,) = page["items"]
    assert (listed["approval_id"], listed["requested_by"], listed["action"], page["next"]) == (
        str(approval),
        "ada",
        "reopen",
        None,
    )
    own = decided(http, approval, ada, decision="approve")
    assert (own.status_code, own.json()["type"]) == (403, "urn:stepwell:problem:permission-denied")
    granted = decided(http, approval, ben, decision="approve", reason="seen").json()
    assert (granted["state_code"], granted["decided_by"]) == ("approved", "api:ben")
    again = decided(http, approval, eve, decision="reject", reason="late")
    assert again.status_code == 409
    shown = http.get(f"/api/v1/approvals/{approval}", headers=ada).json()
    assert [(vote["voter"], vote["decision"]) for vote in shown["votes"]] == [("ben", "approve")]
    left = http.get("/api/v1/approvals", params={"state": "requested"}, headers=ada).json()
    assert left == {"items": [], "next": None}


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"decision": "perhaps"}, 422, "body.decision"),
        ({}, 422, "body.decision"),
        ({"decision": "approve", "shown_digest": None}, 422, "body.shown_digest"),
        ({"decision": "approve", "reason": "x" * 2001}, 422, "body.reason"),
    ],
)
def test_the_error_for_a_wrong_decision_names_its_field(
    api: httpx.Client, approval: int, body, status, field
):
    path = f"/api/v1/approvals/{approval}/decisions"
    answer = api.post(path, json={"shown_digest": "0" * 64} | body)
    assert answer.status_code == status
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_a_rejection_needs_a_reason(http: httpx.Client, approval: int, acting):
    ben = acting("ben")
    silent = decided(http, approval, ben, decision="reject")
    assert (silent.status_code, silent.json()["field"]) == (422, "reason"), silent.json()
    said = decided(http, approval, ben, decision="reject", reason="the wrong year").json()
    assert (said["state_code"], said["votes"][0]["reason"]) == ("rejected", "the wrong year")


def test_an_unknown_approval_or_state_is_an_error(http: httpx.Client, approval: int, acting):
    ben = acting("ben")
    assert http.get("/api/v1/approvals/999999", headers=ben).status_code == 404
    assert decided(http, 999999, ben, decision="approve").status_code == 404
    assert http.get("/api/v1/approvals", params={"state": "open"}, headers=ben).status_code == 422


def test_approvals_are_read_page_by_page(api: httpx.Client, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish("w", human("sign", role="office"))
    db.execute("select fn_person_set(1, 'ada', array['office'])")
    asked = [
        engine.one("select fn_approval_request(1, 'stop', %s, 'ada')", (engine.start("w") << 20,))
        for _ in range(5)
    ]
    found, cursor = [], None
    while True:
        given = {"limit": 2} | ({} if cursor is None else {"cursor": cursor})
        page = api.get("/api/v1/approvals", params=given).json()
        found += [int(one["approval_id"]) for one in page["items"]]
        assert len(page["items"]) <= 2
        if (cursor := page["next"]) is None:
            break
    assert found == sorted(asked, reverse=True)
    for wrong in ("bm9uc2Vuc2U", "WyJydW5zIiwxXQ", "WyJhcHByb3ZhbHMiLCJ4Il0"):
        refused = api.get("/api/v1/approvals", params={"cursor": wrong})
        assert (refused.status_code, refused.json()["field"]) == (422, "query.cursor")


def test_an_approval_names_its_subject_and_the_presentation_of_its_state(api: httpx.Client, approval: int):
    shown = api.get(f"/api/v1/approvals/{approval}").json()
    assert shown["subject"] == {"scope": "step", "name": "sign", "workflow": "w"}
    assert shown["state"] == {
        "label_en": "Requested",
        "label_vi": "Chờ duyệt",
        "color_token": "ui.traffic_light.yellow",
        "icon_token": "icon.hourglass",
    }
    (listed,) = api.get("/api/v1/approvals").json()["items"]
    assert listed == shown


def test_the_subject_of_an_approval_can_be_a_run_a_job_or_a_policy(api: httpx.Client, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish("w", human("sign", role="office"))
    run_id = engine.start("w")
    (job_id,) = engine.enqueue("mail.send")
    for unit_id in (run_id << 20, job_id):
        engine.one("select fn_approval_request(1, 'stop', %s, 'ada')", (unit_id,))
    put_in_force(db, rule("free", "allow"))
    policy, job, run = (one["subject"] for one in api.get("/api/v1/approvals").json()["items"])
    assert run == {"scope": "workflow_run", "name": None, "workflow": "w"}
    assert job == {"scope": "job", "name": "mail.send", "workflow": None}
    assert policy == {"scope": "proposal", "name": None, "workflow": None}


def test_a_page_of_another_origin_cannot_decide(api: httpx.Client, approval: int):
    """A page of another origin cannot send JSON without a CORS check, and the check refuses it."""
    path = f"/api/v1/approvals/{approval}/decisions"
    body = b'{"decision": "approve", "shown_digest": "%s"}' % (b"0" * 64)
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


def test_who_may_not_see_what_an_approval_shows_still_reads_the_list(
    http: httpx.Client, db: psycopg.Connection, approval: int, acting
):
    db.execute(
        "select fn_approval_request(1, 'reopen', subject_unit_id, 'ada', 'again', p_role => 'lead')"
        " from v_approval where approval_id = %s",
        (approval,),
    )
    db.execute("delete from permission where verb = 'payload.read' and role_name = 'everybody'")
    eve, ben = (
        {
            one["reason"]: one["shown_digest"]
            for one in http.get("/api/v1/approvals", headers=who).json()["items"]
        }
        for who in (acting("eve"), acting("ben"))
    )
    assert eve["again"] is None
    assert ben["again"] is not None
