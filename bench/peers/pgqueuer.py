"""pgqueuer: a job queue on LISTEN/NOTIFY with batched dequeue; chains and joins are written by its user.

Settings: one asyncio worker on an asyncpg pool, dequeue in batches, bulk enqueue, durable tables (default).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from importlib.metadata import version

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.contestant import Answer, Order, StopWatch, Tally, as_steps, chunks, run, sample_one_by_one
from bench.meter import Meter

POOL_SIZE = 10
DEQUEUE_BATCH = 100
ENQUEUE_BATCH = 5000
WARM_UP_SECONDS = 20
UNFINISHED = "select count(*) from pgqueuer"
NOTE = f"dequeue in batches of {DEQUEUE_BATCH} (default 10), asyncpg pool of {POOL_SIZE}, bulk enqueue"


class Bench:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool
        self.queue = PgQueuer.from_asyncpg_pool(pool)
        self.queries = Queries.from_asyncpg_pool(pool)
        self._warmed = Tally(DEQUEUE_BATCH)

        @self.queue.entrypoint("warm")
        async def warm(job: Job) -> None:
            self._warmed.add()

    async def warm_up(self) -> None:
        """Waits until the worker listens and the connections have their prepared statements."""
        await self.enqueue("warm", [None] * DEQUEUE_BATCH)
        await self._warmed.wait(WARM_UP_SECONDS)

    async def enqueue(self, entrypoint: str, payloads: list[bytes | None]) -> None:
        count = len(payloads)
        await self.queries.enqueue([entrypoint] * count, payloads, [0] * count)

    async def enqueue_one(self, entrypoint: str, payload: bytes) -> None:
        await self.queries.enqueue(entrypoint, payload)


@contextlib.asynccontextmanager
async def opened(order: Order) -> AsyncIterator[Bench]:
    logging.getLogger("pgqueuer").setLevel(logging.ERROR)
    async with asyncpg.create_pool(order.database_url, min_size=POOL_SIZE, max_size=POOL_SIZE) as pool:
        bench = Bench(pool)
        await bench.queries.install()
        yield bench


@contextlib.asynccontextmanager
async def working(bench: Bench, order: Order) -> AsyncIterator[None]:
    worker = asyncio.create_task(
        bench.queue.run(
            batch_size=int(order.options.get("batch", DEQUEUE_BATCH)), dequeue_timeout=timedelta(seconds=30)
        )
    )
    try:
        yield
    finally:
        bench.queue.shutdown.set()
        with contextlib.suppress(asyncio.CancelledError, TimeoutError):
            await asyncio.wait_for(worker, timeout=15)


async def chain(order: Order, meter: Meter) -> Answer:
    runs, steps = order.sizes["runs"], order.sizes["steps"]
    async with opened(order) as bench:
        tally = Tally(runs * steps)

        @bench.queue.entrypoint("step")
        async def step(job: Job) -> None:
            tally.add()
            left = int(job.payload or b"0")
            if left > 1:
                await bench.enqueue_one("step", str(left - 1).encode())

        async with working(bench, order):
            await bench.warm_up()
            watch = StopWatch(meter, order.budget_seconds)
            watch.begin()
            for part in chunks(runs, ENQUEUE_BATCH):
                await bench.enqueue("step", [str(steps).encode()] * len(part))
            watch.all_started()
            numbers = await watch.finish(tally, UNFINISHED)
    return Answer(
        as_steps(numbers, atomic_start=runs <= ENQUEUE_BATCH), NOTE + "; each step enqueues the next"
    )


async def chain_alone(order: Order, meter: Meter) -> Answer:
    steps = order.sizes["steps"]
    async with opened(order) as bench:
        done = asyncio.Event()

        @bench.queue.entrypoint("step")
        async def step(job: Job) -> None:
            left = int(job.payload or b"0")
            if left > 1:
                await bench.enqueue_one("step", str(left - 1).encode())
            else:
                done.set()

        async def once() -> float:
            done.clear()
            begun = time.perf_counter()
            await bench.enqueue_one("step", str(steps).encode())
            await done.wait()
            return time.perf_counter() - begun

        async with working(bench, order):
            await bench.warm_up()
            numbers = await sample_one_by_one(order, once, spaced=False)
    return Answer(numbers, NOTE + "; until the last handler ran")


async def jobs(order: Order, meter: Meter) -> Answer:
    count = order.sizes["jobs"]
    async with opened(order) as bench:
        tally = Tally(count)

        @bench.queue.entrypoint("job")
        async def job(job: Job) -> None:
            tally.add()

        begun = time.perf_counter()
        for part in chunks(count, ENQUEUE_BATCH):
            await bench.enqueue("job", [json.dumps({"n": n}).encode() for n in part])
        enqueue_seconds = time.perf_counter() - begun
        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        async with working(bench, order):
            numbers = await watch.finish(tally, UNFINISHED)
    numbers["enqueued_per_second"] = count / enqueue_seconds
    numbers["drained_per_second"] = numbers["units_per_second"]
    return Answer(numbers, NOTE)


async def fan(order: Order, meter: Meter) -> Answer:
    """The library has no join: the last parallel job finds the counter at zero and enqueues the join."""
    runs, width = order.sizes["runs"], order.sizes["width"]
    async with opened(order) as bench:
        tally = Tally(runs * (width + 2))

        @bench.queue.entrypoint("join")
        async def join(job: Job) -> None:
            tally.add()

        @bench.queue.entrypoint("part")
        async def part(job: Job) -> None:
            left = await bench.pool.fetchval(
                "update bench_join set open_count = open_count - 1 where run_no = $1 returning open_count",
                int(job.payload or b"0"),
            )
            tally.add()
            if left == 0:
                await bench.enqueue_one("join", job.payload or b"")

        @bench.queue.entrypoint("first")
        async def first(job: Job) -> None:
            await bench.pool.execute(
                "insert into bench_join values ($1, $2)", int(job.payload or b"0"), width
            )
            tally.add()
            await bench.enqueue("part", [job.payload] * width)

        await bench.pool.execute("create table bench_join (run_no int primary key, open_count int not null)")
        async with working(bench, order):
            await bench.warm_up()
            watch = StopWatch(meter, order.budget_seconds)
            watch.begin()
            await bench.enqueue("first", [str(no).encode() for no in range(runs)])
            watch.all_started()
            numbers = await watch.finish(tally, UNFINISHED)
    return Answer(as_steps(numbers, atomic_start=True), NOTE + "; join by the user's own counter table")


async def wake(order: Order, meter: Meter) -> Answer:
    async with opened(order) as bench:
        entered = asyncio.Event()
        entered_at = 0.0

        @bench.queue.entrypoint("job")
        async def job(job: Job) -> None:
            nonlocal entered_at
            entered_at = time.perf_counter()
            entered.set()

        async def once() -> float:
            entered.clear()
            begun = time.perf_counter()
            await bench.enqueue_one("job", b"{}")
            await entered.wait()
            return entered_at - begun

        async with working(bench, order):
            await bench.warm_up()
            numbers = await sample_one_by_one(order, once, spaced=True)
    return Answer(numbers, NOTE + "; woken by NOTIFY")


if __name__ == "__main__":
    run(
        "pgqueuer",
        version("pgqueuer"),
        {"W1": chain, "W1b": chain, "W1u": chain_alone, "W2": jobs, "W3": fan, "W4": wake},
        {},
    )
