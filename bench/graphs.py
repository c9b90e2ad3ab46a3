"""Measure graphs: whether a step costs the same in a run of 10 steps and in one of 10,000.

Receives the server; returns Postgres CPU and time per step for chains, fan-outs and random layers of growing
size, from the start of the runs to their recorded end. One connection claims and reports; all sizes
of one shape have about the same number of steps in flight, so that batches are equally full, and at least
the same number of steps, so that a small graph is measured as exactly as a large one.
"""

from __future__ import annotations

from typing import Any

import psycopg

from bench import shapes
from bench.engine import Load, drain, fill, open_session
from bench.meter import Meter, cost_between
from bench.server import BenchServer

SIZES = {
    "chain": (10, 100, 1000, 10_000),
    "fan": (10, 100, 1000, 5002, 10_000),
    "layers": (10, 100, 1000, 10_000),
}
QUICK_SIZES = (10, 40)
# Chains and layers: the same number of runs at once at every size. Fans: the same number of steps at once.
RUNS_AT_ONCE = {"chain": 4, "layers": 4}
FAN_STEPS_AT_ONCE = 10_000
BATCH = {"chain": 4, "layers": 32, "fan": 100}
LEAST_STEPS = 10_000
REPEATS = 3
FLAT_WITHIN = 1.3

_START = "select count(*) from stepwell.fn_run_start(1, %s, array_fill('{}'::jsonb, array[%s]))"


def measure(server: BenchServer, *, quick: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for shape, sizes in SIZES.items():
        result[shape] = {}
        for steps in QUICK_SIZES if quick else sizes:
            with server.fresh_database(f"graph_{shape}", is_migrated=True) as url:
                result[shape][str(steps)] = _cell(url, shape, steps, quick=quick)
    return result


def _cell(url: str, shape: str, steps: int, *, quick: bool) -> dict[str, Any]:
    flow, steps_of_run = shapes.of(shape, steps)
    at_once = RUNS_AT_ONCE.get(shape) or max(1, FAN_STEPS_AT_ONCE // steps)
    load = Load(shape, flow, 2 if quick else at_once, BATCH[shape])
    groups = 1 if quick else max(1, LEAST_STEPS // (load.count * steps_of_run))
    meter = Meter(url)
    try:
        with psycopg.connect(url, autocommit=True, prepare_threshold=1) as connection:
            session_key = open_session(connection)
            # A small graph fills the caches of the connection; then the graph that is measured is published.
            fill(connection, Load(shape, shapes.of(shape, QUICK_SIZES[0])[0], 20, BATCH[shape]), 20)
            fill(connection, load, 1)
            drain(connection, session_key, load.batch)
            found = [
                _measured(connection, meter, session_key, load, groups)
                for _ in range(1 if quick else REPEATS)
            ]
    finally:
        meter.close()
    # The lowest of a few repeats: other load on the machine can only make a number higher.
    cheapest = min(found, key=lambda one: one["postgres_cpu_us"] or one["elapsed_us"])
    return {"runs": load.count, **cheapest}


def _measured(
    connection: psycopg.Connection[Any], meter: Meter, session_key: int, load: Load, groups: int
) -> dict[str, Any]:
    """Measures groups of runs: the runs of a group start together and end before the next group starts."""
    assert load.workflow is not None
    connection.execute("vacuum analyze")
    units = 0
    before = meter.read()
    for _ in range(groups):
        connection.execute(_START, [load.workflow.name, load.count])
        units += drain(connection, session_key, load.batch)
    after = meter.read()
    elapsed_us = (after.at_seconds - before.at_seconds) * 1e6 / units
    return {"units": units, "elapsed_us": elapsed_us, **cost_between(before, after, units)}


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"Cost of a step as the graph grows (largest to smallest at most {FLAT_WITHIN}× is wanted):",
        "",
        "| shape | steps | runs at once | µs a step | Postgres CPU µs a step | CPU to the smallest |",
        "|---|---|---|---|---|---|",
    ]
    for shape, cells in result.items():
        smallest = next(iter(cells.values()))["postgres_cpu_us"]
        for steps, cell in cells.items():
            cpu = cell["postgres_cpu_us"]
            shown = f"{cpu:,.0f} | {cpu / smallest:.2f}×" if cpu and smallest else " | "
            lines.append(f"| {shape} | {steps} | {cell['runs']} | {cell['elapsed_us']:,.0f} | {shown} |")
    return "\n".join(lines) + "\n"
