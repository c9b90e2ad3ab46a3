"""Stepwell with real payloads: 2 KB in and out, Maps of 10,000 items, actions, handlers that take a while.

Receives an order; returns numbers as the other workloads do. Only Stepwell runs them.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from bench.bundles import RULE, Nowhere
from bench.contestant import Answer, Order, StopWatch, Tally, WorkloadFunction, percentiles
from bench.meter import Meter
from bench.stepwell_side import JOBS_OPEN, RUNS_OPEN, note_of, opened, start_all, working
from stepwell import App, Context
from stepwell.define import Map, Operation, Sequential, Workflow
from stepwell.worker.worker import DEFAULT_SLOTS

WARM_UP = 100
SHARED = {"factor": 3, "unit": "kg"}


async def _measured(
    order: Order, meter: Meter, app: App, name: str, given: list[dict[str, Any]], tally: Tally
) -> Any:
    """From the start of these runs until all of them have ended."""
    watch = StopWatch(meter, order.budget_seconds)
    watch.begin()
    await app.start_many(name, given)
    return await watch.finish(tally, RUNS_OPEN)


async def two_kilobytes(order: Order, meter: Meter) -> Answer:
    """Each step gets the text that the step before it returned."""
    runs, steps = order.sizes["runs"], order.sizes["steps"]
    text = "x" * order.sizes["bytes"]
    async with opened(order) as app:
        counting: list[Tally] = []

        @app.operation(name="step")
        async def step(text: str) -> str:
            counting[-1].add()
            return text

        chain = [Operation("step", id="s0")]
        chain += [
            Operation("step", id=f"s{no}", inputs={"text": f"$.steps.s{no - 1}.output"})
            for no in range(1, steps)
        ]
        app.publish(Workflow("bench.payload", Sequential(*chain)))
        async with working(app, order):
            counting.append(Tally(20 * steps))
            await app.start_many("bench.payload", [{"text": text}] * 20)
            await counting[-1].wait(order.budget_seconds)
            counting.append(Tally(runs * steps))
            numbers = await _measured(
                order, meter, app, "bench.payload", [{"text": text}] * runs, counting[-1]
            )
    numbers["steps_per_second"] = numbers["units_per_second"]
    return Answer(numbers, note_of(order))


def _items(count: int) -> list[dict[str, Any]]:
    return [{"no": no, "name": f"item {no}", "price": {"amount": no % 97}} for no in range(count)]


# Where the list is, and what each item reads.
MAPS: dict[str, tuple[bool, dict[str, str]]] = {
    "M1": (False, {}),
    "M2": (False, {"shared": "$.input.shared"}),
    "M3": (True, {}),
    "M4": (True, {"shared": "$.steps.list.output.shared"}),
    "M5": (False, {"amount": "$.item.price.amount", "twice": "$.item.no * 2"}),
}


async def map_of_items(order: Order, meter: Meter) -> Answer:
    is_made, inputs = MAPS[order.workload]
    count = order.sizes["items"]
    async with opened(order) as app:
        counting: list[Tally] = []

        @app.operation(name="item")
        async def item(item: dict[str, Any], shared: Any = None, amount: int = 0, twice: int = 0) -> None:
            counting[-1].add()

        @app.operation(name="list")
        async def make(count: int) -> dict[str, Any]:
            return {"items": _items(count), "shared": SHARED}

        body = Operation("item", id="each", inputs=inputs)
        each = Map("$.steps.list.output.items" if is_made else "$.input.items", body, id="map")
        app.publish(
            Workflow("bench.map", Sequential(Operation("list", id="list"), each) if is_made else each)
        )

        def given(items: int) -> dict[str, Any]:
            return {"count": items} if is_made else {"items": _items(items), "shared": SHARED}

        async with working(app, order):
            counting.append(Tally(WARM_UP))
            await app.start_many("bench.map", [given(WARM_UP)])
            await counting[-1].wait(order.budget_seconds)
            counting.append(Tally(count))
            numbers = await _measured(order, meter, app, "bench.map", [given(count)], counting[-1])
    return Answer(numbers, note_of(order))


async def act(order: Order, meter: Meter) -> Answer:
    """Many at once, and then one at a time: how long the call of the handler takes."""
    runs = order.sizes["runs"]
    async with opened(order) as app:
        with psycopg.connect(order.database_url, autocommit=True) as connection:
            put_in_force(connection)
        app.connector(Nowhere())
        counting: list[Tally] = []
        seconds: list[float] = []

        @app.operation(name="act")
        async def act(ctx: Context) -> None:
            begun = time.perf_counter()
            await ctx.act("nowhere", "put", "/x", {"amount": 1})
            seconds.append(time.perf_counter() - begun)
            counting[-1].add()

        app.publish(Workflow("bench.act", Operation("act", id="act")))
        async with working(app, order):
            counting.append(Tally(WARM_UP))
            await start_all(app, "bench.act", WARM_UP)
            await counting[-1].wait(order.budget_seconds)
            counting.append(Tally(runs))
            numbers = await _measured(order, meter, app, "bench.act", [{}] * runs, counting[-1])
            seconds.clear()
            for _ in range(order.sizes["samples"]):
                await app.run("bench.act")
    return Answer({**numbers, **percentiles(seconds)}, note_of(order))


def put_in_force(connection: psycopg.Connection[Any]) -> None:
    """A policy with one rule, which allows everything."""
    connection.execute("select stepwell.fn_person_set(1, 'ada')")
    row = connection.execute(
        "select stepwell.fn_policy_propose(1, %s, null, 'ada')", (Jsonb([RULE]),)
    ).fetchone()
    assert row is not None
    connection.execute("select stepwell.fn_policy_activate(1, %s, 'operator')", (row[0]["version_no"],))


async def handlers(order: Order, meter: Meter) -> Answer:
    """Compared with what the slots allow: each begins its next handler at once."""
    count, wait_seconds = order.sizes["jobs"], order.sizes["handler_ms"] / 1000
    async with opened(order) as app:
        tally = Tally(count)
        warm = Tally(WARM_UP)

        async def coroutine(n: int) -> None:
            await asyncio.sleep(wait_seconds)
            (tally if n >= 0 else warm).add()

        def thread(n: int) -> None:
            time.sleep(wait_seconds)
            (tally if n >= 0 else warm).add()

        app.operation(thread if order.workload == "H20t" else coroutine, name="job")
        await app.prepare()
        async with working(app, order):
            await app.enqueue_many("job", [{"n": -1}] * WARM_UP)
            await warm.wait(order.budget_seconds)
            watch = StopWatch(meter, order.budget_seconds)
            watch.begin()
            await app.enqueue_many("job", [{"n": n} for n in range(count)])
            numbers = await watch.finish(tally, JOBS_OPEN)
    ideal_seconds = count * wait_seconds / DEFAULT_SLOTS
    numbers["ideal_percent"] = 100 * ideal_seconds / numbers["seconds"]
    return Answer(numbers, f"{note_of(order)}: {DEFAULT_SLOTS} slots")


WORKLOADS: dict[str, WorkloadFunction] = {
    "P2K": two_kilobytes,
    **dict.fromkeys(MAPS, map_of_items),
    "ACT": act,
    "H20": handlers,
    "H20t": handlers,
}
