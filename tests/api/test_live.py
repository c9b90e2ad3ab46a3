"""Snapshot, layout, step, time, labels and views over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine, human, operation

RETRY = {"max_attempts": 3, "initial_seconds": 1, "max_seconds": 10, "multiplier": 2}


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    db.execute("select fn_person_set(1, 'ada', array['clerk'])")
    made.publish(
        "order",
        operation("fetch"),
        operation("send", inputs={"to": "$.steps.fetch.output.mail"}, retry=RETRY),
        human("sign", title="Sign it", role="clerk"),
    )
    return made


def test_a_snapshot_is_read_after_the_write_that_it_must_show(api: httpx.Client, engine: Engine):
    run_id = engine.start("order")
    answer = api.put(f"/api/v1/runs/{run_id}/labels", json={"set": {"customer": "Acme"}})
    assert answer.json() == {"labels": {"customer": "Acme"}}
    position = answer.headers["Stepwell-Position"]
    found = api.get(f"/api/v1/runs/{run_id}/snapshot", params={"min_position": position}).json()
    assert found["run"]["labels"] == {"customer": "Acme"}
    removed = api.put(f"/api/v1/runs/{run_id}/labels", json={"remove": ["customer"]})
    assert removed.json() == {"labels": {}}
    refused = api.put(f"/api/v1/runs/{run_id}/labels", json={"set": {"Bad": "x"}})
    assert (refused.status_code, refused.json()["field"]) == (422, "labels.Bad")


def test_the_past_is_a_snapshot_too(api: httpx.Client, engine: Engine):
    run_id = engine.start("order")
    session = engine.worker()
    engine.complete(session, *engine.claim(session), output={"mail": "a@b"})
    event_id = engine.one(
        "select max(event_id) from event_log where unit_id = %s and to_state = 'completed'",
        (engine.unit(run_id, "fetch"),),
    )

    def states(at: int) -> list[str]:
        found = api.get(f"/api/v1/runs/{run_id}/snapshot", params={"at": at}).json()
        return [found["states"][one] for one in found["steps"]["state"]]

    assert states(event_id)[0] == "completed"
    assert states(event_id - 1)[0] == "in_progress"
    assert api.get(f"/api/v1/runs/{run_id}/snapshot", params={"at": "then"}).status_code == 422


def test_a_layout_is_drawn_once_and_named_by_the_snapshot(api: httpx.Client, engine: Engine):
    run_id = engine.start("order")
    named = api.get(f"/api/v1/runs/{run_id}/snapshot").json()["layout_hash"]
    assert api.get(f"/api/v1/layouts/{named}").status_code == 404
    drawn = api.get("/api/v1/workflows/order/versions/1/layout").json()
    assert "hash" in drawn, drawn
    assert drawn["hash"] == named
    kept = api.get(f"/api/v1/layouts/{named}")
    assert kept.json() == drawn
    assert "immutable" in kept.headers["Cache-Control"]
    assert drawn["steps"]["id"] == ["fetch", "send", "sign"]
    (scope,) = drawn["scopes"]
    assert [lane[0] for lane in scope["lanes"]] == ["default", "clerk"]
    assert len(scope["boxes"]) == 3
    assert engine.one("select count(*) from graph_layout") == 1
    others = api.get("/api/v1/workflows/order/versions/1/layout", params={"lanes": "none"}).json()
    assert others["hash"] != named
    assert api.get("/api/v1/workflows/order/versions/9/layout").status_code == 404
    assert api.get("/api/v1/workflows/order/versions/1/layout", params={"lanes": "moon"}).status_code == 422


def body(api: httpx.Client, run_id: int, no: int, include: str) -> Any:
    answer = api.get(f"/api/v1/runs/{run_id}/steps/{no}", params={"include": include})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_step_shows_only_what_is_asked_for(api: httpx.Client, engine: Engine):
    run_id = engine.start("order")
    session = engine.worker()
    engine.complete(session, *engine.claim(session), output={"mail": "a@b"})
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "retry", {"error": {"type": "Oops", "message": "no line"}}))
    found = body(api, run_id, 2, "inputs,attempts,why,events")
    assert found["inputs"] == {"bound": {"to": "a@b"}, "origin": "computed", "problem": None}
    assert [(one["attempt"], one["outcome"], one["error"]["message"]) for one in found["attempts"]] == [
        (1, "failed", "no line")
    ]
    assert found["why"]["code"] == "retry"
    assert found["events"]["items"][0]["to"] == "failed"
    assert {"outputs", "receipts", "tasks", "content"}.isdisjoint(found)
    assert body(api, run_id, 1, "outputs")["outputs"][0]["output"] == {"mail": "a@b"}
    assert body(api, run_id, 3, "inputs,content,receipts,tasks")["inputs"]["origin"] == "none"
    assert api.get(f"/api/v1/runs/{run_id}/steps/99").status_code == 404
    wrong = api.get(f"/api/v1/runs/{run_id}/steps/1", params={"include": "soul"})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "include")


def test_values_are_hidden_from_who_may_not_read_payloads(http: httpx.Client, engine: Engine, token):
    run_id = engine.start("order")
    session = engine.worker()
    engine.complete(session, *engine.claim(session), output={"mail": "a@b"})
    http.headers["Authorization"] = f"Bearer {token('plain', 'service', 'nothing')}"
    found = body(http, run_id, 1, "inputs,outputs,events")
    assert (found["inputs"], found["outputs"]) == (None, None)
    assert "a@b" not in str(found)


def test_time_is_counted_folded_and_marked(api: httpx.Client, engine: Engine, clock):
    run_id = engine.start("order")
    session = engine.worker(lease_seconds=86400)
    engine.complete(session, *engine.claim(session), output={"mail": "a@b"})
    clock.advance(minutes=50)
    engine.drain(session)
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (engine.unit(run_id, "sign"),))
    density = api.get(f"/api/v1/runs/{run_id}/density", params={"buckets": 10}).json()
    assert "counts" in density, density
    assert sum(density["counts"]) == engine.one("select count(*) from event_log where run_id = %s", (run_id,))
    assert density["first_event_id"][0] is not None
    assert "started" in {mark["kind"] for mark in density["marks"]}
    line = api.get(f"/api/v1/runs/{run_id}/timeline").json()
    assert {len(column) for column in line["segments"].values()} == {len(line["segments"]["no"])}
    assert line["groups"]["people"] == [3]
    assert line["scale"][0][0] == 0
    assert line["drawn_ms"] < 600_000, "fifty minutes without work are folded"
    assert line["standing_ms"] >= 50 * 60_000
    assert api.get("/api/v1/runs/99/density").status_code == 404
    assert api.get("/api/v1/runs/99/timeline").status_code == 404


def test_views_are_saved_shown_changed_and_deleted(api: httpx.Client, engine: Engine):
    made = api.post(
        "/api/v1/views", json={"page": "runs", "name": "Red", "filter": {"colour": "red"}, "shared": True}
    )
    assert made.status_code == 201, made.text
    view = made.json()
    assert (view["is_mine"], view["shared"]) == (True, True)
    again = api.post("/api/v1/views", json={"page": "runs", "name": "red", "filter": {}})
    assert again.status_code == 409
    changed = api.put(
        f"/api/v1/views/{view['view_id']}", json={"page": "runs", "name": "Redder", "filter": {}}
    )
    assert changed.json()["name"] == "Redder"
    assert [one["name"] for one in api.get("/api/v1/views", params={"page": "runs"}).json()["items"]] == [
        "Redder"
    ]
    assert api.delete(f"/api/v1/views/{view['view_id']}").status_code == 204
    assert api.delete(f"/api/v1/views/{view['view_id']}").status_code == 404
