"""Contestant: the protocol that every contestant follows, and the stop-watch that all of them use.

A contestant is a module run as `python -m bench.peers.<name> '<order>'`. It receives an `Order` as JSON and
writes one line of JSON to stdout: its numbers, or the reason why a cell is empty.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import statistics
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.meter import Meter, Reading, cost_between

SETTLE_POLL_SECONDS = 0.002
IDLE_GAP_SECONDS = (0.005, 0.025)


@dataclass(frozen=True)
class Order:
    """One cell of the table: which workload, where, how much, and for how long at most."""

    workload: str
    database_url: str
    sizes: dict[str, int]
    budget_seconds: float
    options: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Answer:
    numbers: dict[str, Any]
    note: str = ""
    empty_because: str = ""


WorkloadFunction = Callable[[Order, Meter], Awaitable[Answer]]


class Tally:
    """Counts handler calls from any thread and wakes the waiting loop at the target."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.count = 0
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._reached = asyncio.Event()

    def add(self) -> None:
        with self._lock:
            self.count += 1
            reached = self.count == self.target
        if reached:
            self._loop.call_soon_threadsafe(self._reached.set)

    async def wait(self, timeout_seconds: float) -> bool:
        """True when the target was reached in time; else the caller measures the calls that were made."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._reached.wait()
        except TimeoutError:
            return False
        return True


@dataclass
class StopWatch:
    """Times one bulk workload: begin → (all started) → no unfinished work is left in the database."""

    meter: Meter
    budget_seconds: float
    before: Reading = field(init=False)
    started_at_seconds: float = field(init=False, default=0.0)

    def begin(self) -> None:
        self.before = self.meter.read()

    def all_started(self) -> None:
        self.started_at_seconds = time.perf_counter()

    async def finish(self, tally: Tally, unfinished_query: str) -> dict[str, Any]:
        """Waits for the last handler, then until the database has recorded its end."""
        remaining = self.budget_seconds - (time.perf_counter() - self.before.at_seconds)
        in_time = await tally.wait(max(remaining, 0.0))
        if in_time:
            in_time = await settled(self.meter, unfinished_query, self.budget_seconds)
        after = self.meter.read()
        elapsed = after.at_seconds - self.before.at_seconds
        units = min(tally.count, tally.target)
        numbers: dict[str, Any] = {
            "units": units,
            "seconds": elapsed,
            "units_per_second": units / elapsed,
            "per_unit": cost_between(self.before, after, max(units, 1)),
            "partial": not in_time,
            "handler_calls": tally.count,
        }
        if self.started_at_seconds:
            numbers["start_seconds"] = self.started_at_seconds - self.before.at_seconds
            numbers["units_per_second_loaded"] = units / (after.at_seconds - self.started_at_seconds)
        return numbers


async def settled(meter: Meter, unfinished_query: str, timeout_seconds: float) -> bool:
    """Polls until the query returns 0; called only after the last handler, so it does not slow the work."""
    deadline = time.perf_counter() + timeout_seconds
    while time.perf_counter() < deadline:
        if meter.scalar(unfinished_query) == 0:
            return True
        await asyncio.sleep(SETTLE_POLL_SECONDS)
    return False


def as_steps(numbers: dict[str, Any], *, atomic_start: bool) -> dict[str, Any]:
    """Names a bulk result for W1, W1b and W3.

    `atomic_start` says that one commit made all runs visible. Only then the speed "once all are started" is
    reported: otherwise the worker is already busy before the last run starts.
    """
    named = {
        **numbers,
        "steps_per_second": numbers["units_per_second"],
        "steps_per_second_loaded": numbers.get("units_per_second_loaded") if atomic_start else None,
    }
    return named


def percentiles(samples_seconds: list[float]) -> dict[str, Any]:
    if not samples_seconds:
        return {"samples": 0}
    ordered = sorted(samples_seconds)
    return {
        "samples": len(ordered),
        "p50_ms": statistics.median(ordered) * 1000,
        "p99_ms": ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1000,
        "max_ms": ordered[-1] * 1000,
    }


async def sample_one_by_one(
    order: Order, once: Callable[[], Awaitable[float]], *, spaced: bool, warm_up: int = 5
) -> dict[str, Any]:
    """Repeats `once`, which returns its own duration; `spaced` leaves the worker idle before each call."""
    gaps = random.Random(4)
    samples: list[float] = []
    wanted = order.sizes["samples"]
    # A contestant that loses a job must not block the bench: the samples measured before are reported.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(order.budget_seconds):
            for _ in range(warm_up):
                await once()
            while len(samples) < wanted:
                if spaced:
                    await asyncio.sleep(gaps.uniform(*IDLE_GAP_SECONDS))
                samples.append(await once())
    return {**percentiles(samples), "partial": len(samples) < wanted}


def chunks(total: int, size: int) -> list[range]:
    return [range(low, min(low + size, total)) for low in range(0, total, size)]


def run(name: str, version: str, workloads: dict[str, WorkloadFunction], empty: dict[str, str]) -> None:
    """Entry point of a contestant's process."""
    # Libraries may print; only our one line may reach the real stdout.
    result_fd = os.dup(1)
    os.dup2(2, 1)
    order = Order(**json.loads(sys.argv[1]))
    if order.workload in workloads:
        answer = asyncio.run(_measure(order, workloads[order.workload]))
    else:
        answer = Answer({}, empty_because=empty.get(order.workload, "no such workload for this contestant"))
    line = json.dumps({"contestant": name, "version": version, "sizes": order.sizes, **asdict(answer)})
    os.write(result_fd, line.encode() + b"\n")


async def _measure(order: Order, workload: WorkloadFunction) -> Answer:
    meter = Meter(order.database_url)
    try:
        return await workload(order, meter)
    finally:
        meter.close()
