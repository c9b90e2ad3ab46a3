"""Stepwell as a contestant: the same workloads through the public API, one worker in this process.

Every feature is on: registry, events, roll-up, fencing. The clock stops when the database has recorded
the end of all runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import psycopg

from bench import shapes
from bench.contestant import (
    Answer,
    Order,
    StopWatch,
    Tally,
    as_steps,
    chunks,
    run,
    sample_one_by_one,
)
from bench.meter import Meter
from stepwell import App, Worker, Workflow, __version__
from stepwell.store.schema.migrate import migrate
from stepwell.worker.worker import DEFAULT_SLOTS

# The worker begins with the first five hundred runs while the next ones are being started.
START_BATCH = 500
ENQUEUE_BATCH = 10_000
WARM_UP_RUNS = 20
RUNS_OPEN = "select count(*) from stepwell.run_detail where finished_at is null"
JOBS_OPEN = "select count(*) from stepwell.work_unit where scope = 'job' and completed_at is null"


def note_of(order: Order) -> str:
    """What is not the default."""
    if not order.options:
        return "default settings"
    return f"slots={order.options['slots']} (default {DEFAULT_SLOTS})"


@contextlib.asynccontextmanager
async def opened(order: Order) -> AsyncIterator[App]:
    """At the end the invariants are checked: a number of wrong work is none."""
    migrate(order.database_url)
    app = App(database_url=order.database_url)
    async with app:
        yield app
    with psycopg.connect(order.database_url, autocommit=True) as connection:
        broken = connection.execute("select * from stepwell.fn_invariants_check() where not ok").fetchall()
    if broken:
        raise RuntimeError(f"the invariants do not hold after {order.workload}: {broken[:3]}")


@contextlib.asynccontextmanager
async def working(app: App, order: Order) -> AsyncIterator[None]:
    async with Worker(app, **order.options):
        yield


async def start_all(app: App, name: str, runs: int) -> None:
    for part in chunks(runs, START_BATCH):
        await app.start_many(name, [{} for _ in part])


async def run_flow(order: Order, meter: Meter, flow: Workflow, runs: int, steps_of_run: int) -> Answer:
    """Warms the worker up, starts all runs, and measures until every run has ended."""
    async with opened(order) as app:
        counting: list[Tally] = []

        @app.operation(name="step")
        async def step() -> None:
            counting[-1].add()

        app.publish(flow)
        async with working(app, order):
            counting.append(Tally(WARM_UP_RUNS * steps_of_run if steps_of_run <= 200 else steps_of_run))
            await start_all(app, flow.name, counting[-1].target // steps_of_run)
            await counting[-1].wait(order.budget_seconds)
            counting.append(Tally(runs * steps_of_run))
            watch = StopWatch(meter, order.budget_seconds)
            watch.begin()
            await start_all(app, flow.name, runs)
            watch.all_started()
            numbers = await watch.finish(counting[-1], RUNS_OPEN)
    return Answer(as_steps(numbers, atomic_start=runs <= START_BATCH), note_of(order))


async def chain(order: Order, meter: Meter) -> Answer:
    steps = order.sizes["steps"]
    return await run_flow(order, meter, shapes.chain(steps), order.sizes["runs"], steps)


async def fan(order: Order, meter: Meter) -> Answer:
    width = order.sizes["width"]
    return await run_flow(order, meter, shapes.fan(width), order.sizes["runs"], width + 2)


async def chain_alone(order: Order, meter: Meter) -> Answer:
    """Measures from the call of `run` until it returns: the end of the run is then recorded.

    A second series starts the next run when the last handler runs, shortly before the worker becomes idle:
    a wake-up that is lost at that time makes its median much higher.
    """
    async with opened(order) as app:
        done = asyncio.Event()
        left = 0

        @app.operation(name="step")
        async def step() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                done.set()

        flow = shapes.chain(order.sizes["steps"])
        app.publish(flow)

        async def until_recorded() -> float:
            begun = time.perf_counter()
            await app.run(flow.name)
            return time.perf_counter() - begun

        async def until_last_handler() -> float:
            nonlocal left
            left = order.sizes["steps"]
            done.clear()
            begun = time.perf_counter()
            await app.start(flow.name)
            await done.wait()
            return time.perf_counter() - begun

        async with working(app, order):
            numbers = await sample_one_by_one(order, until_recorded, spaced=False)
            eager = await sample_one_by_one(order, until_last_handler, spaced=False)
    numbers["eager_p50_ms"] = eager.get("p50_ms")
    return Answer(numbers, note_of(order) + "; until its result is there")


async def jobs(order: Order, meter: Meter) -> Answer:
    count = order.sizes["jobs"]
    async with opened(order) as app:
        tally = Tally(count)

        @app.operation(name="job")
        async def job(n: int) -> None:
            tally.add()

        await app.prepare()
        begun = time.perf_counter()
        for part in chunks(count, ENQUEUE_BATCH):
            await app.enqueue_many("job", [{"n": n} for n in part])
        enqueue_seconds = time.perf_counter() - begun
        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        async with working(app, order):
            numbers = await watch.finish(tally, JOBS_OPEN)
    numbers["enqueued_per_second"] = count / enqueue_seconds
    numbers["drained_per_second"] = numbers["units_per_second"]
    return Answer(numbers, note_of(order))


async def wake(order: Order, meter: Meter) -> Answer:
    async with opened(order) as app:
        entered = asyncio.Event()
        entered_at = 0.0

        @app.operation(name="job")
        async def job(n: int) -> None:
            nonlocal entered_at
            entered_at = time.perf_counter()
            entered.set()

        await app.prepare()

        async def once() -> float:
            entered.clear()
            begun = time.perf_counter()
            await app.enqueue("job", {"n": 1})
            await entered.wait()
            return entered_at - begun

        async with working(app, order):
            numbers = await sample_one_by_one(order, once, spaced=True)
    return Answer(numbers, note_of(order) + "; woken by NOTIFY")


if __name__ == "__main__":
    from bench import payloads

    run(
        "stepwell",
        __version__,
        {
            "W1": chain, "W1b": chain, "W1u": chain_alone, "W2": jobs, "W3": fan, "W4": wake,
            **payloads.WORKLOADS,
        },
        {},
    )  # fmt: skip
