"""Job graphs over HTTP: templates are registered, graphs emitted, followed and retried, events routed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine
from tests.sql.job_graphs.graphing import finish

TEMPLATE = {
    "params": {"order": {"type": "string"}},
    "jobs": [
        {"local_id": "fetch", "job_kind": "fetch", "source_ref": "$.input.order"},
        {"local_id": "send", "job_kind": "send", "parents": ["fetch"]},
    ],
}


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    db.execute("update dot_config set config_value = 'false' where config_key = 'approval.required.replay'")
    return Engine(db)


def done(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


@pytest.mark.requirement("JW-08")
def test_a_graph_is_registered_emitted_followed_and_retried(
    api: httpx.Client, engine: Engine, token: Callable[..., str]
):
    planner = {"Authorization": f"Bearer {token('planner', 'service', 'MOT_template_generator')}"}
    made = done(api.put("/api/v1/graph-templates/intake", json=TEMPLATE))
    assert (made["version_no"], made["job_count"]) == (1, 2)
    assert [one["template_id"] for one in done(api.get("/api/v1/graph-templates"))] == ["intake"]
    assert done(api.get("/api/v1/graph-templates/intake"))["template"]["jobs"] == TEMPLATE["jobs"]
    wrong = api.put("/api/v1/graph-templates/intake", json=TEMPLATE | {"jobs": []})
    assert (wrong.status_code, "jobs: at least one" in wrong.json()["detail"]) == (422, True), wrong.text

    given = {"template_id": "intake", "params": {"order": "o-1"}, "key": "o-1", "correlation_id": "C-1"}
    assert api.post("/api/v1/graphs", json=given).status_code == 403
    emitted = done(api.post("/api/v1/graphs", json=given, headers=planner), 201)
    assert (emitted["count"], emitted["is_new"]) == (2, True)
    assert done(api.post("/api/v1/graphs", json=given, headers=planner), 201) == emitted | {"is_new": False}
    path = f"/api/v1/graphs/{emitted['workflow_id']}"
    shown = done(api.get(path))
    assert (shown["status"], shown["queued_steps"], shown["waiting_steps"]) == ("active", 1, 1)
    first = done(api.get(f"{path}/jobs", params={"limit": 1}))
    second = done(api.get(f"{path}/jobs", params={"limit": 1, "cursor": first["next"]}))
    jobs = [*first["items"], *second["items"]]
    assert [(one["local_id"], one["source_ref"]) for one in jobs] == [("fetch", "o-1"), ("send", None)]
    assert second["next"] is None

    worker = engine.worker()
    finish(engine, worker, engine.claim(worker), "dead")
    assert done(api.post(f"{path}/refresh"))["status"] == "failed"
    assert [
        one["workflow_id"] for one in done(api.get("/api/v1/graphs", params={"status": "failed"}))["items"]
    ] == [emitted["workflow_id"]]
    done(api.post(f"{path}/retry", json={"reason": "the service is back"}))
    assert done(api.get(path))["status"] == "active"


@pytest.mark.requirement("JW-09")
def test_an_event_route_is_set_listed_and_deleted(api: httpx.Client, engine: Engine):
    change = {"event_type": "order.found", "operation": "ship", "fields": ["order"]}
    engine.db.execute('select fn_operation_register(1, \'[{"name": "ship"}]\')')
    assert done(api.put("/api/v1/event-routes/found", json=change))["operation"] == "ship"
    assert [one["name"] for one in done(api.get("/api/v1/event-routes"))] == ["found"]
    refused = api.put("/api/v1/event-routes/found", json=change | {"fields": ["unit_id"]})
    assert (refused.status_code, refused.json()["field"]) == (422, "fields"), refused.text
    done(api.delete("/api/v1/event-routes/found"), 204)
    assert api.delete("/api/v1/event-routes/found").status_code == 404
