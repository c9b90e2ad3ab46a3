"""NaN and infinity are refused, and the error names their place, wherever a value goes to the database."""

from __future__ import annotations

import math
from typing import Any

import pytest

import stepwell as sw
from stepwell.testing import check_invariants

BAD = {"items": [1, 2, 3, {"price": math.nan}]}


@pytest.mark.parametrize(
    ("send", "place"),
    [
        (lambda app, run: app.start("one", BAD), "input.items[3].price"),
        (lambda app, run: app.start_many("one", [{}, BAD]), "inputs[1].items[3].price"),
        (lambda app, run: app.enqueue("work", BAD), "payload.items[3].price"),
        (lambda app, run: app.signal(run, "came", BAD), "payload.items[3].price"),
        (lambda app, run: app.step_complete((run, "look"), "ada", BAD), "output.items[3].price"),
    ],
)
def test_a_call_with_nan_is_refused_before_the_database_is_asked(app, play, db, send, place):
    @app.operation
    async def work(): ...

    app.publish(sw.Workflow("one", sw.Parallel(sw.Wait("came"), sw.Human("look", role="r"))))

    async def scenario():
        run = await app.start("one")
        before = db.execute("select count(*) from event_log").fetchone()
        with pytest.raises(sw.InvalidInput) as raised:
            await send(app, run)
        assert raised.value.message == f"{place}: NaN is not JSON; give null or a text"
        assert db.execute("select count(*) from event_log").fetchone() == before

    play(scenario)


async def _result(ctx):
    return BAD


async def _checkpoint(ctx):
    await ctx.step("fetch", lambda: BAD)


async def _event(ctx):
    await ctx.emit("priced", BAD)


async def _outbound(ctx):
    return sw.Waiting("never", outbound=[sw.OutboundEvent("priced", BAD)])


@pytest.mark.parametrize(
    ("inner", "place"),
    [
        (_result, "operation work: result.items[3].price"),
        (_checkpoint, "checkpoint fetch.items[3].price"),
        (_event, "event priced.items[3].price"),
        (_outbound, "outcome.outbound[0].payload.items[3].price"),
    ],
)
def test_a_handler_that_returns_nan_fails_for_good_and_the_error_names_the_place(
    app, play, db, dsn, inner, place
):
    @app.operation(retry=sw.Retry(max_attempts=5))
    async def work(ctx: sw.Context) -> Any:
        return await inner(ctx)

    app.publish(sw.Workflow("one", sw.Operation("work")))

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict):
                await (await app.start("one")).result()

    play(scenario)
    assert db.execute(
        "select failure_class, attempt_count, error ->> 'message' from job_dead_letter"
    ).fetchall() == [("invalid_input", 1, f"{place}: NaN is not JSON; give null or a text")]
    assert check_invariants(dsn) == []
