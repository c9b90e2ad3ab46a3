"""The state of a run in plain objects: a frame is the run itself or one item of a Map, a unit is one node
in a frame. Receives a graph, returns units by path such as `pack_all[3].pack`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Container, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from stepwell.define.graph import Graph, GraphStep
from stepwell.reactive.protocol import SATISFYING, SETTLED, CallEvent, CallEventType, NodeStatus

__all__ = ["Frame", "Line", "Unit", "reopen"]


class Unit:
    """One node in one frame. `pending`: number of open predecessors; `blockers`: failed or aborted ones."""

    __slots__ = (
        "blockers",
        "error",
        "events",
        "failed_item_count",
        "frame",
        "has_slot",
        "is_cancelled",
        "is_caught",
        "is_parked",
        "items",
        "node",
        "open_item_count",
        "output",
        "path",
        "pending",
        "request_id",
        "status",
    )

    def __init__(self, frame: Frame, node: GraphStep, path: str, pending: int) -> None:
        self.frame = frame
        self.node = node
        self.path = path
        self.pending = pending
        self.blockers = 0
        self.status = NodeStatus.IDLE
        self.request_id: str | None = None
        self.events: list[CallEvent] = []
        self.output: Any = None
        self.error: Any = None
        self.is_caught = False
        # Aborted by an event of its own, not because of a node before it.
        self.is_cancelled = False
        self.has_slot = False
        self.is_parked = False
        # For a map: its items, how many are open, how many failed.
        self.items: list[Frame] = []
        self.open_item_count = 0
        self.failed_item_count = 0

    @property
    def is_settled(self) -> bool:
        return self.status in SETTLED

    @property
    def turn(self) -> tuple[bool, int]:
        """Sort key: conditionals before maps, each in the order of the graph."""
        return (self.node.kind != "conditional", self.node.no)

    @property
    def is_lost(self) -> bool:
        """True for a mandatory unit that failed or was aborted, if no conditional caught that."""
        has_broken = self.status in (NodeStatus.FAILED, NodeStatus.ABORTED)
        return has_broken and self.node.mandatory and not self.is_caught

    @property
    def has_call(self) -> bool:
        """True if a call belongs to its request id; not if the id is only that of an abort."""
        return any(
            one.request_id == self.request_id and one.type is not CallEventType.ABORTED
            for one in reversed(self.events)
        )

    @property
    def has_started(self) -> bool:
        """True for a unit that runs or ran; not for one that was aborted before it could start."""
        if self.status is NodeStatus.ABORTED:
            return bool(self.items) or any(one.type is CallEventType.REQUESTED for one in self.events)
        return self.status in (NodeStatus.RUNNING, NodeStatus.COMPLETED, NodeStatus.FAILED)

    def is_blocked(self, graph: Graph, reopened: Container[int] = ()) -> bool:
        """True if a predecessor that is not opened again failed or was aborted, and this unit does not catch
        it."""
        before = [self.frame.units[no] for no in graph.predecessors[self.node.no] if no not in reopened]
        caught = self.node.caught()
        return any(
            one.is_settled and one.status not in SATISFYING and one.node.no not in caught for one in before
        )

    def unstarted(self, graph: Graph) -> NodeStatus:
        """Idle, or waiting from the time when a unit before it starts; there is no way back."""
        before = (self.frame.units[no] for no in graph.predecessors[self.node.no])
        return NodeStatus.WAITING if any(unit.has_started for unit in before) else NodeStatus.IDLE

    def must_wait(self, after: Unit) -> bool:
        """True for an idle unit after a unit that has run, if it cannot start yet."""
        return (
            self.status is NodeStatus.IDLE
            and (self.pending > 0 or self.node.kind == "conditional")
            and after.has_started
        )

    def inside(self) -> Iterator[Unit]:
        """Every unit of every item, at any depth, the outermost first."""
        pending = list(reversed(self.items))
        while pending:
            frame = pending.pop()
            for unit in frame.units.values():
                yield unit
                pending.extend(reversed(unit.items))


class Line:
    """A concurrency limit of a group in one frame or of a map: how many have a slot, which units wait."""

    __slots__ = ("held_count", "limit", "waiting")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held_count = 0
        self.waiting: list[tuple[tuple[int, int, int], Unit]] = []

    def join(self, unit: Unit) -> None:
        place = (-unit.node.priority, unit.frame.index, unit.node.no)
        insort(self.waiting, (place, unit), key=lambda entry: entry[0])

    def leave(self, unit: Unit) -> None:
        self.waiting = [entry for entry in self.waiting if entry[1] is not unit]

    def admit(self) -> Iterator[Unit]:
        """The units that get a slot now, in their order."""
        while self.waiting and self.held_count < self.limit:
            _, unit = self.waiting.pop(0)
            self.held_count += 1
            yield unit


class Frame:
    """The run (owner None) or one item of a map: its units by node number and its counters."""

    __slots__ = ("failed_count", "index", "item", "lines", "lost_count", "open_count", "owner", "units")

    def __init__(self, graph: Graph, owner: Unit | None, index: int = 0, item: Any = None) -> None:
        self.owner = owner
        self.index = index
        self.item = item
        prefix = "" if owner is None else f"{owner.path}[{index}]."
        nodes = graph.scopes[0 if owner is None else owner.node.no]
        before = graph.predecessors
        self.units: dict[int, Unit] = {
            node.no: Unit(self, node, prefix + node.id, len(before[node.no])) for node in nodes
        }
        self.open_count = len(nodes)
        # Mandatory units that broke and were not caught, and those of them that failed.
        self.lost_count = 0
        self.failed_count = 0
        self.lines: dict[int, Line] = {}

    def line(self, graph: Graph, unit: Unit) -> Line | None:
        """The line of a unit. Only operations need a slot."""
        if unit.node.kind != "operation":
            return None
        owner, group = self.owner, unit.node.group
        if owner is not None and owner.node.max_concurrency is not None:
            # All items of a map share its slots.
            return owner.items[0].lines.setdefault(0, Line(owner.node.max_concurrency))
        if group is None:
            return None
        if group not in self.lines:
            self.lines[group] = Line(graph.groups[group - 1].max_concurrency)
        return self.lines[group]

    def count(self, unit: Unit, change: int) -> None:
        if unit.is_lost:
            self.lost_count += change
            self.failed_count += change * (unit.status is NodeStatus.FAILED)

    def find(self, no: int) -> Unit | None:
        """The unit of a node, in this frame or in a frame around it."""
        frame: Frame | None = self
        while frame is not None:
            unit = frame.units.get(no)
            if unit is not None:
                return unit
            frame = frame.owner.frame if frame.owner is not None else None
        return None


def reopen(graph: Graph, unit: Unit) -> list[Unit]:
    """Open a settled unit again, with the units that were aborted only because of it; update the counters.

    A decided conditional keeps its decision. A unit that another failed or aborted unit blocks stays aborted.
    """
    frame = unit.frame
    again: dict[int, Unit] = {unit.node.no: unit}
    pending = list(graph.successors[unit.node.no])
    heapify(pending)  # numbers are in topological order: all units before one are looked at before it
    while pending:
        after = frame.units[heappop(pending)]
        was_called_off = after.status is NodeStatus.ABORTED and not after.is_cancelled and not after.items
        if was_called_off and after.node.no not in again and not after.is_blocked(graph, again):
            again[after.node.no] = after
            for no in graph.successors[after.node.no]:
                heappush(pending, no)
    for one in again.values():
        frame.open_count += 1
        frame.count(one, -1)
        one.is_caught = one.is_cancelled = False
        one.output = one.error = None
        one.status = NodeStatus.IDLE
    for one in frame.units.values():
        before = [frame.units[no].status for no in graph.predecessors[one.node.no]]
        one.pending = sum(status not in SETTLED for status in before)
        one.blockers = sum(status in SETTLED and status not in SATISFYING for status in before)
    return list(again.values())
