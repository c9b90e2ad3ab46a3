"""Measure graphs: does a step cost the same in a run of 10 steps and in one of 10,000?

Receives the server; hands on CPU per step of Postgres and Python for chains, fan-outs and random layers of
growing size. CPU and not time: a lone chain waits for its own round trips whatever a step costs. Cells of one
shape have about the same number of steps in flight, so that batches are equally full.
"""

from __future__ import annotations

from typing import Any

from bench.contestant import Order
from bench.runner import answer_of, stepwell_contestant
from bench.server import BenchServer
from bench.workloads import BUDGET_SECONDS

SIZES = (10, 100, 1000, 10_000)
QUICK_SIZES = (10, 40)
# Chains and layers: as many runs at once at every size. Fans: as many steps at once at every size.
RUNS_AT_ONCE = {"chain": 8, "layers": 8}
FAN_STEPS_AT_ONCE = 10_000
FLAT_WITHIN = 1.3


def measure(server: BenchServer, *, quick: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for shape in ("chain", "fan", "layers"):
        result[shape] = {}
        for steps in QUICK_SIZES if quick else SIZES:
            result[shape][str(steps)] = _cell(server, shape, steps, quick=quick)
    return result


def _cell(server: BenchServer, shape: str, steps: int, *, quick: bool) -> dict[str, Any]:
    at_once = RUNS_AT_ONCE.get(shape) or max(1, FAN_STEPS_AT_ONCE // steps)
    runs = 2 if quick else at_once
    with server.fresh_database(f"graph_{shape}") as url:
        order = Order("graph", url, {"runs": runs, "steps": steps}, BUDGET_SECONDS, {"shape": shape})
        answer = answer_of(stepwell_contestant(), order)
    return {**answer["numbers"], "runs": runs, "empty_because": answer["empty_because"]}


def cpu_per_step(cell: dict[str, Any]) -> float | None:
    per_unit = cell.get("per_unit") or {}
    postgres, python = per_unit.get("postgres_cpu_us"), per_unit.get("python_cpu_us")
    return None if postgres is None or python is None else postgres + python


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"Cost of a step as the graph grows (flat means: the dearest within {FLAT_WITHIN}× of the cheapest):",
        "",
        "| shape | steps | runs at once | steps/s | Postgres + Python CPU µs a step | to the smallest |",
        "|---|---|---|---|---|---|",
    ]
    for shape, cells in result.items():
        first: float | None = None
        for steps, cell in cells.items():
            if cell["empty_because"]:
                lines.append(f"| {shape} | {steps} | {cell['runs']} | {cell['empty_because']} | | |")
                continue
            cost = cpu_per_step(cell)
            first = first if first is not None else cost
            shown = f"{cost:,.0f} | {cost / first:.2f}×" if cost and first else " | "
            partial = " (stopped by the time limit)" if cell.get("partial") else ""
            lines.append(
                f"| {shape} | {steps} | {cell['runs']} | {cell['steps_per_second']:,.0f}{partial} | {shown} |"
            )
    return "\n".join(lines) + "\n"
