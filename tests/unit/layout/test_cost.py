"""The cost of a drawing is linear in its steps; calls are counted, not time."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from stepwell.define import Graph, Operation, Parallel, Sequential, Workflow, freeze
from stepwell.layout.document import draw


def chain(count: int) -> Graph:
    return freeze(Workflow("w", Sequential(*(Operation("work", id=f"s{at}") for at in range(count)))))


def layers(count: int) -> Graph:
    """Ten steps at once, then a step that waits for all of them, and so on."""
    parts = [
        part
        for at in range(count // 10)
        for part in (
            Parallel(*(Operation("work", id=f"s{at}x{one}") for one in range(9))),
            Operation("work", id=f"j{at}"),
        )
    ]
    return freeze(Workflow("w", Sequential(*parts)))


def calls_made(action: Callable[[], object]) -> int:
    """The number of calls, also of built-in functions: it does not depend on the machine."""
    count = 0

    def profile(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("lanes_by", ["role", "none"])
@pytest.mark.parametrize("shape", [chain, layers])
def test_the_cost_of_a_drawing_per_step_is_constant(shape: Callable[[int], Graph], lanes_by: str):
    costs = {}
    for count in (200, 2_000):
        graph = shape(count)
        costs[count] = calls_made(lambda graph=graph: draw(graph, "0", lanes_by)) / count
    assert costs[2_000] <= costs[200] * 1.05
