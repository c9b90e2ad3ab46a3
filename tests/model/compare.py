"""Compares one example in both engines and in a rebuild of its log: returns the differences.

The simulation answers a call when it starts it; the database leases it first: only how the example ends is
compared, and what has not started is one word. The rebuild has the same calls: every word of every node is
compared, after each action.
"""

from __future__ import annotations

from typing import Any

from stepwell.reactive.event_log import call_events
from stepwell.reactive.memory_engine import MemoryEngine, NotPossible, Simulation
from stepwell.reactive.projection import Projection
from stepwell.reactive.protocol import NodeStatus
from tests.model.postgres_side import Driven, PostgresSide
from tests.strategies.outcomes import Example

# State in Postgres → word that both engines have; `open` has not started.
WORDS = {
    "not_started": "open",
    "ready": "open",
    "in_progress": "running",
    "waiting": "running",
    "blocked": "running",
    "overdue": "running",
    "failed": "running",
    "cannot_complete": "failed",
    "completed": "completed",
    "cancelled": "aborted",
    "skipped": "skipped",
}
RUN_WORDS = {"in_progress": "running", "completed": "completed", "failed": "failed", "cancelled": "cancelled"}
MEMORY_WORDS = {"idle": "open", "ready": "open", "waiting": "open"}


def stored_statuses(driven: Driven) -> dict[str, str]:
    found = {f"run:{prefix}": RUN_WORDS[run.state] for prefix, run in driven.runs.items()}
    for prefix, run in driven.runs.items():
        found |= {prefix + path: WORDS[state] for path, state in run.states.items()}
    return found


def word(status: str) -> str:
    return MEMORY_WORDS.get(status, status)


def simulated_statuses(simulation: Simulation) -> dict[str, str]:
    found = {f"run:{path}/" if path else "run:": str(status) for path, status in simulation.runs.items()}
    return found | {path: word(str(status)) for path, status in simulation.statuses.items()}


def simulate(driven: Driven, **more: Any) -> dict[str, str]:
    example = driven.example
    engine = MemoryEngine(
        example.graph,
        input=example.fate.input,
        outcomes=example.fate.outcomes,
        signals=example.fate.signals,
        workflows=example.workflows,
        **more,
    )
    return simulated_statuses(engine.run())


def rebuilt_statuses(side: PostgresSide, driven: Driven, given: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for prefix, run in driven.runs.items():
        projection = Projection(run.graph, input=given[prefix])
        for _, row in side.log(run.run_id):
            for event in call_events(run.graph, run.paths, [row]):
                projection.append(event)
        found[f"run:{prefix}"] = str(projection.run_status)
        found |= {prefix + path: word(str(status)) for path, status in projection.statuses().items()}
    return found


def different_words(side: PostgresSide, driven: Driven, given: dict[str, Any]) -> dict[str, Any]:
    """Node and number of actions → (word of the database, word of the projection), where they differ."""
    found: dict[str, Any] = {}
    for prefix, run in driven.runs.items():
        projection = Projection(run.graph, input=given[prefix])
        rows = side.log(run.run_id)
        for number, look in enumerate(driven.looks):
            while rows and rows[0][0] <= look.event_id:
                for event in call_events(run.graph, run.paths, [rows.pop(0)[1]]):
                    projection.append(event)
            found |= {
                f"{prefix}{path} (after {number} actions)": (look.nodes[prefix + path], str(status))
                for path, status in projection.statuses().items()
                if look.nodes.get(prefix + path, str(status)) != str(status)
                and not (look.nodes[prefix + path] == "waiting" and is_retry_in_line(projection, path))
            }
    return found


def is_retry_in_line(projection: Projection, path: str) -> bool:
    """True if a unit that shares the slots of this one is between two attempts.

    The log tells when the next attempt starts, not when it got its slot: until then others may have to wait.
    """
    unit = projection.units[path]
    line = unit.frame.line(projection.graph, unit)
    without = [one for one in projection.units.values() if not one.has_slot]
    pausing = [one for one in without if one.status is NodeStatus.RUNNING]
    return line is not None and any(one.frame.line(projection.graph, one) is line for one in pausing)


def run_inputs(side: PostgresSide, driven: Driven) -> dict[str, Any]:
    return {
        prefix: side.engine.one(
            "select input from run_detail where tenant_id = 1 and run_id = %s", (run.run_id,)
        )
        for prefix, run in driven.runs.items()
    }


def is_confluent(example: Example) -> bool:
    """True if the order of events cannot change how the run ends."""
    graphs = (example.graph, *example.workflows.values())
    fate = example.fate
    cut = fate.cancel_after is not None or fate.abort_after is not None or fate.replays > 0
    # A sub-workflow that waits without an event can be ended by its own timeout or by that of its step.
    races = any(
        node.kind == "subworkflow" and node.timeout_seconds for graph in graphs for node in graph.steps
    )
    return (
        not cut
        and not races
        and not any(
            graph.failure_policy == "abort-dependents" and any(node.kind == "map" for node in graph.steps)
            for graph in graphs
        )
    )


def differences(side: PostgresSide, example: Example, *, orders: int = 1) -> dict[str, Any]:
    """Path and kind of comparison → (stored status, other status), where they differ.

    `orders`: in how many other orders the run is simulated, if the order cannot change how it ends.
    """
    driven = side.drive(side.named(example))
    stored = stored_statuses(driven)
    try:
        others = {"memory": simulate(driven, order=driven.actions)}
    except NotPossible as error:
        return {"order": str(error), "stored": stored}
    if is_confluent(example):
        for number in range(orders):
            others[f"memory, other order {number}"] = simulate(driven, seed=example.fate.seed + number)
    given = run_inputs(side, driven)
    others["log"] = rebuilt_statuses(side, driven, given)
    return different_words(side, driven, given) | {
        f"{path} ({name})": (stored.get(path), found.get(path))
        for name, found in others.items()
        for path in sorted(stored.keys() | found.keys())
        if stored.get(path) != found.get(path)
    }
