"""procrastinate: a job queue on LISTEN/NOTIFY; its user writes chains and joins, as jobs that defer jobs.

Settings: one asyncio worker, concurrency 20 on a pool of 20 connections (more is slower), bulk defer.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.metadata import version

import procrastinate

from bench.contestant import Answer, Order, StopWatch, Tally, as_steps, chunks, run, sample_one_by_one
from bench.meter import Meter

CONCURRENCY = 20
BATCH = 1000
# Its worker clears the "new job" mark after a fetch, so a NOTIFY in between is lost until the next poll;
# with the default of 5 s a chain stalls for seconds.
POLL_SECONDS = 0.1
UNFINISHED = "select count(*) from procrastinate_jobs where status in ('todo', 'doing')"
COUNTERS = "create table if not exists bench_join (run_no int primary key, open_count int not null)"
COUNT_DOWN = "update bench_join set open_count = open_count - 1 where run_no = %(no)s returning open_count"
NOTE = (
    f"concurrency {CONCURRENCY} (default 1), NOTIFY and a poll every {POLL_SECONDS} s (default 5 s), "
    f"defer in batches of {BATCH}"
)


@contextlib.asynccontextmanager
async def opened(order: Order) -> AsyncIterator[procrastinate.App]:
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    connector = procrastinate.PsycopgConnector(
        conninfo=order.database_url, min_size=CONCURRENCY, max_size=CONCURRENCY
    )
    app = procrastinate.App(connector=connector)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        yield app


@contextlib.asynccontextmanager
async def working(app: procrastinate.App, order: Order) -> AsyncIterator[None]:
    concurrency = int(order.options.get("concurrency", CONCURRENCY))
    worker = asyncio.create_task(
        app.run_worker_async(
            concurrency=concurrency,
            fetch_job_polling_interval=POLL_SECONDS,
            install_signal_handlers=False,
        )
    )
    try:
        yield
    finally:
        worker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await worker


async def warm_up(app: procrastinate.App) -> None:
    """Waits until the worker listens and every connection has its prepared statements."""
    ready = Tally(CONCURRENCY * 5)

    @app.task(name="warm")
    async def warm(**_: int) -> None:
        ready.add()

    await warm.batch_defer_async(*({"n": n} for n in range(CONCURRENCY * 5)))
    await ready.wait(20)


async def chain(order: Order, meter: Meter) -> Answer:
    runs, steps = order.sizes["runs"], order.sizes["steps"]
    async with opened(order) as app:
        tally = Tally(runs * steps)

        @app.task(name="step")
        async def step(left: int) -> None:
            tally.add()
            if left > 1:
                await step.defer_async(left=left - 1)

        async with working(app, order):
            await warm_up(app)
            watch = StopWatch(meter, order.budget_seconds)
            watch.begin()
            for part in chunks(runs, BATCH):
                await step.batch_defer_async(*({"left": steps} for _ in part))
            watch.all_started()
            numbers = await watch.finish(tally, UNFINISHED)
    return Answer(as_steps(numbers, atomic_start=runs <= BATCH), NOTE + "; each step defers the next")


async def chain_alone(order: Order, meter: Meter) -> Answer:
    steps = order.sizes["steps"]
    async with opened(order) as app:
        done = asyncio.Event()

        @app.task(name="step")
        async def step(left: int) -> None:
            if left > 1:
                await step.defer_async(left=left - 1)
            else:
                done.set()

        async def once() -> float:
            done.clear()
            begun = time.perf_counter()
            await step.defer_async(left=steps)
            await done.wait()
            return time.perf_counter() - begun

        async with working(app, order):
            await warm_up(app)
            numbers = await sample_one_by_one(order, once, spaced=False)
    return Answer(numbers, NOTE + "; until the last handler ran")


async def jobs(order: Order, meter: Meter) -> Answer:
    count = order.sizes["jobs"]
    async with opened(order) as app:
        tally = Tally(count)

        @app.task(name="job")
        async def job(n: int) -> None:
            tally.add()

        begun = time.perf_counter()
        for part in chunks(count, BATCH):
            await job.batch_defer_async(*({"n": n} for n in part))
        enqueue_seconds = time.perf_counter() - begun
        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        async with working(app, order):
            numbers = await watch.finish(tally, UNFINISHED)
    numbers["enqueued_per_second"] = count / enqueue_seconds
    numbers["drained_per_second"] = numbers["units_per_second"]
    return Answer(numbers, NOTE)


async def fan(order: Order, meter: Meter) -> Answer:
    """The library has no join: the last parallel job finds the counter at zero and defers the join."""
    runs, width = order.sizes["runs"], order.sizes["width"]
    async with opened(order) as app:
        tally = Tally(runs * (width + 2))
        execute: Callable[..., Awaitable[dict[str, int]]] = app.connector.execute_query_one_async

        @app.task(name="join")
        async def join(run_no: int) -> None:
            tally.add()

        @app.task(name="part")
        async def part(run_no: int) -> None:
            row = await execute(
                COUNT_DOWN,
                no=run_no,
            )
            tally.add()
            if row["open_count"] == 0:
                await join.defer_async(run_no=run_no)

        @app.task(name="first")
        async def first(run_no: int) -> None:
            await app.connector.execute_query_async(
                "insert into bench_join values (%(no)s, %(width)s)", no=run_no, width=width
            )
            tally.add()
            await part.batch_defer_async(*({"run_no": run_no} for _ in range(width)))

        await app.connector.execute_query_async(COUNTERS)
        async with working(app, order):
            await warm_up(app)
            watch = StopWatch(meter, order.budget_seconds)
            watch.begin()
            await first.batch_defer_async(*({"run_no": no} for no in range(runs)))
            watch.all_started()
            numbers = await watch.finish(tally, UNFINISHED)
    return Answer(as_steps(numbers, atomic_start=True), NOTE + "; join by the user's own counter table")


async def wake(order: Order, meter: Meter) -> Answer:
    async with opened(order) as app:
        entered = asyncio.Event()
        entered_at = 0.0

        @app.task(name="job")
        async def job(n: int) -> None:
            nonlocal entered_at
            entered_at = time.perf_counter()
            entered.set()

        async def once() -> float:
            entered.clear()
            begun = time.perf_counter()
            await job.defer_async(n=1)
            await entered.wait()
            return entered_at - begun

        async with working(app, order):
            await warm_up(app)
            numbers = await sample_one_by_one(order, once, spaced=True)
    return Answer(numbers, NOTE + "; woken by NOTIFY")


if __name__ == "__main__":
    run(
        "procrastinate",
        version("procrastinate"),
        {"W1": chain, "W1b": chain, "W1u": chain_alone, "W2": jobs, "W3": fan, "W4": wake},
        {},
    )
