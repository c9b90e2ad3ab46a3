"""Project the log as a graph of calls: receives events, returns calls and the edges between them.

`triggered` (`a->b`): call a made call b. `depends_on` (`a->b:depends_on`): the node of b waits for the node
of a; it is only for display. Keys are made of request ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from stepwell.define.graph import Graph
from stepwell.reactive.protocol import CallEvent, CallEventType

__all__ = ["Call", "CallEdge", "CallGraph", "edge_key"]

EdgeType = Literal["triggered", "depends_on"]
_STATUS = {
    CallEventType.REQUESTED: "running",
    CallEventType.RESPONDED: "completed",
    CallEventType.COMPLETED: "completed",
    CallEventType.ERROR: "failed",
    CallEventType.ABORTED: "aborted",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt. `pending`: another event refers to it, but it has no event of its own yet."""

    request_id: str
    node: str | None = None
    status: str = "pending"
    operation_id: str | None = None


@dataclass(frozen=True, slots=True)
class CallEdge:
    key: str
    source: str
    target: str
    edge_type: EdgeType


def edge_key(source: str, target: str, edge_type: EdgeType) -> str:
    return f"{source}->{target}" if edge_type == "triggered" else f"{source}->{target}:{edge_type}"


@dataclass
class CallGraph:
    """`append` adds an event; the same event twice changes nothing."""

    graph: Graph
    calls: dict[str, Call] = field(default_factory=dict)
    edges: dict[str, CallEdge] = field(default_factory=dict)
    _latest: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph, events: Iterable[CallEvent]) -> CallGraph:
        made = cls(graph)
        for event in events:
            made.append(event)
        return made

    def append(self, event: CallEvent) -> None:
        if event.type is CallEventType.RUN_ABORTED:
            running = [call for call in self.calls.values() if call.status == "running"]
            for call in running:
                self.calls[call.request_id] = replace(call, status="aborted")
            return
        if event.type is CallEventType.REOPENED:
            return  # the next request makes a call of its own
        known = self.calls.get(event.request_id, Call(event.request_id))
        node = event.node or known.node
        if known.status in ("pending", "running"):
            operation_id = event.operation_id or known.operation_id
            self.calls[event.request_id] = Call(event.request_id, node, _STATUS[event.type], operation_id)
        if event.type is not CallEventType.REQUESTED:
            return
        if event.parent_request_id is not None:
            self.calls.setdefault(event.parent_request_id, Call(event.parent_request_id))
            self._join(event.parent_request_id, event.request_id, "triggered")
        if node is not None:
            for before in self._calls_before(node):
                self._join(before, event.request_id, "depends_on")
            self._latest[node] = event.request_id

    def _join(self, source: str, target: str, edge_type: EdgeType) -> None:
        key = edge_key(source, target, edge_type)
        self.edges[key] = CallEdge(key, source, target, edge_type)

    def _calls_before(self, path: str) -> list[str]:
        """The latest calls of the nodes that this one waits for. Conditionals and maps make no calls; for
        them, the calls before them."""
        cut = path.rfind("].") + 2 if "]." in path else 0
        prefix, node = path[:cut], self.graph.by_id.get(path[cut:])
        found: dict[str, None] = {}
        seen: set[int] = set()
        pending = list(self.graph.predecessors[node.no]) if node is not None else []
        while pending:
            no = pending.pop(0)
            if no in seen:
                continue
            seen.add(no)
            request_id = self._latest.get(prefix + self.graph.step(no).id)
            if request_id is not None:
                found[request_id] = None
            elif self.graph.step(no).kind in ("conditional", "map"):
                pending.extend(self.graph.predecessors[no])
        return list(found)
