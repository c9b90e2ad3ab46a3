"""A drawing as one document: receives a graph, returns its steps and places as columns and lists."""

from __future__ import annotations

from typing import Any

from stepwell.define.graph import Graph
from stepwell.layout.drawing import LAYOUT_VERSION
from stepwell.layout.lanes import LanesBy, lanes_of
from stepwell.layout.lay_out import lay_out

_COLUMNS = (
    "no",
    "id",
    "kind",
    "title",
    "milestone",
    "content",
    "mandatory",
    "role",
    "operation",
    "executor",
    "workflow",
    "scope",
    "branch",
    "group",
)


def draw(graph: Graph, graph_hash: str, lanes_by: LanesBy) -> dict[str, Any]:
    """What never changes for a graph: a page loads it once."""
    drawing = lay_out(graph, lanes_of(graph, lanes_by)).to_json()
    conditionals: dict[str, list[list[Any]]] = {}
    for branch in graph.branches:
        conditionals.setdefault(str(branch.conditional), []).append([branch.no, branch.label])
    return {
        "graph_hash": graph_hash,
        "version": LAYOUT_VERSION,
        "lanes_by": lanes_by,
        "box": drawing["box"],
        "steps": {name: [getattr(step, name) for step in graph.steps] for name in _COLUMNS},
        "conditionals": conditionals,
        "fans": _fans(graph),
        "joins": {str(step.no): step.join for step in graph.steps if step.join is not None},
        "scopes": drawing["scopes"],
    }


def _fans(graph: Graph) -> dict[str, str]:
    """Steps that several steps follow: all of them begin (and), or those of one branch (or)."""
    return {
        str(step.no): "or" if step.kind == "conditional" else "and"
        for step in graph.steps
        if len(graph.successors[step.no]) > 1
    }
