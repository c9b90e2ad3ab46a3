"""Restate: durable execution by a server of its own; a handler calls `ctx.run`, each step is in its log.

It does not use Postgres: the server (one node with the default settings, which wait for the disk) has its log
and its store in files of its own. The server is reached by a socket in a folder, as Postgres is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bench.contestant import Answer, Order, StopWatch, as_steps, run
from bench.environment import FOLDER
from bench.meter import Meter
from bench.node_program import (
    NodeProgram,
    counted_there,
    end_with_parent,
    ended,
    running,
    version_of,
)

NOTHING_UNFINISHED = "select 0"
NOTE = "default settings; not Postgres: its own server and log, fsync on (the default)"
NODE_NAME = "bench"
WARM_UP_RUNS = 20
WARM_UP_SECONDS = 30


def server_program() -> Path:
    return next((FOLDER / "node_modules" / "@restatedev").glob("restate-server-*/bin/restate-server"))


@contextlib.asynccontextmanager
async def served(folder: Path) -> AsyncIterator[int]:
    """The server with its files in a part of this folder that has the name of the node; yields its pid."""
    log_path = folder / "server.log"
    with log_path.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            str(server_program()),
            *("--base-dir", str(folder), "--listen-mode", "unix", "--node-name", NODE_NAME, "--no-logo"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Nobody but the benchmark hears of it.
            env={**os.environ, "RESTATE_DISABLE_TELEMETRY": "true"},
            preexec_fn=end_with_parent,
        )
    try:
        yield process.pid
    except BaseException:
        print(log_path.read_text(encoding="utf-8", errors="replace")[-2000:], file=sys.stderr)
        raise
    finally:
        await ended(process)


@contextlib.asynccontextmanager
async def opened(order: Order, meter: Meter, *, calls: int) -> AsyncIterator[NodeProgram]:
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-restate-", ignore_cleanup_errors=True) as name:
        async with served(Path(name)) as server_pid, running("restate.cjs") as program:
            meter.count_server(server_pid)
            meter.count_worker(program.pid)
            await program.ask("open", folder=f"{name}/{NODE_NAME}", calls=calls)
            yield program


async def run_all(
    order: Order, meter: Meter, handler: str, body: dict[str, Any], steps_of_run: int
) -> dict[str, Any]:
    """Warms the worker up, calls the handler many times at once, measures until all results are there."""
    runs = order.sizes["runs"]
    async with opened(order, meter, calls=runs) as program:
        warm_up_runs = min(runs, WARM_UP_RUNS)
        tally = await counted_there(program, warm_up_runs * steps_of_run)
        await program.ask("start", handler=handler, body=body, runs=warm_up_runs)
        await tally.wait(WARM_UP_SECONDS)
        tally = await counted_there(program, runs * steps_of_run)
        watch = StopWatch(meter, order.budget_seconds)
        watch.begin()
        await program.ask("start", handler=handler, body=body, runs=runs)
        return await watch.finish(tally, NOTHING_UNFINISHED)


async def chain(order: Order, meter: Meter) -> Answer:
    steps = order.sizes["steps"]
    numbers = await run_all(order, meter, "chain", {"steps": steps}, steps)
    return Answer(as_steps(numbers, atomic_start=False), NOTE)


async def two_kilobytes(order: Order, meter: Meter) -> Answer:
    steps = order.sizes["steps"]
    body = {"steps": steps, "text": "x" * order.sizes["bytes"]}
    numbers = await run_all(order, meter, "payload", body, steps)
    return Answer(as_steps(numbers, atomic_start=False), NOTE)


async def fan(order: Order, meter: Meter) -> Answer:
    width = order.sizes["width"]
    numbers = await run_all(order, meter, "fan", {"width": width}, width + 2)
    return Answer(as_steps(numbers, atomic_start=False), NOTE + "; parallel steps by RestatePromise.all")


async def chain_alone(order: Order, meter: Meter) -> Answer:
    async with opened(order, meter, calls=1) as program:
        numbers = await program.sampled(
            order, "alone", spaced=False, handler="chain", body={"steps": order.sizes["steps"]}
        )
    return Answer(numbers, NOTE + "; until its result is there")


async def wake(order: Order, meter: Meter) -> Answer:
    async with opened(order, meter, calls=1) as program:
        numbers = await program.sampled(order, "wake", spaced=True)
    return Answer(numbers, NOTE + "; called one-way")


if __name__ == "__main__":
    run(
        "restate",
        version_of("@restatedev/restate-server"),
        {"W1": chain, "W1b": chain, "W1u": chain_alone, "W3": fan, "W4": wake, "P2K": two_kilobytes},
        {"W2": "no queue to drain: its server pushes work, to an absent worker again after growing pauses"},
    )
