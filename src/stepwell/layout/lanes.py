"""Which lane each step belongs to: receives a graph and a kind of lanes, returns a name for each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from stepwell.define.graph import Graph, GraphStep

LanesBy = Literal["role", "executor", "category", "none"]


def lanes_of(graph: Graph, by: LanesBy) -> Mapping[int, str] | None:
    """Number of a step → name of its lane; None for a drawing without lanes."""
    if by == "none":
        return None
    names = {"role": _role, "executor": _executor, "category": _category}[by]
    return {step.no: names(step) for step in graph.steps}


def _role(step: GraphStep) -> str:
    """Who does it: the role or the person of a human step, the executor of an operation, else the engine."""
    if step.kind == "human":
        return step.role or step.assignee or "anybody"
    return _executor(step)


def _executor(step: GraphStep) -> str:
    if step.kind == "operation":
        return step.executor or "default"
    return "people" if step.kind == "human" else "engine"


def _category(step: GraphStep) -> str:
    return step.kind
