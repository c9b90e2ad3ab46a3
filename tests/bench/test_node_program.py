"""A worker in Node answers its questions, counts its calls, and ends with the process that started it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from bench.contestant import Order
from bench.environment import ROOT
from bench.meter import Meter, cost_between, process_cpu_seconds
from bench.node_program import WARM_UP_CALLS, NodeProgram, counted_there, running
from tests.bench.processes import is_running
from tests.support.wait import until

T = TypeVar("T")
ODD = Path(__file__).with_name("odd_program.cjs")


def with_program(use: Callable[[NodeProgram], Awaitable[T]]) -> T:
    async def whole() -> T:
        async with running(ODD) as program:
            return await use(program)

    return asyncio.run(whole())


def test_calls_are_counted_up_to_the_target():
    async def use(program: NodeProgram) -> tuple[bool, int, bool, int]:
        tally = await counted_there(program, 3)
        await program.ask("add", times=2)
        before = await tally.wait(0.01)
        counted = tally.count
        await program.ask("add", times=1)
        return before, counted, await tally.wait(30.0), tally.count

    assert with_program(use) == (False, 2, True, 3)


def test_an_error_of_the_program_is_an_error_here():
    with pytest.raises(RuntimeError, match="fail: Error: no such table"):
        with_program(lambda program: program.ask("fail"))


def test_a_program_that_ends_is_an_error_here():
    with pytest.raises(RuntimeError, match="the Node program ended at 'end'"):
        with_program(lambda program: program.ask("end"))


def order(samples: int, seconds: float) -> Order:
    return Order("W4", "", {"samples": samples}, seconds)


def test_samples_do_not_contain_the_first_calls():
    async def use(program: NodeProgram) -> dict[str, Any]:
        return await program.sampled(order(3, 30.0), "take", spaced=False)

    found = with_program(use)
    # The nth call says that it took n milliseconds.
    assert found["p50_ms"] == pytest.approx(WARM_UP_CALLS + 2)
    assert found["max_ms"] == pytest.approx(WARM_UP_CALLS + 3)
    assert found["samples"] == 3
    assert found["partial"] is False


def test_a_call_that_is_lost_ends_at_the_time_limit():
    async def use(program: NodeProgram) -> dict[str, Any]:
        return await program.sampled(order(3, 0.05), "never", spaced=False)

    assert with_program(use) == {"samples": 0, "partial": True}


def test_a_program_ends_with_the_process_that_started_it():
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.node_parent"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
    finally:
        parent.kill()
        parent.communicate()
    until(lambda: not is_running(pid), what="the end of the program")


def test_the_cpu_of_a_program_counts_as_that_of_the_worker(empty_dsn: str):
    async def use(program: NodeProgram) -> tuple[float, float | None]:
        meter = Meter(empty_dsn)
        meter.count_worker(program.pid)
        before, begun = meter.read(), process_cpu_seconds(program.pid)
        await program.ask("aim", target=1)
        await program.ask("add", times=20_000_000)
        took = process_cpu_seconds(program.pid) - begun
        cost = cost_between(before, meter.read(), 1)
        meter.close()
        return took, cost["python_cpu_us"]

    took_seconds, counted_us = with_program(use)
    assert took_seconds > 0
    assert counted_us is not None
    assert counted_us >= took_seconds * 1e6


def test_a_server_with_a_log_of_its_own_has_no_wal(empty_dsn: str):
    async def use(program: NodeProgram) -> tuple[float, dict[str, float | None]]:
        meter = Meter(empty_dsn)
        meter.count_server(program.pid)
        before = meter.read()
        await program.ask("add", times=20_000_000)
        cost = cost_between(before, meter.read(), 1)
        meter.close()
        return process_cpu_seconds(program.pid), cost

    whole_seconds, cost = with_program(use)
    assert cost["postgres_cpu_us"] is not None
    assert 0 < cost["postgres_cpu_us"] <= whole_seconds * 1e6
    assert cost["wal_bytes"] is None
    assert cost["commits"] is None
