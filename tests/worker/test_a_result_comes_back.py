"""Values, outcomes, parameters: what a handler is given and what becomes of what it returns."""

from __future__ import annotations

import pytest

import stepwell as sw


@pytest.mark.requirement("LN-06")
def test_each_step_feeds_the_next_and_the_last_one_is_the_result(app, play):
    @app.operation
    async def double(n: int) -> int:
        return n * 2

    @app.operation
    async def add(n: int, doubled: int) -> dict[str, int]:
        return {"sum": n + doubled}

    app.publish(
        sw.Workflow(
            "sum", sw.Sequential(sw.Operation("double"), sw.Operation("add", inputs={"doubled": "$.steps.double.output"}))
        )
    )

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("sum", {"n": 4})
            assert await run.result() == {"sum": 12}

    play(scenario)
