"""Workloads: what is measured, how much of it, and which of its numbers is compared.

Receives nothing; offers `WORKLOADS`, and `sizes_for`, which returns the size of a cell for one contestant.
"""

from __future__ import annotations

from dataclasses import dataclass, field

CHAIN_STEPS = 10
FAN_WIDTH = 100
BUDGET_SECONDS = 60.0
# Of the tuned worker; the other has the default settings.
WORKER_SLOTS = 1000
MAP_ITEMS = 10_000
HANDLER_MS = 20


@dataclass(frozen=True)
class Metric:
    """One number of a workload as a row of the table; `more_is_better` decides the direction of a ratio."""

    key: str
    label: str
    unit: str
    more_is_better: bool


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    sizes: dict[str, int]
    quick_sizes: dict[str, int]
    metrics: tuple[Metric, ...]
    # A peer that makes a few hundred steps a second gets less work, so that a cell stays within its budget.
    slow_sizes: dict[str, int] = field(default_factory=dict)
    # Only Stepwell runs it, and the peers named here.
    is_ours: bool = False
    ours_and: frozenset[str] = frozenset()
    # Only the worker with default settings runs it.
    is_of_default: bool = False


STEPS_RATE = Metric("steps_per_second", "steps/s", "/s", True)
LOADED_RATE = Metric("steps_per_second_loaded", "steps/s once all are started", "/s", True)
ITEMS_RATE = Metric("units_per_second", "items/s", "/s", True)


def _map(name: str, title: str) -> Workload:
    return Workload(
        name,
        f"a Map of 10,000 items: {title}",
        {"items": MAP_ITEMS},
        {"items": 20},
        (ITEMS_RATE,),
        is_ours=True,
    )


def _handlers(name: str, title: str) -> Workload:
    return Workload(
        name,
        f"5,000 jobs whose handlers take {HANDLER_MS} ms: {title}",
        {"jobs": 5_000, "handler_ms": HANDLER_MS},
        {"jobs": 50, "handler_ms": 1},
        (
            Metric("units_per_second", "jobs/s", "/s", True),
            Metric("ideal_percent", "of the ideal", "%", True),
        ),
        is_ours=True,
        is_of_default=True,
    )


WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload(
            "W1",
            "200 runs × 10 sequential steps, all in flight",
            {"runs": 200, "steps": CHAIN_STEPS},
            {"runs": 10, "steps": CHAIN_STEPS},
            (STEPS_RATE, LOADED_RATE),
        ),
        Workload(
            "W1b",
            "2,000 runs × 10 sequential steps, all in flight",
            {"runs": 2000, "steps": CHAIN_STEPS},
            {"runs": 20, "steps": CHAIN_STEPS},
            (STEPS_RATE, LOADED_RATE),
            {"runs": 400, "steps": CHAIN_STEPS},
        ),
        Workload(
            "W1u",
            "one 10-step run at a time",
            {"samples": 100, "steps": CHAIN_STEPS},
            {"samples": 5, "steps": CHAIN_STEPS},
            (
                Metric("p50_ms", "p50", "ms", False),
                Metric("p99_ms", "p99", "ms", False),
                Metric("eager_p50_ms", "p50, next start at the last handler", "ms", False),
            ),
        ),
        Workload(
            "W2",
            "10,000 free-standing jobs, enqueued and then drained",
            {"jobs": 10_000},
            {"jobs": 100},
            (
                Metric("enqueued_per_second", "enqueue", "/s", True),
                Metric("drained_per_second", "drain", "/s", True),
            ),
            {"jobs": 3000},
        ),
        Workload(
            "W3",
            "50 × (1 → 100 → 1)",
            {"runs": 50, "width": FAN_WIDTH},
            {"runs": 2, "width": 10},
            (STEPS_RATE, LOADED_RATE),
            {"runs": 20, "width": FAN_WIDTH},
        ),
        Workload(
            "W4",
            "one job to an idle worker, enqueue → handler",
            {"samples": 200},
            {"samples": 10},
            (Metric("p50_ms", "p50", "ms", False), Metric("p99_ms", "p99", "ms", False)),
        ),
        Workload(
            "P2K",
            "200 runs × 10 sequential steps, each takes and returns 2 KB",
            {"runs": 200, "steps": CHAIN_STEPS, "bytes": 2_000},
            {"runs": 4, "steps": CHAIN_STEPS, "bytes": 2_000},
            (STEPS_RATE,),
            is_ours=True,
            ours_and=frozenset({"restate"}),
        ),
        _map("M1", "the list is in the run input, the body takes its item"),
        _map("M2", "the list is in the run input, and so is another value that each item reads"),
        _map("M3", "a step makes the list, the body takes its item"),
        _map("M4", "a step makes the list and another value that each item reads"),
        _map("M5", "the list is in the run input, each item reads a part of itself and an expression"),
        Workload(
            "ACT",
            "1,000 runs of one step that makes one action under policy; the connector does nothing",
            {"runs": 1_000, "samples": 100},
            {"runs": 10, "samples": 5},
            (
                Metric("units_per_second", "actions/s", "/s", True),
                Metric("p50_ms", "alone, p50", "ms", False),
            ),
            is_ours=True,
        ),
        _handlers("H20", "coroutines"),
        _handlers("H20t", "threads"),
    )
}

SLOW_PEERS = frozenset({"dbos", "procrastinate", "absurd", "graphile-worker"})


def sizes_for(workload: Workload, contestant: str, *, quick: bool) -> dict[str, int]:
    """The size of one cell; a slow peer gets a smaller size, which is reported with its numbers."""
    if quick:
        return dict(workload.quick_sizes)
    if contestant in SLOW_PEERS and workload.slow_sizes:
        return dict(workload.slow_sizes)
    return dict(workload.sizes)
