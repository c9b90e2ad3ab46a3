"""Why a unit stands still, and how a run was, over HTTP."""

from __future__ import annotations

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine, operation


@pytest.fixture
def run_id(db: psycopg.Connection) -> int:
    engine = Engine(db)
    engine.publish("line", operation("a"), operation("b"))
    return engine.start("line")


def test_a_step_says_what_it_waits_for(api: httpx.Client, run_id: int):
    found = api.get(f"/api/v1/units/{(run_id << 20) + 2}/why-not-running").json()
    assert found["code"] == "dependency"
    assert "a" in found["sentence_en"]
    assert found["sentence_vi"]


@pytest.mark.requirement("RX-11")
def test_a_run_is_shown_as_it_was(api: httpx.Client, run_id: int):
    before = api.get(f"/api/v1/runs/{run_id}/then", params={"at": "2020-01-01T00:00:00+00:00"}).json()
    assert {unit["name"]: unit["state_code"] for unit in before["units"]} == {
        "run": "not_started", "a": "not_started", "b": "not_started",
    }  # fmt: skip
    now = api.get(f"/api/v1/runs/{run_id}/then", params={"at": "9999999"}).json()
    assert {unit["name"]: unit["state_code"] for unit in now["units"]}["a"] == "ready"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/runs/1/then", 422),
        ("/runs/1/then?at=yesterday", 422),
        ("/runs/999/then?at=1", 404),
        ("/units/999/why-not-running", 404),
        ("/units/0/why-not-running", 422),
    ],
)
def test_bad_questions_get_a_problem(api: httpx.Client, run_id: int, path: str, status: int):
    answer = api.get(f"/api/v1{path}")
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("application/problem+json")
