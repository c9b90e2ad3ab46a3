"""A value that a worker cannot read fails its own step; the worker and the other steps of the batch go on."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

import stepwell as sw
from tests.sql.drive import Engine

DEPTH = 250
DEEP = "[" * DEPTH + "]" * DEPTH


def nested(depth: int) -> list[object]:
    found: list[object] = []
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize("text", [DEEP, "1e5000"], ids=["nested", "digits"])
def test_a_stored_value_that_cannot_be_read_fails_its_own_step(
    app: sw.App, db: psycopg.Connection, text: str
):
    """The input of a run that was started before such inputs were refused."""

    @app.operation
    async def one(x: object = None) -> int:
        return 1

    app.publish(sw.Workflow("w", sw.Operation("one")))

    async def scenario() -> None:
        async with app:
            bad, *others = await app.start_many("w", [{}] * 20)
            db.execute(
                "update run_detail set input = jsonb_build_object('x', %s::jsonb) where run_id = %s",
                (text, bad.id),
            )
            async with sw.Worker(app):
                waited = await app.wait([bad, *others], limit_seconds=60)
                assert waited.open == []
                assert [run.state for run in waited.ended].count("completed") == 19

    asyncio.run(scenario())
    ((failure_class, message),) = db.execute("select failure_class, error ->> 'message' from unit_failure")
    assert failure_class == "expression_error"
    assert message.startswith("input: the value is JSON that cannot be read")
    assert Engine(db).faults() == {}


def test_values_that_are_nested_too_deep_are_refused_with_the_limit(app: sw.App, db: psycopg.Connection):
    @app.operation
    async def deep() -> list[object]:
        return nested(DEPTH)

    @app.operation
    async def after(x: object) -> int:
        return 1

    last = sw.Operation("after", inputs={"x": "$.steps.deep.output"})
    app.publish(sw.Workflow("w", sw.Sequential(sw.Operation("deep"), last)))

    async def scenario() -> None:
        async with app, sw.Worker(app):
            with pytest.raises(sw.LimitExceeded, match="at most 64 levels"):
                await app.start("w", {"x": nested(DEPTH)})
            with pytest.raises(sw.LimitExceeded, match="at most 64 levels"):
                await app.enqueue("after", {"x": nested(DEPTH)})
            run = await app.start("w")
            with pytest.raises(sw.StepwellError):
                await run.result()

    asyncio.run(scenario())
    ((failure_class, message),) = db.execute(
        "select failure_class, error ->> 'message' from unit_failure order by failed_at limit 1"
    )
    assert failure_class == "result_too_large"
    assert "at most 64 levels are accepted" in message
