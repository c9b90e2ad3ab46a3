"""Find branches that open only after a failure: receives a graph, returns them, so that `publish` can warn.

The test is evaluated for every way in which the steps whose status it reads can end well. What else it reads
is unknown before a run, and so is a test that depends on it.
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
_OTHER_ROOT: Final = re.compile(r"\b(input|item|index)\b")
# A filter leaves out what is unknown, and `is unknown` asks for it: a run may give another answer.
_HIDES_THE_UNKNOWN: Final = re.compile(r"\?|\bunknown\b")


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
    """The results that the test can have when all steps that it judges ended well; empty if not known."""
    test = conditional.test
    if isinstance(test, Mapping):
        return {True}
    try:
        reading = read_expression(str(test))
    except ExpressionError:
        return set()
    if not reading.judged or len(reading.judged) > MAX_STEPS:
        return set()
    reads_more = bool(reading.outputs) or _OTHER_ROOT.search(str(test)) is not None
    if reads_more and _HIDES_THE_UNKNOWN.search(str(test)):
        return set()
    verdicts: set[bool] = set()
    for statuses in product(sorted(SATISFYING), repeat=len(reading.judged)):
        steps = {id: _Known({"status": str(one)}) for id, one in zip(reading.judged, statuses, strict=True)}
        others = {id: _Known() for id in reading.steps if id not in steps}
        try:
            verdict = jsonpath.first(str(test), _Known({"steps": _Known(steps | others)}))
        except (jsonpath.PathError, jsonpath.PathSyntaxError):
            return set()
        if verdict is not None and not isinstance(verdict, bool):
            return set()
        verdicts |= {True, False} if verdict is None else {verdict}
    return verdicts


class _Known(dict[str, object]):
    """An object of which only these members are known. A condition that reads another one is unknown; a step
    that ended well has no error."""

    def __contains__(self, name: object) -> bool:
        if not super().__contains__(name) and not (name == "error" and "status" in self.keys()):
            raise jsonpath.PathError(f"{name} is not known before the run")
        return super().__contains__(name)
