"""Compute the state of a run from call events: statuses, results, conditionals, map items, skips and aborts.

Receives a graph and events, returns the state after each event. It uses a worklist, not recursion, so a long
chain costs the same for each step. `root` adds signals; `memory_engine` simulates runs with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from stepwell.define.graph import Graph
from stepwell.reactive import rules
from stepwell.reactive.frames import Frame, Unit, reopen
from stepwell.reactive.protocol import (
    SATISFYING,
    CallEvent,
    CallEventType,
    NodeStatus,
    RunStatus,
    UnknownRequest,
)
from stepwell.reactive.run_state import RunState

__all__ = ["Projection"]

_UNSTARTED: Final = (NodeStatus.IDLE, NodeStatus.WAITING, NodeStatus.READY)


class Projection(RunState):
    """EventLogProjection of the source document. The same events always give the same state."""

    def __init__(
        self,
        graph: Graph,
        failure_policy: str | None = None,
        *,
        input: Any = None,
        on_change: Callable[[Unit], None] | None = None,
    ) -> None:
        self.graph = graph
        self.failure_policy = rules.require_policy(failure_policy or graph.failure_policy)
        self.input = {} if input is None else input
        self.log: list[CallEvent] = []
        self.run_status = RunStatus.RUNNING
        self.units: dict[str, Unit] = {}
        self.ready: dict[str, Unit] = {}
        self._on_change = on_change
        self._seen: set[tuple[str, str, bool]] = set()
        self.node_of_request: dict[str, str] = {}
        self._ended_requests: set[str] = set()
        self._settled: deque[Unit] = deque()
        # Conditionals and maps that can be decided now; those that one of them releases come first.
        self._due: deque[Unit] = deque()
        self._released: list[Unit] = []
        # Joined or left a line since the last admission: those that can start together go by their priority.
        self._lined_up: list[Unit] = []
        # Conditionals that wait for an open step before an aborted predecessor.
        self._held: list[Unit] = []
        self._open_maps: dict[str, Unit] = {}
        self.frame = Frame(graph, None)
        self._add(self.frame)
        self._start(self.frame)
        self._drain()

    def append(self, event: CallEvent) -> bool:
        """Add one event. An event that was added before changes nothing and returns False."""
        key = (event.request_id, event.type, event.will_retry)
        is_new, unit = event.request_id not in self.node_of_request, None
        if event.type is not CallEventType.RUN_ABORTED:
            path = self.node_of_request.get(event.request_id, event.node)
            if path is None or event.node not in (None, path):
                raise UnknownRequest(event.request_id, path)
            unit = self.unit(path)
        if key in self._seen:
            return False
        if unit is not None:
            self.node_of_request[event.request_id] = unit.path
            unit.events.append(event)
        self._seen.add(key)
        self.log.append(event)
        if unit is None:
            self._abort_run()
        elif event.type is CallEventType.REOPENED:
            self._reopened(unit)
        elif event.type is CallEventType.REQUESTED:
            # A request whose answer came before it stays in the log and changes nothing.
            if event.request_id not in self._ended_requests:
                self._requested(unit, event.request_id)
        else:
            # The abort of a node without a call answers no call, so it is not late.
            is_abort = event.type is CallEventType.ABORTED and unit.request_id is None
            is_late = event.request_id in self._ended_requests and not is_abort
            if is_new and unit.request_id is not None:  # the answer to a new attempt came before its request
                self._requested(unit, event.request_id)
            if not is_late and unit.request_id in (None, event.request_id):
                self._ended(unit, event)
            if not event.will_retry:
                self._ended_requests.add(event.request_id)
        self._drain()
        return True

    def at(self, position: int) -> Projection:
        """The state after the first `position` events of the log."""
        if not 0 <= position <= len(self.log):
            raise ValueError(f"position: {position} is not in the log; accepted: 0 to {len(self.log)}")
        past = Projection(self.graph, self.failure_policy, input=self.input)
        for event in self.log[:position]:
            past.append(event)
        return past

    def park(self, path: str) -> None:
        """A unit that waits for an event has no slot; it joins the line again when it continues."""
        unit = self.unit(path)
        unit.is_parked = True
        self._release(unit)
        self._drain()

    def resume(self, path: str) -> None:
        if not (unit := self.unit(path)).is_settled:
            unit.is_parked = False
            self._line_up(unit)
            self._drain()

    def _add(self, frame: Frame) -> None:
        for unit in frame.units.values():
            self.units[unit.path] = unit

    def _start(self, frame: Frame) -> None:
        for unit in frame.units.values():
            if not self.graph.predecessors[unit.node.no]:
                self._consider(unit)

    def _set(self, unit: Unit, status: NodeStatus) -> None:
        if status is NodeStatus.READY:
            self.ready[unit.path] = unit
        elif unit.status is NodeStatus.READY:
            self.ready.pop(unit.path, None)
        unit.status = status
        if self._on_change is not None:
            self._on_change(unit)

    def _settle(self, unit: Unit, status: NodeStatus, output: Any = None, error: Any = None) -> None:
        unit.output, unit.error = output, error
        self._open_maps.pop(unit.path, None)
        self._release(unit)
        self._set(unit, status)
        self._settled.append(unit)

    def _drain(self) -> None:
        while True:
            self._due.extendleft(sorted(self._released, key=lambda unit: unit.turn, reverse=True))
            self._released.clear()
            if self._settled:
                self._propagate(self._settled.popleft())
            elif self._lined_up:
                self._admit(self._lined_up.pop())
            elif self._due:
                self._carry_out(self._due.popleft())
            # Failed maps come last, because a conditional may catch the failure before.
            elif not self._free_held() and not self._abort_failed_maps():
                return

    def _carry_out(self, unit: Unit) -> None:
        if unit.is_settled or unit.pending:
            return
        if unit.node.kind != "conditional":
            self._expand(unit)
        elif rules.must_wait(self.graph, unit):
            self._held.append(unit)
            self._set(unit, NodeStatus.WAITING)
        else:
            self._decide(unit)

    def _free_held(self) -> bool:
        self._released = [one for one in self._held if not rules.must_wait(self.graph, one)]
        self._held = [one for one in self._held if one not in self._released]
        return bool(self._released)

    def _propagate(self, unit: Unit) -> None:
        frame = unit.frame
        frame.open_count -= 1
        is_satisfied = unit.status in SATISFYING
        if not is_satisfied:
            frame.count(unit, 1)
        for no in self.graph.successors[unit.node.no]:
            successor = frame.units[no]
            successor.pending -= 1
            successor.blockers += not is_satisfied
            if successor.is_settled:
                continue
            if not is_satisfied and not rules.catches(successor.node, unit.node):
                if successor.status in _UNSTARTED or self.failure_policy == "abort-dependents":
                    self._abort(successor)
            else:
                if successor.must_wait(after=unit):
                    self._set(successor, NodeStatus.WAITING)
                self._consider(successor)
        if unit.node.kind == "conditional" and not is_satisfied:
            self._abort_branches(unit)
        if frame.open_count == 0:
            self._frame_ended(frame)

    def _abort_branches(self, conditional: Unit) -> None:
        """Neither branch of a conditional that failed or was aborted opens: nothing inside can catch that."""
        for branch in self.graph.branches:
            if branch.conditional == conditional.node.no:
                for node in self.graph.branch_steps(branch.no):
                    inner = conditional.frame.units[node.no]
                    if inner.status in _UNSTARTED:
                        self._abort(inner)

    def _consider(self, unit: Unit) -> None:
        """Start the unit if all predecessors have ended and none of them blocks it."""
        if unit.pending:
            return
        if unit.node.kind == "conditional" or (unit.node.kind == "map" and not unit.blockers):
            self._released.append(unit)
        elif not unit.blockers and unit.status in _UNSTARTED:
            self._line_up(unit)

    def _line_up(self, unit: Unit) -> None:
        if (line := unit.frame.line(self.graph, unit)) is None:
            self._go(unit)
            return
        if unit.status is NodeStatus.IDLE:
            self._set(unit, NodeStatus.WAITING)
        line.join(unit)
        self._lined_up.append(unit)

    def _admit(self, unit: Unit) -> None:
        line = unit.frame.line(self.graph, unit)
        for admitted in line.admit() if line else ():
            admitted.has_slot = True
            self._go(admitted)

    def _go(self, unit: Unit) -> None:
        if unit.status in _UNSTARTED:
            self._set(unit, NodeStatus.READY)
        elif self._on_change is not None:
            self._on_change(unit)  # continues after a wait or a failed attempt

    def _release(self, unit: Unit) -> None:
        line = unit.frame.line(self.graph, unit)
        if line is None:
            return
        if unit.has_slot:
            unit.has_slot = False
            line.held_count -= 1
            self._lined_up.append(unit)
        else:
            line.leave(unit)

    def _requested(self, unit: Unit, request_id: str) -> None:
        if unit.is_settled:
            self._reopen(unit)
        unit.request_id = request_id
        unit.is_parked = False
        line = unit.frame.line(self.graph, unit)
        if line is not None and not unit.has_slot:
            # The log decides: a running unit has a slot, even above the limit.
            line.leave(unit)
            line.held_count += 1
            unit.has_slot = True
        self._run(unit)
        if self.failure_policy == "abort-dependents" and unit.is_blocked(self.graph):
            self._abort(unit)

    def _reopened(self, unit: Unit) -> None:
        """The next request makes the next attempt; until then the node has no call."""
        if unit.is_settled:
            self._reopen(unit)
            unit.request_id = None
            (self._abort if unit.is_blocked(self.graph) else self._consider)(unit)

    def _reopen(self, unit: Unit) -> None:
        """A new attempt of an ended node: open again what was derived from its end."""
        frame = unit.frame
        if frame.owner is None:
            self.run_status = RunStatus.RUNNING
        elif frame.owner.is_settled:
            self._reopen(frame.owner)
            self._open_maps[frame.owner.path] = frame.owner
            self._run(frame.owner)
        if unit.frame.open_count == 0 and frame.owner is not None:
            frame.owner.open_item_count += 1
            frame.owner.failed_item_count -= frame.lost_count > 0
        for one in reopen(self.graph, unit):
            self._set(one, one.unstarted(self.graph))
        for no in self.graph.successors[unit.node.no]:
            # What had become ready must wait for the new attempt.
            after = frame.units[no]
            if after.status in (NodeStatus.READY, NodeStatus.WAITING):
                self._release(after)
                self._set(after, after.unstarted(self.graph))

    def _run(self, unit: Unit) -> None:
        self._set(unit, NodeStatus.RUNNING)
        for no in self.graph.successors[unit.node.no]:
            successor = unit.frame.units[no]
            if successor.status is NodeStatus.IDLE:
                self._set(successor, NodeStatus.WAITING)

    def _ended(self, unit: Unit, event: CallEvent) -> None:
        unit.request_id = event.request_id
        if unit.is_settled:
            return  # a late event changes nothing; it stays in the log
        match event.type:
            case CallEventType.ABORTED:
                unit.is_cancelled = True
                self._abort(unit)
            case CallEventType.ERROR if event.will_retry:
                unit.error = event.error
                self._release(unit)  # between two attempts it has no slot
            case CallEventType.ERROR:
                self._settle(unit, NodeStatus.FAILED, error=event.error)
            case _:
                self._settle(unit, NodeStatus.COMPLETED, output=event.output)

    def _abort(self, unit: Unit) -> None:
        for inner in unit.inside():
            if not inner.is_settled:
                self._settle(inner, NodeStatus.ABORTED)
        self._ended_requests.add(str(unit.request_id))  # its answer is late, also if it is opened again
        self._settle(unit, NodeStatus.ABORTED)

    def _abort_run(self) -> None:
        if self.run_status is RunStatus.RUNNING:
            self.run_status = RunStatus.CANCELLED
            for unit in [one for one in self.units.values() if not one.is_settled]:
                unit.is_cancelled = True
                self._settle(unit, NodeStatus.ABORTED)

    def _decide(self, unit: Unit) -> None:
        verdict = rules.evaluate_test(unit, self.input)
        if not isinstance(verdict, bool):
            self._settle(unit, NodeStatus.FAILED, error=verdict)
            return
        for one in rules.caught_by(self.graph, unit) if unit.blockers else ():
            unit.frame.count(one, -1)
            one.is_caught = True
        for branch in self.graph.branches:
            if branch.conditional == unit.node.no and branch.negated is verdict:
                for node in self.graph.branch_steps(branch.no):
                    self._skip(unit.frame.units[node.no])
        self._settle(unit, NodeStatus.COMPLETED, output=verdict)

    def _skip(self, unit: Unit) -> None:
        if unit.status in _UNSTARTED:
            self._settle(unit, NodeStatus.SKIPPED)

    def _expand(self, unit: Unit) -> None:
        items = rules.items_of(unit, self.input)
        if not isinstance(items, list):
            self._settle(unit, NodeStatus.FAILED, error=items)
            return
        if not items:
            self._settle(unit, NodeStatus.COMPLETED, output=[])
            return
        unit.items = [Frame(self.graph, unit, index, item) for index, item in enumerate(items)]
        for frame in unit.items:
            self._add(frame)
        unit.open_item_count = len(items)
        self._open_maps[unit.path] = unit
        self._run(unit)
        for frame in unit.items:
            self._start(frame)

    def _frame_ended(self, frame: Frame) -> None:
        owner = frame.owner
        if owner is None:
            if self.run_status is RunStatus.RUNNING:
                self.run_status = RunStatus.FAILED if frame.lost_count else RunStatus.COMPLETED
            return
        if owner.is_settled:
            return
        owner.open_item_count -= 1
        owner.failed_item_count += frame.lost_count > 0
        if owner.open_item_count == 0:
            self._items_ended(owner)

    def _abort_failed_maps(self) -> bool:
        """With abort-dependents, a failed item aborts the others of its map; an inner map fails first."""
        if self.failure_policy != "abort-dependents":
            return False
        failed = [unit for unit in self._open_maps.values() if any(item.failed_count for item in unit.items)]
        inmost = [one for one in failed if not any(other.path.startswith(f"{one.path}[") for other in failed)]
        for owner in inmost:
            del self._open_maps[owner.path]
            for inner in [one for one in owner.inside() if not one.is_settled]:
                self._settle(inner, NodeStatus.ABORTED)
        return bool(failed)

    def _items_ended(self, owner: Unit) -> None:
        if owner.failed_item_count:
            self._settle(owner, NodeStatus.FAILED, error=rules.map_error(owner))
        else:
            results = [rules.item_result_of(self.graph, item) for item in owner.items]
            self._settle(owner, NodeStatus.COMPLETED, output=results)
