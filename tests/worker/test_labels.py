"""A handler labels its run; the labels are there before the handler ends."""

from __future__ import annotations

import stepwell as sw


def test_a_handler_labels_its_run(app, play, db):
    @app.operation
    async def sort(ctx: sw.Context):
        before = await ctx.label(customer="Acme", draft="yes")
        return [before, await ctx.label(draft=None)]

    app.publish(sw.Workflow("one", sw.Operation("sort")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one", labels={"order": "17"})
            return await run.result(), await run.info(), await app.runs(labels={"customer": "Acme"})

    result, info, found = play(scenario)
    assert result == [
        {"order": "17", "customer": "Acme", "draft": "yes"},
        {"order": "17", "customer": "Acme"},
    ]
    assert info.labels == {"order": "17", "customer": "Acme"}
    assert [run.run_id for run in found] == [info.run_id]
    actors = db.execute(
        "select actor_class from event_log where event_type = 'workflow.labelled' order by event_id"
    )
    assert [actor for (actor,) in actors] == ["pic_human", "executor_worker", "executor_worker"]
