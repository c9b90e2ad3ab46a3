"""`stepwell.testing`: a test runs workflows of several months to their end without sleeping."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

import stepwell as sw
from stepwell.testing import Harness, Signal, Stuck, check_invariants


@pytest.fixture
def shop():
    app = sw.App()

    @app.operation(retry=sw.Retry(max_attempts=4, initial="10m", max="1h"))
    async def charge(ctx: sw.Context, order_id: str):
        if ctx.attempt < 3:
            raise ConnectionError("no answer")
        return {"paid": order_id}

    @app.operation
    async def remind(ctx: sw.Context):
        await ctx.sleep("40d")
        return "reminded"

    app.publish(
        sw.Workflow(
            "order",
            sw.Sequential(
                sw.Operation("charge"), sw.Operation("remind"), sw.Wait("carrier.picked_up", timeout="2d")
            ),
        )
    )
    return app


def rehearse(app, scenario, **options):
    async def whole():
        async with Harness(app, **options) as harness:
            return await scenario(harness)

    return asyncio.run(whole())


def test_retries_sleeps_and_waits_need_no_real_time(shop, dsn):
    async def scenario(harness):
        began_at = await harness.now()
        ended = await harness.run(
            "order", {"order_id": "A"}, signals=[Signal("carrier.picked_up", {"by": "bike"})]
        )
        assert ended.state == "completed"
        assert ended.result == {"by": "bike"}
        assert ended.states == dict.fromkeys(["charge", "remind", "carrier.picked_up"], "completed")
        assert await harness.now() - began_at > timedelta(days=40)

    rehearse(shop, scenario, dsn=dsn)
    assert check_invariants(dsn) == []


def test_the_same_run_writes_the_same_events_each_time(shop, databases, template):
    async def scenario(harness):
        await harness.run("order", {"order_id": "A"}, signals=[("carrier.picked_up", {})])
        return await harness.client.perform(_history())

    found = []
    for _ in range(2):
        with databases.fresh(template) as dsn:
            found.append(rehearse(shop, scenario, dsn=dsn))
    assert found[0] == found[1]


def _history():
    from stepwell.store.connection.call import Call

    return Call(
        "select unit_id, event_type, from_state, to_state from stepwell.event_log"
        " where to_state is not null order by event_id",
        (),
        list,
    )


def test_a_wait_times_out_before_a_late_signal(shop, dsn):
    async def scenario(harness):
        late = Signal("carrier.picked_up", after="60d")
        ended = await harness.run("order", {"order_id": "A"}, signals=[late])
        assert ended.state == "failed"
        assert ended.states["carrier.picked_up"] == "cannot_complete"

    rehearse(shop, scenario, dsn=dsn)


def test_the_error_explains_a_run_that_does_not_advance(dsn):
    app = sw.App()
    app.publish(sw.Workflow("w", sw.Wait("never")))

    async def scenario(harness):
        with pytest.raises(Stuck, match="does not move") as raised:
            await harness.run("w")
        assert "waits for the event never" in raised.value.sentence()

    rehearse(app, scenario, dsn=dsn)


def test_a_test_can_move_the_clock_itself(shop, dsn):
    async def scenario(harness):
        run = await shop.start("order", {"order_id": "A"})
        await harness.until_idle()
        assert (await harness.states(run))["charge"] == "failed"
        await harness.jump("4h")
        assert await harness.states(run) == {
            "charge": "completed", "remind": "waiting", "carrier.picked_up": "not_started",
        }  # fmt: skip
        await harness.jump("41d")
        await harness.signal(run, "carrier.picked_up", {"n": 1})
        assert (await harness.end(run)).result == {"n": 1}

    rehearse(shop, scenario, dsn=dsn)


def test_the_harness_stops_after_its_jump_limit(dsn):
    app = sw.App()

    @app.operation(retry=sw.Retry(max_attempts=1000, initial="1s", max="1s"))
    async def never():
        raise ConnectionError

    app.publish(sw.Workflow("w", sw.Operation("never")))

    async def scenario(harness):
        with pytest.raises(Stuck, match="has not ended after 5 jumps"):
            await harness.run("w")

    rehearse(app, scenario, dsn=dsn, jump_limit=5)


def test_a_database_with_runs_is_refused(shop, dsn):
    rehearse(shop, lambda harness: shop.start("order", {"order_id": "A"}), dsn=dsn)
    with pytest.raises(sw.StepwellError, match="already has 1 runs"):
        rehearse(shop, lambda harness: harness.until_idle(), dsn=dsn)


def test_without_an_address_the_harness_starts_its_own_server(shop):
    async def scenario(harness):
        return await harness.run("order", {"order_id": "A"}, signals=[("carrier.picked_up", {})])

    before = shop.settings
    assert rehearse(shop, scenario).state == "completed"
    assert rehearse(shop, scenario).id == 1
    assert shop.settings == before
