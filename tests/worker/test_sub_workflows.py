"""A sub-workflow: its result, its failure and its end are those of the step around it."""

from __future__ import annotations

import asyncio

import pytest

import stepwell as sw


@pytest.fixture
def parent(app):
    app.publish(
        sw.Workflow(
            "parent",
            sw.Sequential(
                sw.Operation("prepare"),
                sw.SubWorkflow("child", inputs={"n": "$.steps.prepare.output"}),
                sw.Operation("finish", inputs={"got": "$.steps.child.output"}),
            ),
        )
    )

    @app.operation
    async def prepare() -> int:
        return 20

    @app.operation
    async def finish(got):
        return {"finished": got}


@pytest.mark.requirement("JW-10")
def test_the_result_of_the_child_is_the_output_of_the_step(app, play, parent, db):
    @app.operation
    async def inner(n: int) -> int:
        return n + 1

    app.publish(sw.Workflow("child", sw.Operation("inner")))

    async def scenario():
        async with sw.Worker(app):
            assert await (await app.start("parent")).result() == {"finished": 21}

    play(scenario)
    found = db.execute(
        "select workflow, state_code, parent_run_id from workflow_run order by run_id"
    ).fetchall()
    assert found == [("parent", "completed", None), ("child", "completed", 1)]


def test_the_failure_of_the_child_fails_the_step(app, play, parent, db):
    @app.operation
    async def inner():
        return sw.Dead("no way")

    app.publish(sw.Workflow("child", sw.Operation("inner")))

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict, match="failed"):
                await (await app.start("parent")).result()

    play(scenario)
    states = dict(db.execute("select step_id, state_code from step_run where run_id = 1").fetchall())
    assert states == {"prepare": "completed", "child": "cannot_complete", "finish": "cancelled"}


def test_cancelling_the_parent_cancels_the_child_and_its_handler(app, play, parent, db):
    began = asyncio.Event()
    ended = asyncio.Event()

    @app.operation
    async def inner():
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    app.publish(sw.Workflow("child", sw.Operation("inner")))

    async def scenario():
        async with sw.Worker(app) as worker:
            run = await app.start("parent")
            await began.wait()
            await run.cancel("stop it all")
            await worker.beat()
            await ended.wait()

    play(scenario)
    assert {row[0] for row in db.execute("select state_code from workflow_run")} == {"cancelled"}


def test_an_unknown_sub_workflow_fails_the_step_and_is_named(app, play, parent, db):
    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict, match="failed"):
                await (await app.start("parent")).result()

    play(scenario)
    message = db.execute("select error ->> 'message' from job_dead_letter").fetchone()[0]
    assert "child" in message
