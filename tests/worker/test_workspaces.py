"""Workspaces from Python: set, listed, given to a start."""

from __future__ import annotations

import pytest

import stepwell as sw


@pytest.mark.requirement("RT-13")
def test_a_run_starts_in_a_workspace(app, play, db):
    @app.operation
    def plain() -> int:
        return 1

    app.publish(sw.Workflow("one", sw.Operation("plain")))

    async def scenario():
        async with sw.Worker(app):
            made = await app.workspace_set("retail", max_concurrency=3)
            assert (made.name, made.max_concurrency) == ("retail", 3)
            assert [found.name for found in await app.workspaces()] == ["retail"]
            run = await app.start("one", workspace="retail")
            assert await run.result() == 1
            many = await app.start_many("one", [{}, {}], workspace="retail")
            assert [await one.result() for one in many] == [1, 1]
            with pytest.raises(sw.NotFound, match="workspace retial does not exist"):
                await app.start("one", workspace="retial")

    play(scenario)
    rows = db.execute("select workspace from workflow_run").fetchall()
    assert rows == [("retail",)] * 3


@pytest.mark.requirement("RT-13")
def test_a_job_and_a_schedule_have_a_workspace(app, play, db):
    @app.operation
    def plain() -> int:
        return 1

    app.publish(sw.Workflow("one", sw.Operation("plain")))

    async def scenario():
        async with sw.Worker(app):
            await app.workspace_set("retail")
            job = await app.enqueue("plain", workspace="retail")
            assert await job.result() == 1
            made = await app.schedule_set("nightly", "one", "0 3 * * *", workspace="retail")
            assert made.workspace == "retail"
            with pytest.raises(sw.NotFound, match="workspace retial does not exist"):
                await app.enqueue("plain", workspace="retial")

    play(scenario)
    assert db.execute("select workspace_id is not null from job_queue").fetchall() == [(True,)]
