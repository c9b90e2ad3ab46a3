"""The reason why a step does not run, and past states of a run, over HTTP."""

from __future__ import annotations

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine, human, operation, subworkflow


@pytest.fixture
def run_id(db: psycopg.Connection) -> int:
    engine = Engine(db)
    engine.publish("line", operation("a"), operation("b"))
    return engine.start("line")


def test_the_reason_of_a_step_names_what_it_waits_for(api: httpx.Client, run_id: int):
    found = api.get(f"/api/v1/units/{(run_id << 20) + 2}/why-not-running").json()
    assert found["code"] == "dependency"
    assert "a" in found["sentence_en"]
    assert found["sentence_vi"]


def test_the_chain_of_causes_names_what_helps(api: httpx.Client, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish("inner", human("sign", role="office"))
    engine.publish("outer", subworkflow("call", "inner"), operation("after"))
    run = engine.start("outer")
    after = engine.unit(run, "after")
    found = api.get(f"/api/v1/units/{after}/unblock-path").json()
    assert [cause["code"] for cause in found] == ["dependency", "subworkflow", "human"]
    root = found[-1]
    assert (root["action"], root["who"], root["needs"]) == ("claim", "role:office", [])
    assert root["call_path"] == f"/steps/{root['unit_id']}/claim"
    step = api.get(f"/api/v1/runs/{run}/steps/2", params={"include": "why,actions"}).json()
    shown = step["why"]["path"]
    assert [cause["unit_id"] for cause in shown] == [cause["unit_id"] for cause in found]
    assert shown[-1]["help"]["action"] == "claim"
    assert [cause["help"] for cause in shown[:-1]] == [None, None]


def states_then(api: httpx.Client, run_id: int, at: object) -> dict[str, str]:
    found = api.get(f"/api/v1/runs/{run_id}/then", params={"at": str(at)}).json()
    return {unit["name"]: unit["state_code"] for unit in found["units"]}


@pytest.mark.requirement("RX-11")
def test_past_states_of_a_run_are_shown(api: httpx.Client, db: psycopg.Connection, run_id: int):
    engine = Engine(db)
    engine.drain(engine.worker())
    nothing = {"run": "not_started", "a": "not_started", "b": "not_started"}
    assert states_then(api, run_id, "2020-01-01T00:00:00+00:00") == nothing
    position, moment = engine.db.execute(
        "select event_id, at from event_log where unit_id = %s and to_state = 'completed'",
        (engine.unit(run_id, "a"),),
    ).fetchone()  # type: ignore[misc]
    assert states_then(api, run_id, position)["a"] == "completed"
    assert states_then(api, run_id, position - 1)["a"] == "in_progress"
    assert states_then(api, run_id, moment.isoformat())["a"] == "completed"
    assert set(states_then(api, run_id, 9999999).values()) == {"completed"}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/runs/1/then", 422),
        ("/runs/1/then?at=yesterday", 422),
        ("/runs/1/then?at=2026-03-01T14:00:00", 422),
        ("/runs/1/then?at=99999999999999999999", 422),
        ("/runs/999/then?at=1", 404),
        ("/units/999/why-not-running", 404),
        ("/units/0/why-not-running", 422),
        ("/units/999/unblock-path", 404),
    ],
)
def test_a_wrong_request_gets_a_problem(api: httpx.Client, run_id: int, path: str, status: int):
    answer = api.get(f"/api/v1{path}")
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("application/problem+json")
