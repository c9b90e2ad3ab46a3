"""The graph of a workflow for readers: receives a frozen graph, returns its edges with their attributes and
the common traversals. It never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from stepwell.define.expression import read_expression
from stepwell.define.graph import Graph, GraphStep

__all__ = ["FlowEdge", "FlowGraph"]

FlowEdgeType = Literal["sequential", "conditional"]


@dataclass(frozen=True, slots=True)
class FlowEdge:
    """`target` waits for `source`. An edge of type `conditional` opens with one branch; `negated`: with the
    branch for a test that is false. `data_flow` is true only if an expression of the target reads the output
    of the source."""

    key: str
    source: str
    target: str
    edge_type: FlowEdgeType
    negated: bool = False
    data_flow: bool = False


def _outputs_read(step: GraphStep) -> set[str]:
    return {id for _, text in step.expressions() for id in read_expression(text).outputs}


class FlowGraph:
    """Nodes are step ids. Order is the order of the workflow, in every answer."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        return tuple(step.id for step in self.graph.steps)

    @cached_property
    def edges(self) -> dict[str, FlowEdge]:
        """Edges by key `source->target`, `source->target:conditional` for those that a branch opens."""
        branches = {branch.no: branch for branch in self.graph.branches}
        found: dict[str, FlowEdge] = {}
        for edge in self.graph.edges:
            source, target = self.graph.step(edge.from_no), self.graph.step(edge.to_no)
            branch = None if edge.branch is None else branches[edge.branch]
            key = f"{source.id}->{target.id}" + ("" if branch is None else ":conditional")
            found[key] = FlowEdge(
                key,
                source.id,
                target.id,
                "sequential" if branch is None else "conditional",
                negated=branch is not None and branch.negated,
                data_flow=source.id in _outputs_read(target),
            )
        return found

    def has_node(self, node: str) -> bool:
        return node in self.graph.by_id

    def has_edge(self, source: str, target: str) -> bool:
        return self._step(target).no in self.graph.successors[self._step(source).no]

    def successors(self, node: str) -> tuple[str, ...]:
        return self._ids(self.graph.successors[self._step(node).no])

    def predecessors(self, node: str) -> tuple[str, ...]:
        return self._ids(self.graph.predecessors[self._step(node).no])

    def descendants(self, node: str) -> tuple[str, ...]:
        """Every node that waits for this one, directly or not."""
        return self._closure(node, lambda no: self.graph.successors[no])

    def ancestors(self, node: str) -> tuple[str, ...]:
        """Every node that this one waits for, directly or not."""
        return self._closure(node, lambda no: self.graph.predecessors[no])

    def roots(self) -> tuple[str, ...]:
        return self._ids(step.no for step in self.graph.steps if not self.graph.predecessors[step.no])

    def leaves(self) -> tuple[str, ...]:
        return self._ids(step.no for step in self.graph.steps if not self.graph.successors[step.no])

    def topological_order(self) -> tuple[str, ...]:
        return self.nodes  # steps are numbered in this order when the graph is frozen

    def _step(self, node: str) -> GraphStep:
        found = self.graph.by_id.get(node)
        if found is None:
            raise KeyError(f"the workflow {self.graph.name} has no step {node!r}")
        return found

    def _ids(self, numbers: Iterator[int] | tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self.graph.step(no).id for no in sorted(numbers))

    def _closure(self, node: str, following: Callable[[int], tuple[int, ...]]) -> tuple[str, ...]:
        seen: set[int] = set()
        pending = list(following(self._step(node).no))
        while pending:
            no = pending.pop()
            if no not in seen:
                seen.add(no)
                pending.extend(following(no))
        return self._ids(tuple(seen))
