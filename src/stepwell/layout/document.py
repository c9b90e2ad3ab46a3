"""A drawing as one document: receives a graph, returns its steps and places as columns and lists."""

from __future__ import annotations

from collections.abc import Sequence
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


def draw(
    graph: Graph, graph_hash: str, lanes_by: LanesBy, numbers: Sequence[int] | None = None
) -> dict[str, Any]:
    """What never changes for a graph: a page loads it once. `numbers`: those of the steps in their version,
    if some steps of it are left out."""
    drawing = lay_out(graph, lanes_of(graph, lanes_by)).to_json()
    conditionals: dict[str, list[list[Any]]] = {}
    for branch in graph.branches:
        conditionals.setdefault(str(branch.conditional), []).append([branch.no, branch.label])
    drawn = {
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
    return drawn if numbers is None else _numbered(drawn, [0, *numbers])


def _numbered(drawn: dict[str, Any], numbers: Sequence[int]) -> dict[str, Any]:
    """The drawing with these numbers of steps; 0 stays the run."""

    def known(no: int | None) -> int | None:
        return None if no is None else numbers[no]

    return {
        **drawn,
        "steps": {
            **drawn["steps"],
            "no": [numbers[no] for no in drawn["steps"]["no"]],
            "scope": [numbers[no] for no in drawn["steps"]["scope"]],
        },
        "conditionals": {str(numbers[int(no)]): found for no, found in drawn["conditionals"].items()},
        "fans": {str(numbers[int(no)]): found for no, found in drawn["fans"].items()},
        "scopes": [
            {
                **scope,
                "scope": numbers[scope["scope"]],
                "boxes": [[numbers[box[0]], *box[1:]] for box in scope["boxes"]],
                "lines": [[known(line[0]), known(line[1]), *line[2:]] for line in scope["lines"]],
            }
            for scope in drawn["scopes"]
        ],
    }


def _fans(graph: Graph) -> dict[str, str]:
    """Steps that several steps follow: all of them begin (and), or those of one branch (or)."""
    return {
        str(step.no): "or" if step.kind == "conditional" else "and"
        for step in graph.steps
        if len(graph.successors[step.no]) > 1
    }
