"""Find branches that open only after a failure: receives a graph, returns them, so that `publish` can warn.

Only a test that reads nothing but statuses can be judged without a run: it is evaluated for every way in
which the steps before it can end well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from stepwell.define.expression import ExpressionError, read_expression
from stepwell.define.graph import Graph, GraphStep
from stepwell.reactive import jsonpath
from stepwell.reactive.protocol import SATISFYING

__all__ = ["CaughtBranch", "caught_branches"]

MAX_STEPS: Final = 6
_OTHER_ROOT = re.compile(r"\b(input|item|index)\b")


@dataclass(frozen=True, slots=True)
class CaughtBranch:
    """A branch of a conditional that opens only if one of these steps fails or is cancelled."""

    conditional: str
    label: str
    steps: tuple[str, ...]

    def __str__(self) -> str:
        steps = " or ".join(self.steps)
        return (
            f"the branch {self.label!r} of {self.conditional} runs only if {steps} fails; "
            "the failure is then caught, and the run can complete"
        )


def caught_branches(graph: Graph) -> list[CaughtBranch]:
    found: list[CaughtBranch] = []
    for branch in graph.branches:
        conditional = graph.step(branch.conditional)
        verdicts = _verdicts_without_failure(conditional)
        if verdicts and (not branch.negated) not in verdicts:
            steps = tuple(graph.step(no).id for no in conditional.caught())
            found.append(CaughtBranch(conditional.id, branch.label, steps))
    return found


def _verdicts_without_failure(conditional: GraphStep) -> set[bool]:
    """The results that the test can have when all steps that it reads ended well; empty if not known."""
    test = conditional.test
    if isinstance(test, Mapping):
        return {True}
    try:
        reading = read_expression(str(test))
    except ExpressionError:
        return set()
    ids = reading.judged
    if not ids or len(ids) > MAX_STEPS or reading.outputs or _OTHER_ROOT.search(str(test)):
        return set()
    verdicts: set[bool] = set()
    for statuses in product(sorted(SATISFYING), repeat=len(ids)):
        steps = {
            id: {"status": str(status), "output": None} for id, status in zip(ids, statuses, strict=True)
        }
        try:
            verdict = jsonpath.first(str(test), {"input": {}, "steps": steps})
        except (jsonpath.PathError, jsonpath.PathSyntaxError):
            return set()
        if not isinstance(verdict, bool):
            return set()
        verdicts.add(verdict)
    return verdicts
