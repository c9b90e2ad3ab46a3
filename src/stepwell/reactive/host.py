"""Render a workflow as a tree of nodes: receives the template and the reactive root of its run, returns nodes
that hold the signals of the root.

The tree owns nothing: a node of the tree and the same node of the root have one signal. After
`root.dispose()` the signals do not change any more.
"""

from __future__ import annotations

from dataclasses import dataclass

from reaktiv import Computed, ReadonlySignal

from stepwell.define.template import Conditional, Map, Parallel, Sequential, Step, Workflow
from stepwell.reactive.protocol import NodeStatus
from stepwell.reactive.root import WorkflowReactiveRoot

__all__ = ["ReactiveHost", "WorkflowNode"]


@dataclass(frozen=True)
class WorkflowNode:
    """One element of the template. Sequential and Parallel are containers: they have children and no key. The
    children of a Map are its body, once for each item, when the Map has its items."""

    type: str
    key: str | None = None
    status: ReadonlySignal[NodeStatus] | None = None
    preconditions: Computed[bool] | None = None
    blocked_by_failure: Computed[bool] | None = None
    children: tuple[WorkflowNode, ...] = ()
    # In a Conditional: the branch of this child.
    branch: str | None = None

    def find(self, key: str) -> WorkflowNode:
        """The node with this key, at any depth."""
        pending = [self]
        while pending:
            node = pending.pop()
            if node.key == key:
                return node
            pending.extend(node.children)
        raise KeyError(key)


class ReactiveHost:
    """Holds no state: `render` looks up the signals of the root."""

    def __init__(self, root: WorkflowReactiveRoot) -> None:
        self.root = root

    def render(self, template: Workflow | Step) -> WorkflowNode:
        return self._render(template.root if isinstance(template, Workflow) else template, "", None)

    def _render(self, step: Step, prefix: str, branch: str | None) -> WorkflowNode:
        match step:
            case Sequential(steps=steps) | Parallel(steps=steps):
                children = tuple(self._render(child, prefix, None) for child in steps)
                return WorkflowNode(type(step).__name__, children=children, branch=branch)
            case Conditional():
                branches = (("then", step.then), ("otherwise", step.otherwise))
                children = tuple(
                    self._render(child, prefix, name) for name, child in branches if child is not None
                )
            case Map():
                children = self._items(step, prefix)
            case _:
                children = ()
        key = f"{prefix}{step.id}"
        return WorkflowNode(
            type(step).__name__,
            key,
            self.root.status(key),
            self.root.preconditions(key),
            self.root.blocked_by_failure(key),
            children,
            branch,
        )

    def _items(self, step: Map, prefix: str) -> tuple[WorkflowNode, ...]:
        count = self.root.item_count(f"{prefix}{step.id}")
        return tuple(self._render(step.body, f"{prefix}{step.id}[{no}].", None) for no in range(count))
