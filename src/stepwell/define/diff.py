"""Compare two graphs: returns the steps and edges that were added, removed and changed.

Steps are matched by id. Numbers are valid in one graph only, so scopes, branches and groups are compared by
ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stepwell.define.graph import Graph, GraphStep

__all__ = ["Change", "Diff", "EdgeRef", "diff_graphs"]


@dataclass(frozen=True, slots=True)
class Change:
    """One value before and after; None if there was or is no value."""

    before: Any
    after: Any

    def to_json(self) -> dict[str, Any]:
        return {"before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True, order=True)
class EdgeRef:
    """An edge, by the ids of its two steps."""

    from_id: str
    to_id: str

    def to_json(self) -> dict[str, Any]:
        return {"from": self.from_id, "to": self.to_id}


@dataclass(frozen=True)
class Diff:
    """The differences between two graphs; empty if both mean the same."""

    workflow_changed: dict[str, Change]
    steps_added: tuple[str, ...]
    steps_removed: tuple[str, ...]
    steps_changed: dict[str, dict[str, Change]]
    edges_added: tuple[EdgeRef, ...]
    edges_removed: tuple[EdgeRef, ...]
    edges_changed: dict[EdgeRef, Change]

    @property
    def is_empty(self) -> bool:
        return not any(vars(self).values())

    def to_json(self) -> dict[str, Any]:
        return {
            "workflow": {name: change.to_json() for name, change in self.workflow_changed.items()},
            "steps": {
                "added": list(self.steps_added),
                "removed": list(self.steps_removed),
                "changed": {
                    step_id: {name: change.to_json() for name, change in fields.items()}
                    for step_id, fields in self.steps_changed.items()
                },
            },
            "edges": {
                "added": [edge.to_json() for edge in self.edges_added],
                "removed": [edge.to_json() for edge in self.edges_removed],
                "changed": [
                    {**edge.to_json(), "branch": change.to_json()}
                    for edge, change in self.edges_changed.items()
                ],
            },
        }


def diff_graphs(before: Graph, after: Graph) -> Diff:
    """Steps are in the order of their graph, edges in the order of their ids."""
    shared = before.by_id.keys() & after.by_id.keys()
    old, new = _comparable(before, shared), _comparable(after, shared)
    old_edges, new_edges = _edges(before), _edges(after)
    changed = {step.id: _changes(old[step.id], new[step.id]) for step in after.steps if step.id in shared}
    return Diff(
        workflow_changed=_changes(_workflow(before), _workflow(after)),
        steps_added=tuple(step.id for step in after.steps if step.id not in shared),
        steps_removed=tuple(step.id for step in before.steps if step.id not in shared),
        steps_changed={step_id: fields for step_id, fields in changed.items() if fields},
        edges_added=tuple(sorted(new_edges.keys() - old_edges.keys())),
        edges_removed=tuple(sorted(old_edges.keys() - new_edges.keys())),
        edges_changed={
            edge: Change(old_edges[edge], new_edges[edge])
            for edge in sorted(old_edges.keys() & new_edges.keys())
            if old_edges[edge] != new_edges[edge]
        },
    )


def _workflow(graph: Graph) -> dict[str, Any]:
    return {
        "name": graph.name,
        "title": graph.title,
        "failure_policy": graph.failure_policy,
        "workflow_class": graph.workflow_class,
        "input": graph.input_schema,
    }


def _changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Change]:
    names = [*before, *(name for name in after if name not in before)]
    return {
        name: Change(before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    }


def _comparable(graph: Graph, shared: set[str]) -> dict[str, dict[str, Any]]:
    groups = _group_names(graph, shared)
    return {step.id: _comparable_step(graph, step, groups) for step in graph.steps if step.id in shared}


def _comparable_step(graph: Graph, step: GraphStep, groups: dict[int, dict[str, Any]]) -> dict[str, Any]:
    found = step.to_json()
    # Without `reads` and `catches`: they only repeat as numbers what the test reads.
    for numbered in ("no", "id", "reads", "catches"):
        found.pop(numbered, None)
    if step.scope:
        found["scope"] = graph.step(step.scope).id
    if step.branch is not None:
        found["branch"] = _branch_name(graph, step.branch)
    if step.group is not None:
        found["group"] = groups[step.group]
    return found


def _branch_name(graph: Graph, branch_no: int) -> str:
    branch = graph.branches[branch_no - 1]
    return f"{graph.step(branch.conditional).id}/{branch.label}"


def _group_names(graph: Graph, shared: set[str]) -> dict[int, dict[str, Any]]:
    """A group has no id. It is identified by its limit and by its first step that both graphs have."""
    first: dict[int, str] = {}
    for step in graph.steps:
        if step.group is not None and step.id in shared:
            first[step.group] = min(first.get(step.group, step.id), step.id)
    return {
        group.no: {"max_concurrency": group.max_concurrency, "with": first.get(group.no)}
        for group in graph.groups
    }


def _edges(graph: Graph) -> dict[EdgeRef, str | None]:
    return {
        EdgeRef(graph.step(edge.from_no).id, graph.step(edge.to_no).id): None
        if edge.branch is None
        else _branch_name(graph, edge.branch)
        for edge in graph.edges
    }
