"""Start, list, change and signal runs over HTTP."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine, operation


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    engine = Engine(db)
    engine.publish("line", operation("a"), operation("b"))
    return engine


def test_a_run_is_started_once_for_each_key(api: httpx.Client, engine: Engine):
    asked = {"workflow": "line", "input": {"order_id": "A-1"}, "key": "A-1"}
    first = api.post("/api/v1/runs", json=asked)
    assert (first.status_code, first.json()["is_new"]) == (201, True)
    again = api.post("/api/v1/runs", json=asked)
    assert again.json() == {"run_id": first.json()["run_id"], "is_new": False}
    shown = api.get(f"/api/v1/runs/{first.json()['run_id']}").json()
    assert (shown["workflow"], shown["trigger_ref"], shown["input"]) == ("line", "A-1", {"order_id": "A-1"})
    assert shown["started_by"] == "api:billing"


def test_the_trace_of_the_request_is_the_trace_of_the_run(api: httpx.Client, engine: Engine):
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    started = api.post(
        "/api/v1/runs",
        json={"workflow": "line"},
        headers={"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"},
    )
    found = engine.one("select trace_id from run_detail where run_id = %s", (started.json()["run_id"],))
    assert found == trace_id


def test_many_runs_start_together_or_not_at_all(api: httpx.Client, engine: Engine):
    started = api.post(
        "/api/v1/runs/batch", json={"workflow": "line", "inputs": [{"n": 1}, {"n": 2}], "keys": ["x", "y"]}
    )
    assert (started.status_code, [one["is_new"] for one in started.json()]) == (201, [True, True])
    refused = api.post("/api/v1/runs/batch", json={"workflow": "line", "inputs": [{}, {}], "keys": ["z"]})
    assert (refused.status_code, refused.json()["field"]) == (422, "body.keys")
    assert engine.one("select count(*) from run_detail") == 2


@pytest.mark.parametrize(
    ("asked", "status", "field"),
    [
        ({"workflow": "lin"}, 404, "workflow"),
        ({"workflow": ""}, 422, "body.workflow"),
        ({"workflow": "line", "input": []}, 422, "body.input"),
        ({"workflow": "line", "input": {"a": "\u0000"}}, 422, None),
        ({"workflow": "line", "source": "mail"}, 422, "body.key"),
        ({"workflow": "line", "version": 7}, 404, None),
        ({"workflow": "line", "priority": 100000}, 422, "body.priority"),
        ({"workflow": "line", "workspace": "none"}, 404, None),
    ],
)
def test_a_wrong_start_names_its_field_and_starts_nothing(
    api: httpx.Client, engine: Engine, asked: dict[str, object], status: int, field: str | None
):
    answer = api.post("/api/v1/runs", json=asked)
    assert answer.status_code == status, answer.text
    if field is not None:
        assert answer.json()["field"] == field
    assert engine.one("select count(*) from run_detail") == 0


def test_runs_are_listed_page_by_page_while_new_ones_start(api: httpx.Client, engine: Engine):
    wanted = [str(engine.start("line")) for _ in range(7)]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        asked = {"limit": "3", "workflow": "line"} | ({} if cursor is None else {"cursor": cursor})
        page = api.get("/api/v1/runs", params=asked).json()
        seen += [run["run_id"] for run in page["items"]]
        engine.start("line")
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == wanted[::-1]


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"state": "in_progress"}, 2),
        ({"state": "completed"}, 0),
        ({"key": "k"}, 1),
        ({"workflow": "other"}, 0),
        ({"started_after": "2020-01-01T00:00:00Z"}, 2),
        ({"started_before": "2020-01-01T00:00:00Z"}, 0),
    ],
)
def test_a_list_has_only_what_fits_its_filters(
    api: httpx.Client, engine: Engine, filters: dict[str, str], count: int
):
    engine.start("line")
    api.post("/api/v1/runs", json={"workflow": "line", "key": "k"})
    assert len(api.get("/api/v1/runs", params=filters).json()["items"]) == count


def test_a_time_without_a_zone_and_an_unknown_state_are_refused(api: httpx.Client):
    for asked in ({"started_after": "2020-01-01T00:00:00"}, {"state": "running"}, {"cursor": "AAAA"}):
        answer = api.get("/api/v1/runs", params=asked)
        assert answer.status_code == 422, answer.text
        assert next(iter(asked)) in answer.json()["field"]


def require_approval(engine: Engine, required: str) -> None:
    engine.db.execute(
        "update dot_config set config_value = %s::jsonb where config_key = %s",
        (required, "approval.required.workflow_cancel"),
    )


def test_a_run_is_paused_resumed_and_cancelled(api: httpx.Client, engine: Engine):
    require_approval(engine, "false")
    run_id = engine.start("line")
    assert api.post(f"/api/v1/runs/{run_id}/pause").json() == {"state_code": "paused"}
    assert api.post(f"/api/v1/runs/{run_id}/resume").json() == {"state_code": "in_progress"}
    cancelled = api.post(f"/api/v1/runs/{run_id}/cancel", json={"reason": "duplicate"})
    assert cancelled.json() == {"state_code": "cancelled"}
    again = api.post(f"/api/v1/runs/{run_id}/pause")
    assert again.status_code == 409


def test_a_cancel_that_needs_an_approval_says_so(api: httpx.Client, engine: Engine):
    require_approval(engine, "true")
    run_id = engine.start("line")
    answer = api.post(f"/api/v1/runs/{run_id}/cancel", json={"reason": "duplicate"})
    assert answer.status_code == 409
    assert "approval" in answer.json()["detail"]
    assert api.get(f"/api/v1/runs/{run_id}").json()["state_code"] == "in_progress"


def test_the_result_and_the_steps_are_shown(api: httpx.Client, engine: Engine):
    run_id = engine.start("line")
    engine.drain(engine.worker())
    assert api.get(f"/api/v1/runs/{run_id}/result").json()["state_code"] == "completed"
    steps = api.get(f"/api/v1/runs/{run_id}/steps").json()
    assert [(step["name"], step["state_code"]) for step in steps] == [("a", "completed"), ("b", "completed")]
    events = api.get(f"/api/v1/runs/{run_id}/events", params={"limit": 3}).json()
    assert len(events["items"]) == 3
    more = api.get(f"/api/v1/runs/{run_id}/events", params={"limit": 200, "cursor": events["next"]}).json()
    numbers = [int(event["event_id"]) for event in events["items"] + more["items"]]
    assert numbers == sorted(set(numbers))


def test_an_event_reaches_a_run_once(api: httpx.Client, engine: Engine):
    run_id = engine.start("line")
    event = {"event_type": "carrier.picked_up", "payload": {"at": "08:00"}, "event_id": "e-1"}
    first = api.post(f"/api/v1/runs/{run_id}/signals", json=event)
    assert first.json()["accepted"] is True
    assert api.post(f"/api/v1/runs/{run_id}/signals", json=event).json()["accepted"] is False


def test_a_person_without_the_right_reads_no_payload(
    http: httpx.Client, engine: Engine, token: Callable[..., str]
):
    engine.db.execute("delete from permission where verb = 'payload.read' and role_name = 'everybody'")
    started = engine.start("line", {"secret_plan": "x"})
    headers = {"Authorization": f"Bearer {token('reader', 'person', 'clerk')}"}
    shown = http.get(f"/api/v1/runs/{started}", headers=headers).json()
    assert (shown["run_id"], shown["input"]) == (str(started), None)


def test_runs_have_labels_and_are_found_by_them(api: httpx.Client, engine: Engine):
    labels = {"customer": "Acme", "site": "Đà Nẵng: 2"}
    started = api.post("/api/v1/runs", json={"workflow": "line", "labels": labels}).json()["run_id"]
    api.post("/api/v1/runs", json={"workflow": "line", "labels": {"customer": "Acme"}})
    assert api.get(f"/api/v1/runs/{started}").json()["labels"] == labels
    both = {"label": ["customer:Acme", "site:Đà Nẵng: 2"]}
    assert [run["run_id"] for run in api.get("/api/v1/runs", params=both).json()["items"]] == [started]
    assert len(api.get("/api/v1/runs", params={"label": "customer:Acme"}).json()["items"]) == 2
    assert api.get("/api/v1/runs", params={"label": "customer"}).status_code == 422
    wrong = api.post("/api/v1/runs", json={"workflow": "line", "labels": {"Customer": "x"}})
    assert wrong.status_code == 422
