"""Signals for a run: receives a graph and call events, returns statuses, preconditions and results as
signals, which notify their readers of changes.

A signal is created when it is requested. The projection itself needs no signals, so that computing a long log
costs the same with and without watchers.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from reaktiv import Computed, Effect, ReadonlySignal, Signal, batch, untracked

from stepwell.define.graph import Graph
from stepwell.reactive.frames import Line, Unit
from stepwell.reactive.free_slots import FreeSlots
from stepwell.reactive.projection import Projection
from stepwell.reactive.protocol import (
    SATISFYING,
    CallEvent,
    CallResult,
    NodeStatus,
    RunStatus,
    UnknownNode,
)

__all__ = ["Disposed", "NodeSignals", "WorkflowReactiveRoot"]

Abort = Callable[[str, str | None], None]

log = logging.getLogger(__name__)


class Disposed(RuntimeError):
    """The root was disposed, by its owner or after an error."""


class NodeSignals(NamedTuple):
    """The two signals with which a coordinator starts and aborts the call of one node."""

    node: str
    preconditions: Computed[bool]
    blocked_by_failure: Computed[bool]


class _StatusMap(Mapping[str, ReadonlySignal[NodeStatus]]):
    """The status signals by node; each is created when it is read."""

    def __init__(self, root: WorkflowReactiveRoot) -> None:
        self._root = root

    def __getitem__(self, node: str) -> ReadonlySignal[NodeStatus]:
        return self._root.status(node)

    def __iter__(self) -> Iterator[str]:
        return iter(self._root.statuses())

    def __len__(self) -> int:
        return len(self._root.statuses())


class WorkflowReactiveRoot:
    """Owns every signal, computed and effect of one run; `dispose` ends all of them.

    The coordinator appends events; the root derives statuses. Only `abort_node`, `abort_all` and
    `reopen_node` change a status in another way; they are written to the log too.
    """

    def __init__(
        self,
        graph: Graph,
        failure_policy: str | None = None,
        *,
        input: Any = None,
        on_error: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.graph = graph
        self.error: BaseException | None = None
        self._on_error = on_error
        self._is_disposed = False
        self._statuses: dict[str, Signal[NodeStatus]] = {}
        self._computed: dict[tuple[str, str], Computed[Any]] = {}
        self._running: dict[Line, FreeSlots] = {}
        self._effects: list[Effect] = []
        self._is_driven = False
        self._abort: Abort | None = None
        self._calls: dict[str, str] = {}
        # How many events each node has whose result somebody watches.
        self._event_counts: dict[str, Signal[int]] = {}
        self._counted = 0
        self._to_start: deque[str] = deque()
        self._to_abort: deque[tuple[str, str | None]] = deque()
        self._start_count = Signal(0)
        self._abort_count = Signal(0)
        self._run_status = Signal(RunStatus.RUNNING)
        self._node_count = Signal(0)
        self._projection = Projection(graph, failure_policy, input=input, on_change=self._changed)
        self._publish()

    # EventLogProjection of the source document.

    def append(self, event: CallEvent) -> bool:
        """Add one event; False if it was added before. An error of the engine itself aborts the run."""
        self._require_open()
        return bool(self._guarded(lambda: self._projection.append(event)))

    def get_status(self, node: str) -> NodeStatus:
        return self._projection.get_status(node)

    def get_result(self, node: str) -> CallResult | None:
        return self._projection.get_result(node)

    def get_events(self, node: str) -> tuple[CallEvent, ...]:
        return self._projection.get_events(node)

    @property
    def events(self) -> tuple[CallEvent, ...]:
        return tuple(self._projection.log)

    @property
    def event_log(self) -> tuple[CallEvent, ...]:
        """The same as `events`, by the name of the source document."""
        return self.events

    @property
    def failure_policy(self) -> str:
        return self._projection.failure_policy

    @property
    def node_key_to_request_id(self) -> Mapping[str, str]:
        """The request id of the latest attempt of each node that was requested. It follows from the log."""
        return self._projection.requests()

    @property
    def status_map(self) -> Mapping[str, ReadonlySignal[NodeStatus]]:
        return _StatusMap(self)

    @property
    def nodes(self) -> Iterator[NodeSignals]:
        """Each node with the signals that a coordinator watches."""
        for node in list(self._projection.units):
            yield NodeSignals(node, self.preconditions(node), self.blocked_by_failure(node))

    def statuses(self) -> Mapping[str, NodeStatus]:
        return self._projection.statuses()

    def item_count(self, node: str) -> int:
        """The number of items of a Map; 0 until it has its list."""
        return len(self._projection.unit(node).items)

    def at(self, position: int) -> Projection:
        """The state after the first `position` events."""
        return self._projection.at(position)

    def abort_node(self, node: str) -> None:
        self._require_open()
        self._projection.unit(node)
        self._guarded(lambda: self._projection.abort_node(node))

    def reopen_node(self, node: str) -> None:
        """Let an ended node be called again, as a replay does."""
        self._require_open()
        self._guarded(lambda: self._projection.reopen_node(node))

    def abort_all(self) -> None:
        self._require_open()
        self._guarded(self._projection.abort_all)

    # Signals, each created at its first use.

    @property
    def run_status(self) -> ReadonlySignal[RunStatus]:
        return self._run_status.as_readonly()

    @property
    def node_count(self) -> ReadonlySignal[int]:
        """The number of nodes; it grows when a map expands."""
        return self._node_count.as_readonly()

    def status(self, node: str) -> ReadonlySignal[NodeStatus]:
        return self._status(node).as_readonly()

    def preconditions(self, node: str) -> Computed[bool]:
        """True if every predecessor is completed or skipped."""
        return self._once("preconditions", node, lambda unit: self._all_satisfied(unit))

    def blocked_by_failure(self, node: str) -> Computed[bool]:
        """True if a predecessor failed or was aborted and this node does not catch it."""
        return self._once("blocked", node, lambda unit: self._is_blocked(unit))

    def can_start(self, node: str) -> Computed[bool]:
        """True if the preconditions hold and, if its group has a limit, a slot is free."""
        return self._once("can_start", node, lambda unit: self._has_slot(unit))

    def result(self, node: str) -> Computed[CallResult | None]:
        """The result of the latest attempt, which tests and map sources read."""
        return self._once("result", node, lambda unit: self._result(unit))

    def effect(self, function: Callable[[], None]) -> Callable[[], None]:
        """Run the function now and after each change of a signal it reads; return the function that stops it.
        An error aborts the run."""
        self._require_open()
        made = Effect(lambda: self._effect_body(function))
        self._effects.append(made)

        def dispose() -> None:
            made.dispose()
            if made in self._effects:
                self._effects.remove(made)

        return dispose

    def drive(self, start: Callable[[str], None], abort: Abort | None = None) -> None:
        """Call `start(node)` once for each node that becomes ready, `abort(node, request_id)` for each call
        that runs when its node is aborted, also when an error aborts the run. Both may append events.
        """
        self._is_driven = True
        self._abort = abort
        self._calls = dict(self._projection.running_calls())
        self._to_start.extend(self._projection.ready)
        self.effect(lambda: self._drain(self._start_count, self._start_next, start))
        if abort is not None:
            self.effect(lambda: self._drain(self._abort_count, self._abort_next, abort))

    def dispose(self) -> None:
        """End every effect and remove every signal. The statuses stay readable."""
        self._is_disposed = True
        for effect in self._effects:
            effect.dispose()
        self._effects.clear()
        self._statuses.clear()
        self._computed.clear()
        self._running.clear()
        self._event_counts.clear()
        self._calls.clear()
        self._to_start.clear()
        self._to_abort.clear()

    def _require_open(self) -> None:
        if self._is_disposed:
            raise Disposed("the root was disposed") from self.error

    def _status(self, node: str) -> Signal[NodeStatus]:
        self._require_open()
        found = self._statuses.get(node)
        if found is None:
            found = self._statuses[node] = Signal(self._projection.get_status(node))
        return found

    def _once(self, kind: str, node: str, function: Callable[[Unit], Any]) -> Computed[Any]:
        self._require_open()
        found = self._computed.get((kind, node))
        if found is None:
            unit = self._projection.unit(node)
            found = self._computed[kind, node] = Computed(lambda: function(unit))
        return found

    def _before(self, unit: Unit) -> list[Unit]:
        return [unit.frame.units[no] for no in self.graph.predecessors[unit.node.no]]

    def _all_satisfied(self, unit: Unit) -> bool:
        statuses = [self._status(before.path)() for before in self._before(unit)]
        return all(status in SATISFYING for status in statuses)

    def _is_blocked(self, unit: Unit) -> bool:
        for one in self._before(unit):
            self._status(one.path)()  # so that a change of it is noticed
        return unit.is_blocked(self.graph)

    def _has_slot(self, unit: Unit) -> bool:
        satisfied = bool(self.preconditions(unit.path)())
        line = unit.frame.line(self.graph, unit)
        if line is None:
            return satisfied
        # A shared answer instead of the status of each sibling: else a change would cost n times n.
        running = self._running_of(line)
        is_running = self._status(unit.path)() is NodeStatus.RUNNING
        return satisfied and (running.for_running() if is_running else running.for_others())

    def _running_of(self, line: Line) -> FreeSlots:
        found = self._running.get(line)
        if found is None:
            running = {
                unit.path
                for unit in self._projection.units.values()
                if unit.status is NodeStatus.RUNNING and unit.frame.line(self.graph, unit) is line
            }
            found = self._running[line] = FreeSlots(line, running)
        return found

    def _result(self, unit: Unit) -> CallResult | None:
        self._status(unit.path)()
        # An event may change the result and not the status.
        self._event_counts.setdefault(unit.path, Signal(0))()
        return self._projection.get_result(unit.path)

    def _changed(self, unit: Unit) -> None:
        found = self._statuses.get(unit.path)
        if found is not None:
            found.set(unit.status)
        if self._running:
            line = unit.frame.line(self.graph, unit)
            if line is not None and line in self._running:
                self._running[line].changed(unit)
        if not self._is_driven:
            return
        if unit.status is NodeStatus.READY:
            self._to_start.append(unit.path)
        request_id = self._calls.pop(unit.path, None)
        if unit.status is NodeStatus.ABORTED and request_id is not None:
            self._to_abort.append((unit.path, request_id))
        elif unit.status is NodeStatus.RUNNING and unit.request_id is not None:
            self._calls[unit.path] = unit.request_id

    def _publish(self) -> None:
        self._run_status.set(self._projection.run_status)
        self._node_count.set(len(self._projection.units))
        self._count_events()
        if self._to_start:
            self._start_count.update(lambda count: count + 1)
        if self._to_abort:
            self._abort_count.update(lambda count: count + 1)

    def _count_events(self) -> None:
        projection, first = self._projection, self._counted
        self._counted = len(projection.log)
        for event in projection.log[first:] if self._event_counts else ():
            node = projection.node_of_request.get(event.request_id, "")
            if node in self._event_counts:
                self._event_counts[node].update(lambda count: count + 1)

    def _start_next(self) -> tuple[str] | None:
        while self._to_start:
            node = self._to_start.popleft()
            if self._projection.get_status(node) is NodeStatus.READY:
                return (node,)
        return None

    def _abort_next(self) -> tuple[str, str | None] | None:
        return self._to_abort.popleft() if self._to_abort else None

    def _drain(self, count: Signal[int], following: Callable[[], Any], callback: Callable[..., None]) -> None:
        # A loop instead of nested effects: it also handles the nodes that a callback makes ready.
        count()
        while not self._is_disposed and (arguments := following()) is not None:
            untracked(partial(callback, *arguments))

    def _effect_body(self, function: Callable[[], None]) -> None:
        try:
            function()
        except Exception as error:
            self._fail(error)

    def _guarded(self, action: Callable[[], Any]) -> Any:
        """The error boundary: after an error the signals are inconsistent, so the run is aborted."""
        try:
            with batch():
                done = action()
                self._publish()
        except UnknownNode:
            raise
        except Exception as error:
            self._fail(error)
            raise Disposed(f"the run was aborted: {error}") from error
        return done

    def _fail(self, error: BaseException) -> None:
        """Tell every running call to abort, abort the run, then dispose the root."""
        if self.error is not None:
            return
        self.error = error
        log.error("reactive error, the run is aborted: %s", error)
        calls = [*self._to_abort, *self._projection.running_calls()]
        try:
            for node, request_id in dict.fromkeys(calls):
                self._abort_after_error(node, request_id)
            self._projection.abort_all()
            self._run_status.set(self._projection.run_status)
        finally:
            self.dispose()
            if self._on_error is not None:
                self._on_error(error)

    def _abort_after_error(self, node: str, request_id: str | None) -> None:
        # A call that cannot be aborted must not keep the others running.
        try:
            if self._abort is not None:
                self._abort(node, request_id)
        except Exception as error:
            log.error("the call %s of %s was not aborted: %s", request_id, node, error)
