"""An event of a handler becomes a job of another handler: through the worker, its keeper and the route."""

from __future__ import annotations

import asyncio

import pytest

import stepwell as sw


@pytest.mark.requirement("JW-09")
def test_an_event_of_a_handler_becomes_a_job_of_another(app, play, db):
    got: asyncio.Queue[dict[str, object]] = asyncio.Queue()
    app.event_type("order.found")

    @app.operation
    async def find(ctx: sw.Context) -> None:
        for order in ("o-1", "o-2"):
            await ctx.emit("order.found", {"order": order, "size": 3})

    @app.operation
    async def ship(order: str, event_type: str, run_id: int) -> None:
        got.put_nowait({"order": order, "event_type": event_type, "run_id": run_id})

    app.publish(sw.Workflow("search", sw.Operation("find")))
    db.execute('select fn_operation_register(1, \'[{"name": "ship"}]\')')
    db.execute("select fn_event_route_set(1, 'found', 'order.found', 'ship', array['order'], 0, 'test')")

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("search")
            await run.result()
            found = [await got.get(), await got.get()]
            return run.id, sorted(found, key=lambda one: str(one["order"]))

    run_id, found = play(scenario)
    assert found == [
        {"order": order, "event_type": "order.found", "run_id": run_id} for order in ("o-1", "o-2")
    ]
    keys = db.execute("select count(distinct idempotency_key) from job_queue where operation = 'ship'")
    assert keys.fetchone() == (2,)
