"""graphile-worker: a job queue on LISTEN/NOTIFY for Node; chains and joins are written by its user.

It runs twice: with the settings of a user who sets none (one job at a time), and tuned as its page on
performance says: many jobs at once, fetched and completed in batches. The client is in the worker's process.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator

from bench.contestant import Answer, Order, StopWatch, as_steps, run
from bench.meter import Meter
from bench.node_program import NodeProgram, counted_there, running, version_of

ENQUEUE_BATCH = 5000
UNFINISHED = "select count(*) from graphile_worker._private_jobs"
WARM_UP_JOBS = 100
WARM_UP_SECONDS = 20


def note_of(order: Order) -> str:
    """What is not the default; enqueued in bulk, which is a call of its client."""
    options = order.options
    if not options:
        return "default settings (1 job at a time, 10 connections)"
    return (
        f"{options['concurrentJobs']} jobs at a time (default 1), {options['maxPoolSize']} connections "
        f"(default 10), local queue of {options['localQueue']['size']} (default none), completed in batches "
        f"(completeJobBatchDelay {options['completeJobBatchDelay']}, default none)"
    )


@contextlib.asynccontextmanager
async def opened(order: Order, meter: Meter) -> AsyncIterator[NodeProgram]:
    async with running("graphile_worker.cjs") as program:
        meter.count_worker(program.pid)
        await program.ask("open", url=order.database_url, options=order.options)
        yield program
        await program.ask("close")


async def warm_up(program: NodeProgram) -> None:
    tally = await counted_there(program, WARM_UP_JOBS)
    await program.ask("work")
    await program.ask("jobs", total=WARM_UP_JOBS, batch=WARM_UP_JOBS)
    await tally.wait(WARM_UP_SECONDS)


async def chain(order: Order, meter: Meter) -> Answer:
    runs, steps = order.sizes["runs"], order.sizes["steps"]
    async with opened(order, meter) as program:
        await warm_up(program)
        tally = await counted_there(program, runs * steps)
        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        await program.ask("add", jobs=[{"identifier": "step", "payload": {"left": steps}}] * runs)
        watch.all_started()
        numbers = await watch.finish(tally, UNFINISHED)
    return Answer(as_steps(numbers, atomic_start=True), note_of(order) + "; each step enqueues the next")


async def chain_alone(order: Order, meter: Meter) -> Answer:
    async with opened(order, meter) as program:
        await warm_up(program)
        numbers = await program.sampled(
            order, "sample", spaced=False, identifier="step", payload={"left": order.sizes["steps"]}
        )
    return Answer(numbers, note_of(order) + "; until the last handler ran")


async def jobs(order: Order, meter: Meter) -> Answer:
    count = order.sizes["jobs"]
    async with opened(order, meter) as program:
        tally = await counted_there(program, count)
        begun = time.perf_counter()
        await program.ask("jobs", total=count, batch=ENQUEUE_BATCH)
        enqueue_seconds = time.perf_counter() - begun
        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        await program.ask("work")
        numbers = await watch.finish(tally, UNFINISHED)
    numbers["enqueued_per_second"] = count / enqueue_seconds
    numbers["drained_per_second"] = numbers["units_per_second"]
    return Answer(numbers, note_of(order))


async def fan(order: Order, meter: Meter) -> Answer:
    """The library has no join: the last parallel job finds the counter at zero and enqueues the join."""
    runs, width = order.sizes["runs"], order.sizes["width"]
    async with opened(order, meter) as program:
        await warm_up(program)
        tally = await counted_there(program, runs * (width + 2))
        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        first = [{"identifier": "first", "payload": {"no": no, "width": width}} for no in range(runs)]
        await program.ask("add", jobs=first)
        watch.all_started()
        numbers = await watch.finish(tally, UNFINISHED)
    return Answer(
        as_steps(numbers, atomic_start=True), note_of(order) + "; join by the user's own counter table"
    )


async def wake(order: Order, meter: Meter) -> Answer:
    async with opened(order, meter) as program:
        await warm_up(program)
        numbers = await program.sampled(order, "sample", spaced=True, identifier="job", payload={"n": 1})
    return Answer(numbers, note_of(order) + "; woken by NOTIFY")


if __name__ == "__main__":
    run(
        "graphile-worker",
        version_of("graphile-worker"),
        {"W1": chain, "W1b": chain, "W1u": chain_alone, "W2": jobs, "W3": fan, "W4": wake},
        {},
    )
