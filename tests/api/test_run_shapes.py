"""The shapes in the OpenAPI document are those of the real answers."""

from __future__ import annotations

import json

import httpx
import psycopg
import pytest

from stepwell.api.layouts import Layout
from stepwell.api.run_shapes import Density, Shape, Snapshot, StepBody, StreamChanges, Timeline
from tests.api.test_live import RETRY
from tests.sql.drive import Engine, human, operation

PARTS = "why,inputs,outputs,attempts,receipts,tasks,content,events"


@pytest.fixture
def run_id(db: psycopg.Connection) -> int:
    """A run with a completed step, one that failed and waits for its retry, and one of a person."""
    engine = Engine(db)
    db.execute("select fn_person_set(1, 'ada', array['clerk'])")
    engine.publish(
        "order",
        operation("fetch"),
        operation("send", retry=RETRY),
        human("sign", title="Sign it", role="clerk"),
    )
    run_id = engine.start("order")
    session = engine.worker()
    engine.complete(session, *engine.claim(session), output={"mail": "a@b"})
    return run_id


def test_answers_of_a_run_have_exactly_the_documented_shape(api: httpx.Client, run_id: int):
    def read(path: str, model: type[Shape], **query: str) -> None:
        answer = api.get(f"/api/v1/runs/{run_id}/{path}", params=query)
        assert answer.status_code == 200, answer.text
        # Every field that is not listed is refused.
        model.model_validate_json(answer.text)

    read("snapshot", Snapshot)
    events = api.get(f"/api/v1/runs/{run_id}/events").json()["items"]
    read("snapshot", Snapshot, at=events[-1]["event_id"])
    for no in (1, 2, 3):
        read(f"steps/{no}", StepBody, include=PARTS)
    read("density", Density, buckets="10")
    read("timeline", Timeline)
    for lanes in ("role", "none"):
        drawn = api.get("/api/v1/workflows/order/versions/1/layout", params={"lanes": lanes})
        assert drawn.status_code == 200, drawn.text
        Layout.model_validate_json(drawn.text)


def test_messages_of_a_stream_have_exactly_the_documented_shape(api: httpx.Client, run_id: int):
    position = api.get(f"/api/v1/runs/{run_id}/snapshot").json()["position"]
    api.put(f"/api/v1/runs/{run_id}/labels", json={"set": {"customer": "Acme"}})
    api.post(f"/api/v1/runs/{run_id}/pause", json={})
    asked = {"topics": f"run:{run_id},problems,inbox,approvals", "after": position}
    with api.stream("GET", "/api/v1/stream", params=asked) as answer:
        kind = ""
        for line in answer.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: ") and kind == "changes":
                data = json.loads(line.removeprefix("data: "))
                StreamChanges.model_validate(data)
                assert str(run_id) in data["runs"]
                return
