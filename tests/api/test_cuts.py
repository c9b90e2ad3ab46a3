"""A failed cut of content is tried again or given up over HTTP, and its problem closes."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine

OPEN = "select count(*) from governance_problem where category_code = 'failed_cut' and closed_at is null"


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


def write(engine: Engine, body: str) -> None:
    engine.one("select version_no from fn_content_write(1, 'guide', %s, 'ada')", (body,))


def failed_cut(engine: Engine) -> str:
    """The parts are not the text of the content."""
    write(engine, "one two")
    parts = Jsonb([{"code": "guide.a", "body": "one"}, {"code": "guide.b", "body": " three"}])
    made = engine.one("select fn_iu_op_split(1, 'guide', %s, 'ada')", (parts,))
    assert made["state_code"] == "failed"
    return str(made["cut_request_id"])


def test_a_failed_cut_is_tried_again_after_its_cause_is_mended(api: httpx.Client, engine: Engine):
    cut = failed_cut(engine)
    path = f"/api/v1/cuts/{cut}/retry"
    again = api.post(path, headers={"Idempotency-Key": "first"})
    assert again.status_code == 200, again.text
    assert (again.json()["state_code"], again.json()["attempt_count"]) == ("failed", 2)
    assert "not the text of content guide" in again.json()["reason"]
    assert engine.one(OPEN) == 1
    # The same request again is answered, not done again.
    assert api.post(path, headers={"Idempotency-Key": "first"}).json()["attempt_count"] == 2
    assert engine.one("select attempt_count from cut_request_detail") == 2
    write(engine, "one three")
    done = api.post(path).json()
    assert (done["state_code"], done["sources"], done["targets"]) == (
        "completed", ["guide"], ["guide.a", "guide.b"],
    )  # fmt: skip
    assert done["cut_request_id"] == cut
    assert engine.one(OPEN) == 0
    late = api.post(path)
    assert (late.status_code, "is completed" in late.json()["detail"]) == (409, True)


def test_a_failed_cut_is_given_up_with_a_reason(api: httpx.Client, engine: Engine):
    cut = failed_cut(engine)
    path = f"/api/v1/cuts/{cut}/cancel"
    refused = api.post(path, json={})
    assert (refused.status_code, refused.json()["field"]) == (422, "body.reason")
    done = api.post(path, json={"reason": "the parts were a slip"})
    assert (done.status_code, done.json()["state_code"]) == (200, "cancelled"), done.text
    assert engine.one("select reason from v_governance_problem") is not None
    assert engine.one(OPEN) == 0
    assert engine.one("select count(*) from information_unit") == 1
    assert api.post(path, json={"reason": "again"}).status_code == 409
    assert api.post("/api/v1/cuts/99/cancel", json={"reason": "r"}).status_code == 404


@pytest.mark.parametrize(("role", "status"), [("operator", 200), ("reviewer", 403), ("publisher", 200)])
def test_only_who_publishes_may_decide_about_a_cut(
    http: httpx.Client, token: Callable[..., str], engine: Engine, role: str, status: int
):
    cut = failed_cut(engine)
    bearer = {"Authorization": f"Bearer {token('somebody', 'person', role)}"}
    assert http.post(f"/api/v1/cuts/{cut}/retry", headers=bearer).status_code == status
    answer = http.post(f"/api/v1/cuts/{cut}/cancel", json={"reason": "r"}, headers=bearer)
    assert answer.status_code == status
