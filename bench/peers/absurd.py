"""Absurd: durable tasks in Postgres functions; a task calls `ctx.step`, each step is a checkpoint.

Settings: its coroutine worker, which claims in batches; the client has no bulk spawn and one connection. The
schema comes from the `absurdctl` package (`BUNDLED_SCHEMA_SQL`), the SDK package does not contain it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from importlib.metadata import version

import psycopg
from absurd_sdk import AsyncAbsurd, AsyncTaskContext
from absurdctl import BUNDLED_SCHEMA_SQL

from bench.contestant import Answer, Order, StopWatch, Tally, as_steps, run, sample_one_by_one
from bench.meter import Meter

QUEUE = "bench"
CONCURRENCY = 50
POLL_SECONDS = 0.01
UNFINISHED = f"select count(*) from absurd.t_{QUEUE} where state not in ('completed', 'failed', 'cancelled')"
NOTE = f"concurrency {CONCURRENCY} (default 1), polled every {POLL_SECONDS} s (default 0.25 s)"


@contextlib.asynccontextmanager
async def opened(order: Order) -> AsyncIterator[AsyncAbsurd]:
    """A second client that spawns tasks: the worker uses the only connection of its own client."""
    async with await psycopg.AsyncConnection.connect(order.database_url, autocommit=True) as connection:
        await connection.execute(BUNDLED_SCHEMA_SQL)
    app = AsyncAbsurd(order.database_url, queue_name=QUEUE)
    await app.create_queue(QUEUE)
    try:
        yield app
    finally:
        await app.close()


@contextlib.asynccontextmanager
async def working(order: Order) -> AsyncIterator[AsyncAbsurd]:
    """Yields the client of the worker; the caller registers its tasks there before the first spawn."""
    app = AsyncAbsurd(order.database_url, queue_name=QUEUE)
    concurrency = int(order.options.get("concurrency", CONCURRENCY))
    task = asyncio.create_task(app.start_worker(concurrency=concurrency, poll_interval=POLL_SECONDS))
    try:
        yield app
    finally:
        app.stop_worker()
        with contextlib.suppress(asyncio.CancelledError, TimeoutError):
            await asyncio.wait_for(task, timeout=15)
        await app.close()


async def spawn_all(client: AsyncAbsurd, task_name: str, count: int) -> None:
    for n in range(count):
        await client.spawn(task_name, {"n": n}, queue=QUEUE)


async def chain(order: Order, meter: Meter) -> Answer:
    runs, steps = order.sizes["runs"], order.sizes["steps"]
    tally = Tally(runs * steps)

    async def work() -> int:
        tally.add()
        return 1

    async with opened(order) as client, working(order) as worker:

        @worker.register_task("flow")
        async def flow(params: dict[str, int], ctx: AsyncTaskContext) -> int:
            for n in range(steps):
                await ctx.step(f"step{n}", work)
            return steps

        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        await spawn_all(client, "flow", runs)
        numbers = await watch.finish(tally, UNFINISHED)
    return Answer(as_steps(numbers, atomic_start=False), NOTE)


async def chain_alone(order: Order, meter: Meter) -> Answer:
    steps = order.sizes["steps"]
    done = asyncio.Event()

    async def work() -> int:
        return 1

    async with opened(order) as client, working(order) as worker:

        @worker.register_task("flow")
        async def flow(params: dict[str, int], ctx: AsyncTaskContext) -> int:
            for n in range(steps):
                await ctx.step(f"step{n}", work)
            done.set()
            return steps

        async def once() -> float:
            done.clear()
            begun = time.perf_counter()
            await client.spawn("flow", {}, queue=QUEUE)
            await done.wait()
            return time.perf_counter() - begun

        numbers = await sample_one_by_one(order, once, spaced=False)
    return Answer(numbers, NOTE + "; until the last step is a checkpoint")


async def jobs(order: Order, meter: Meter) -> Answer:
    count = order.sizes["jobs"]
    tally = Tally(count)
    async with opened(order) as client:
        begun = time.perf_counter()
        await spawn_all(client, "job", count)
        enqueue_seconds = time.perf_counter() - begun
        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        async with working(order) as worker:

            @worker.register_task("job")
            async def job(params: dict[str, int], ctx: AsyncTaskContext) -> None:
                tally.add()

            numbers = await watch.finish(tally, UNFINISHED)
    numbers["enqueued_per_second"] = count / enqueue_seconds
    numbers["drained_per_second"] = numbers["units_per_second"]
    return Answer(numbers, NOTE + "; no bulk spawn in the client")


async def fan(order: Order, meter: Meter) -> Answer:
    runs, width = order.sizes["runs"], order.sizes["width"]
    tally = Tally(runs * (width + 2))

    async def work() -> int:
        tally.add()
        return 1

    async with opened(order) as client, working(order) as worker:

        @worker.register_task("flow")
        async def flow(params: dict[str, int], ctx: AsyncTaskContext) -> int:
            await ctx.step("first", work)
            await asyncio.gather(*(ctx.step(f"part{n}", work) for n in range(width)))
            return await ctx.step("join", work)

        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        await spawn_all(client, "flow", runs)
        numbers = await watch.finish(tally, UNFINISHED)
    return Answer(
        as_steps(numbers, atomic_start=False), NOTE + "; parallel steps by asyncio.gather inside a task"
    )


async def wake(order: Order, meter: Meter) -> Answer:
    entered = asyncio.Event()
    entered_at = 0.0
    async with opened(order) as client, working(order) as worker:

        @worker.register_task("job")
        async def job(params: dict[str, int], ctx: AsyncTaskContext) -> None:
            nonlocal entered_at
            entered_at = time.perf_counter()
            entered.set()

        async def once() -> float:
            entered.clear()
            begun = time.perf_counter()
            await client.spawn("job", {}, queue=QUEUE)
            await entered.wait()
            return entered_at - begun

        numbers = await sample_one_by_one(order, once, spaced=True)
    return Answer(numbers, NOTE + "; the default makes about 125 ms")


if __name__ == "__main__":
    run(
        "absurd",
        version("absurd-sdk"),
        {"W1": chain, "W1b": chain, "W1u": chain_alone, "W2": jobs, "W3": fan, "W4": wake},
        {},
    )
