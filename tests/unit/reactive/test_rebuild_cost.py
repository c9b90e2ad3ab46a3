"""The cost of a rebuild is linear, and signals cost only for watched nodes; calls are counted, not time."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from stepwell.define import Graph, Operation, Parallel, Sequential
from stepwell.reactive import CallEvent, MemoryEngine, Projection, WorkflowReactiveRoot
from tests.unit.reactive.calls import graph_of

op = Operation


def chain(count: int) -> Graph:
    return graph_of(Sequential(*(op(f"s{at}") for at in range(count))))


def fan(count: int) -> Graph:
    return graph_of(Sequential(op("first"), Parallel(*(op(f"s{at}") for at in range(count))), op("last")))


def log_of(graph: Graph) -> list[CallEvent]:
    return MemoryEngine(graph).run().projections[""].log


def calls_made(action: Callable[[], object]) -> int:
    """The number of Python calls: a measure of the cost that does not depend on the machine."""
    count = 0

    def profile(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def rebuild(graph: Graph, log: list[CallEvent]) -> Projection:
    run = Projection(graph)
    for event in log:
        run.append(event)
    return run


@pytest.mark.requirement("RX-11")
@pytest.mark.parametrize("shape", [chain, fan])
def test_the_cost_of_a_rebuild_per_node_is_constant(shape: Callable[[int], Graph]):
    costs = {}
    for count in (200, 2_000):
        graph = shape(count)
        log = log_of(graph)
        costs[count] = calls_made(lambda graph=graph, log=log: rebuild(graph, log)) / count
    assert costs[2_000] <= costs[200] * 1.05
    # With a signal, two computeds and two effects for each node it would be about forty times more.
    assert costs[2_000] < 40


@pytest.mark.requirement("RX-11")
def test_signals_are_made_only_for_watched_nodes():
    graph = chain(2_000)
    log = log_of(graph)
    root = WorkflowReactiveRoot(graph)
    status = root.status("s1999")

    def feed() -> None:
        for event in log:
            root.append(event)

    made = calls_made(feed)
    assert status() == "completed"
    assert made / 2_000 < 200
    assert len(root._statuses) == 1
