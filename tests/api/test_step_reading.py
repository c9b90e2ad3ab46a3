"""What is shown of a step over HTTP: tasks, checkpoints, failures, progress, and the inputs of a person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.api.test_stream import streaming
from tests.sql.drive import Engine, Lease, human, operation
from tests.support.clock import Clock
from tests.support.roles import client_app

SAVE = (
    "select fn_progress_save(%s, array[1], array[%s::bigint], array[%s], array[%s::float8],"
    " array[%s::float8], array[%s])"
)


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    made.publish(
        "order",
        operation("send", retry={"max_attempts": 2, "initial_seconds": 0}, deadline=600),
        operation("book"),
    )
    return made


def got(api: httpx.Client, path: str, **params: Any) -> Any:
    answer = api.get(f"/api/v1{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def tell(engine: Engine, session: int, lease: Lease, done: float, total: float, note: str | None) -> None:
    assert engine.one(SAVE, (session, lease.unit_id, lease.lease_no, done, total, note)) == 1


def test_checkpoints_and_failed_attempts_are_shown(api: httpx.Client, engine: Engine):
    engine.start("order")
    session = engine.worker()
    (lease,) = engine.claim(session)
    engine.one(
        "select fn_checkpoint_save(%s, 1, %s, %s, 'page', %s)",
        (session, lease.unit_id, lease.lease_no, Jsonb({"no": 3})),
    )
    error = {"type": "Oops", "message": "no line"}
    engine.report(session, (lease, "failed", {"failure_class": "timeout", "error": error}))
    (saved,) = got(api, f"/steps/{lease.unit_id}/checkpoints")
    assert (saved["name"], saved["value"]) == ("page", {"no": 3})
    (failure,) = got(api, f"/steps/{lease.unit_id}/failures")
    assert (failure["attempt"], failure["failure_class"], failure["classification"]) == (
        1, "timeout", "transient",
    )  # fmt: skip
    assert failure["error"]["message"] == "no line"
    for part in ("tasks", "checkpoints", "failures", "correction", "comments"):
        assert api.get(f"/api/v1/steps/999/{part}").status_code == 404, part


def test_the_progress_of_a_handler_is_in_the_snapshot_and_in_the_stream(
    api: httpx.Client, engine: Engine, clock: Clock
):
    run_id = engine.start("order")
    session = engine.worker()
    (lease,) = engine.claim(session)
    tell(engine, session, lease, 3, 10, "pages")
    found = got(api, f"/runs/{run_id}/snapshot")
    told = {"done": 3, "total": 10, "note": "pages"}
    assert found["progress"] == {"1": told}
    shown = got(api, f"/steps/{lease.unit_id}")["progress"]
    assert {name: shown[name] for name in told} == told
    (listed, _) = got(api, f"/runs/{run_id}/steps")
    assert (listed["progress"]["done"], got(api, f"/jobs/{lease.unit_id}")["progress"]["done"]) == (3, 3)
    with streaming(api, f"run:{run_id}", after=found["position"]) as messages:
        next(messages)
        tell(engine, session, lease, 7, 10, None)
        # The step is late, and goes on: that is the next event of it.
        clock.advance(minutes=11)
        engine.timers()
        changed = next(data["runs"][str(run_id)] for kind, _, data in messages if kind == "changes")
        assert changed["progress"] == {"1": {"done": 7, "total": 10, "note": None}}
        engine.complete(session, lease, output={})
        changed = next(data["runs"][str(run_id)] for kind, _, data in messages if kind == "changes")
        assert (1 in changed["steps"]["no"], changed["progress"]) == (True, {})


def test_a_person_is_shown_the_inputs_and_the_tasks(
    http: httpx.Client, engine: Engine, dsn: str, token: Callable[..., str]
):
    tasks = [{"id": "count", "role": "office"}, {"id": "label", "operation": "print"}]
    inputs = {"amount": "$.input.amount", "who": "$.input.customer"}
    engine.publish("desk", human("sign", role="office", inputs=inputs, tasks=tasks), operation("print"))
    step = engine.unit(engine.start("desk", {"amount": 3, "customer": "Acme", "other": 1}), "sign")
    bound = {"amount": 3, "who": "Acme"}
    http.headers["Authorization"] = f"Bearer {token('ada', 'person', 'office', 'operator')}"
    listed = {one["step_run_id"]: one for one in got(http, "/inbox")}
    assert listed[str(step)]["inputs"] == bound
    assert got(http, f"/steps/{step}")["inputs"] == bound
    parts = {one["step_id"]: one for one in got(http, f"/steps/{step}/tasks")}
    assert set(parts) == {"count", "label"}
    assert {one["parent_step_run_id"] for one in parts.values()} == {str(step)}
    assert parts["count"]["inputs"] == bound
    # The task of a worker is for no role; that does not make the inputs those of everybody.
    http.headers["Authorization"] = f"Bearer {token('plain', 'person', 'nothing')}"
    assert got(http, f"/steps/{step}")["inputs"] is None, "without the right to read payloads"
    assert {one["inputs"] for one in got(http, f"/steps/{step}/tasks")} == {None}

    async def through_the_app() -> list[Any]:
        async with client_app(dsn) as app:
            mine = [one for one in await app.inbox("ada") if one.step_run_id == step]
            shown = await app.step(step)
            (part,) = [one for one in await app.tasks(step) if one.step_id == "count"]
            return [mine[0].inputs, shown.inputs, part.inputs]

    assert asyncio.run(through_the_app()) == [bound] * 3
