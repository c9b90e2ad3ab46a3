"""Incident holds over HTTP: previewed, opened once, released by shares, proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from stepwell.govern import hold_evidence
from tests.sql.drive import Engine, operation


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    made.publish("w", operation("post"))
    for _ in range(4):
        made.start("w")
    return made


WISH = {"scope_kind": "operation", "scope_value": "post", "reason": "SAP period closed"}


def got(api: httpx.Client, path: str, **params: Any) -> Any:
    answer = api.get(f"/api/v1{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_hold_is_previewed_opened_graded_released_and_proved(api: httpx.Client, engine: Engine):
    reach = got(api, "/holds/reach", scope_kind="operation", scope_value="post")
    assert (reach["steps"], reach["runs"], reach["operations"]) == (4, 4, ["post"])
    answer = api.post("/api/v1/holds", json=WISH)
    assert answer.status_code == 201, answer.text
    hold = answer.json()["hold_id"]
    assert api.post("/api/v1/holds", json=WISH).json() == {"hold_id": hold, "is_new": False}
    (listed,) = got(api, "/holds")["items"]
    assert (listed["hold_id"], listed["hold_state"], listed["held_count"]) == (hold, "open", 4)
    assert engine.claim(engine.worker()) == []
    # Refused with the field and what is accepted.
    wrong = api.post(f"/api/v1/holds/{hold}/release", json={"share": 20, "reason": "r"})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "body.share")
    for share in (10, 50, 100):
        answer = api.post(f"/api/v1/holds/{hold}/release", json={"share": share, "reason": "open again"})
        assert answer.json()["share"] == share, answer.text
    less = api.post(f"/api/v1/holds/{hold}/release", json={"share": 10, "reason": "r"})
    assert less.status_code == 409
    assert got(api, "/holds")["items"] == []
    for _ in range(3):
        engine.one("select fn_holds_carry()")
    engine.one("select count(*) from fn_audit_seal(1)")
    engine.one("select fn_holds_carry()")
    shown = got(api, f"/holds/{hold}")
    assert (shown["hold_state"], shown["has_evidence"], shown["outcome"]["clocks"]) == ("ended", True, 0)
    assert len(engine.claim(engine.worker("other"))) == 4
    assert hold_evidence.findings(got(api, f"/holds/{hold}/evidence")) == []
    assert [one["hold_id"] for one in got(api, "/holds", ended=True)["items"]] == [hold]
    for path in ("/holds/99999", "/holds/99999/evidence"):
        assert api.get(f"/api/v1{path}").status_code == 404
    missing = api.post("/api/v1/holds", json={**WISH, "scope_value": "pots"})
    assert (missing.status_code, missing.json()["field"]) == (404, "scope_value")


@pytest.mark.parametrize(
    ("role", "opens", "releases"),
    [("publisher", 403, 403), ("reviewer", 201, 403), ("operator", 201, 200), ("admin", 201, 200)],
)
def test_each_role_may_what_its_verbs_say(
    http: httpx.Client, token: Callable[..., str], engine: Engine, role: str, opens: int, releases: int
):
    bearer = {"Authorization": f"Bearer {token('somebody', 'person', role)}"}
    operator = {"Authorization": f"Bearer {token('boss')}"}
    assert http.post("/api/v1/holds", json=WISH, headers=bearer).status_code == opens
    hold = http.post("/api/v1/holds", json=WISH, headers=operator).json()["hold_id"]
    wish = {"share": 10, "reason": "r"}
    answer = http.post(f"/api/v1/holds/{hold}/release", json=wish, headers=bearer)
    assert answer.status_code == releases
    # Everybody who reads sees what stands still.
    assert http.get("/api/v1/holds", headers=bearer).json()["items"][0]["hold_id"] == hold
