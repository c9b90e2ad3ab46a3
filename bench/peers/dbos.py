"""DBOS: durable workflows as a library; a workflow function calls steps, each step is checkpointed.

Settings: the faster of its two styles for each workload (plain functions on threads, coroutines on the loop),
found by measuring both; a pool of 20 connections (its default); many enqueues in one transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator
from importlib.metadata import version

import sqlalchemy
from dbos import DBOS, DBOSClient, DBOSConfig

from bench.contestant import Answer, Order, StopWatch, Tally, as_steps, chunks, run, sample_one_by_one
from bench.meter import Meter

QUEUE = "bench"
# More threads only wait for each other in the interpreter: of 2, 4, 8, 16 and 64 threads, 4 were fastest.
THREADS = 4
CLAIMED_AT_ONCE = 100
ENQUEUE_BATCH = 500
POLL_SECONDS = 0.02
NOTE = f"{THREADS} threads (default no limit)"
POLL_NOTE = f"queue polled every {POLL_SECONDS} s (default 1 s)"
UNFINISHED = "select count(*) from dbos.workflow_status where status in ('ENQUEUED', 'PENDING')"


def sqlalchemy_url(order: Order) -> str:
    return order.database_url.replace("postgresql://", "postgresql+psycopg://", 1)


def config(order: Order) -> DBOSConfig:
    return {
        "name": "bench",
        "system_database_url": order.database_url,
        "application_version": "bench",
        "log_level": "ERROR",
        "max_executor_threads": THREADS,
    }


@contextlib.asynccontextmanager
async def launched(order: Order) -> AsyncIterator[None]:
    DBOS(config=config(order))
    try:
        await asyncio.to_thread(DBOS.launch)
        yield
    finally:
        await asyncio.to_thread(DBOS.destroy, workflow_completion_timeout_sec=0)


async def chain_threads(order: Order, meter: Meter) -> Answer:
    runs, steps = order.sizes["runs"], order.sizes["steps"]
    tally = Tally(runs * steps)

    @DBOS.step()
    def step(n: int) -> int:
        tally.add()
        return n

    @DBOS.workflow()
    def flow(count: int) -> int:
        for n in range(count):
            step(n)
        return count

    def start_all() -> None:
        for _ in range(runs):
            DBOS.start_workflow(flow, steps)

    async with launched(order):
        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        await asyncio.to_thread(start_all)
        numbers = await watch.finish(tally, UNFINISHED)
    return Answer(as_steps(numbers, atomic_start=False), NOTE + "; workflows started directly")


async def chain_loop(order: Order, meter: Meter) -> Answer:
    runs, steps = order.sizes["runs"], order.sizes["steps"]
    tally = Tally(runs * steps)

    @DBOS.step()
    async def step(n: int) -> int:
        tally.add()
        return n

    @DBOS.workflow()
    async def flow(count: int) -> int:
        for n in range(count):
            await step(n)
        return count

    async with launched(order):
        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        await asyncio.gather(*(DBOS.start_workflow_async(flow, steps) for _ in range(runs)))
        numbers = await watch.finish(tally, UNFINISHED)
    return Answer(as_steps(numbers, atomic_start=False), NOTE + "; workflows started directly, on the loop")


async def chain(order: Order, meter: Meter) -> Answer:
    return await (chain_loop if order.options.get("style", "threads") == "loop" else chain_threads)(
        order, meter
    )


async def chain_alone(order: Order, meter: Meter) -> Answer:
    steps = order.sizes["steps"]

    @DBOS.step()
    def step(n: int) -> int:
        return n

    @DBOS.workflow()
    def flow(count: int) -> int:
        for n in range(count):
            step(n)
        return count

    async def once() -> float:
        begun = time.perf_counter()
        await asyncio.to_thread(flow, steps)
        return time.perf_counter() - begun

    async with launched(order):
        numbers = await sample_one_by_one(order, once, spaced=False)
    return Answer(numbers, NOTE + "; the workflow function called directly")


async def jobs(order: Order, meter: Meter) -> Answer:
    """Its client enqueues all jobs before the worker starts; then the worker drains the queue."""
    count = order.sizes["jobs"]
    tally = Tally(count)

    @DBOS.workflow(name="job")
    def job(n: int) -> int:
        tally.add()
        return n

    def enqueue_all() -> float:
        client = DBOSClient(system_database_url=order.database_url)
        engine = sqlalchemy.create_engine(sqlalchemy_url(order))
        try:
            client.register_queue(
                QUEUE, polling_interval_sec=POLL_SECONDS, worker_concurrency=CLAIMED_AT_ONCE
            )
            begun = time.perf_counter()
            for part in chunks(count, ENQUEUE_BATCH):
                with engine.begin() as connection:
                    for n in part:
                        client.enqueue_in_transaction(
                            connection,
                            {"queue_name": QUEUE, "workflow_name": "job", "app_version": "bench"},
                            n,
                        )
            return time.perf_counter() - begun
        finally:
            engine.dispose()
            client.destroy()

    DBOS.migrate(order.database_url)
    enqueue_seconds = await asyncio.to_thread(enqueue_all)
    watch = StopWatch(meter, order.budget_seconds)
    async with launched(order):
        watch.begin()
        numbers = await watch.finish(tally, UNFINISHED)
    numbers["enqueued_per_second"] = count / enqueue_seconds
    numbers["drained_per_second"] = numbers["units_per_second"]
    return Answer(
        numbers,
        f"{NOTE}; {ENQUEUE_BATCH} enqueues a transaction; {POLL_NOTE}; "
        f"at most {CLAIMED_AT_ONCE} at once (default no limit)",
    )


async def fan(order: Order, meter: Meter) -> Answer:
    runs, width = order.sizes["runs"], order.sizes["width"]
    tally = Tally(runs * (width + 2))

    @DBOS.step()
    async def step(n: int) -> int:
        tally.add()
        return n

    @DBOS.workflow()
    async def flow(count: int) -> int:
        await step(0)
        await asyncio.gather(*(step(n) for n in range(count)))
        return await step(count)

    async with launched(order):
        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        await asyncio.gather(*(DBOS.start_workflow_async(flow, width) for _ in range(runs)))
        numbers = await watch.finish(tally, UNFINISHED)
    return Answer(
        as_steps(numbers, atomic_start=False), NOTE + "; parallel steps by asyncio.gather in a workflow"
    )


async def wake(order: Order, meter: Meter) -> Answer:
    entered = threading.Event()
    entered_at = 0.0

    @DBOS.workflow()
    def job(n: int) -> int:
        nonlocal entered_at
        entered_at = time.perf_counter()
        entered.set()
        return n

    def one() -> float:
        entered.clear()
        begun = time.perf_counter()
        DBOS.enqueue_workflow(QUEUE, job, 1)
        entered.wait(timeout=10)
        return entered_at - begun

    async def once() -> float:
        return await asyncio.to_thread(one)

    async with launched(order):
        await DBOS.register_queue_async(QUEUE, polling_interval_sec=POLL_SECONDS)
        numbers = await sample_one_by_one(order, once, spaced=True)
    return Answer(numbers, f"{NOTE}; {POLL_NOTE}; the default makes about 500 ms")


if __name__ == "__main__":
    run(
        "dbos",
        version("dbos"),
        {"W1": chain, "W1b": chain, "W1u": chain_alone, "W2": jobs, "W3": fan, "W4": wake},
        {},
    )
