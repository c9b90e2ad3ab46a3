"""Signals for a run: receives a graph and call events, returns statuses, preconditions and results as
signals, which notify their readers of changes.

A signal is created when it is requested. The projection itself needs no signals, so that computing a long log
costs the same with and without watchers.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from reaktiv import Computed, Effect, ReadonlySignal, Signal, batch, untracked

from stepwell.define.graph import Graph
from stepwell.reactive.frames import Unit
from stepwell.reactive.projection import Projection
from stepwell.reactive.protocol import (
    SATISFYING,
    SETTLED,
    CallEvent,
    CallResult,
    NodeStatus,
    RunStatus,
    UnknownNode,
)

__all__ = ["Disposed", "WorkflowReactiveRoot"]

log = logging.getLogger(__name__)


class Disposed(RuntimeError):
    """The root was disposed, by its owner or after an error."""


class WorkflowReactiveRoot:
    """Owns every signal, computed and effect of one run; `dispose` ends all of them.

    The coordinator appends events; the root derives statuses. Only `abort_node` and `abort_all` change a
    status in another way; they are written to the log too.
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
        self._effects: list[Effect] = []
        self._is_driven = False
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
        if event.type.startswith("call.") and event.node is not None:
            self._projection.unit(event.node)  # a wrong name is an error of the caller, not of the engine
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

    def statuses(self) -> Mapping[str, NodeStatus]:
        return self._projection.statuses()

    def at(self, position: int) -> Projection:
        """The state after the first `position` events."""
        return self._projection.at(position)

    def abort_node(self, node: str) -> None:
        self._require_open()
        self._projection.unit(node)
        self._guarded(lambda: self._projection.abort_node(node))

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
        return self._once("blocked", node, lambda unit: self._any_broken(unit))

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

    def drive(
        self, start: Callable[[str], None], abort: Callable[[str, str | None], None] | None = None
    ) -> None:
        """Call `start(node)` once for each node that becomes ready, `abort(node, request_id)` for each call
        that runs when its node is aborted. Both may append events.
        """
        self._is_driven = True
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

    def _any_broken(self, unit: Unit) -> bool:
        caught = (unit.node.reads or ()) if unit.node.kind == "conditional" else ()
        statuses = [self._status(one.path)() for one in self._before(unit) if one.node.no not in caught]
        return any(status in SETTLED and status not in SATISFYING for status in statuses)

    def _has_slot(self, unit: Unit) -> bool:
        line = unit.frame.line(self.graph, unit)
        satisfied = bool(self.preconditions(unit.path)())
        if line is None:
            return satisfied
        siblings = [one for one in unit.frame.units.values() if one.node.group == unit.node.group]
        running = [self._status(one.path)() for one in siblings if one is not unit]
        return satisfied and running.count(NodeStatus.RUNNING) < line.limit

    def _result(self, unit: Unit) -> CallResult | None:
        self._status(unit.path)()
        return self._projection.get_result(unit.path)

    def _changed(self, unit: Unit) -> None:
        found = self._statuses.get(unit.path)
        if found is not None:
            found.set(unit.status)
        if not self._is_driven:
            return
        if unit.status is NodeStatus.READY:
            self._to_start.append(unit.path)
        elif unit.status is NodeStatus.ABORTED and unit.request_id is not None:
            self._to_abort.append((unit.path, unit.request_id))

    def _publish(self) -> None:
        self._run_status.set(self._projection.run_status)
        self._node_count.set(len(self._projection.units))
        if self._to_start:
            self._start_count.update(lambda count: count + 1)
        if self._to_abort:
            self._abort_count.update(lambda count: count + 1)

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
        if self.error is not None:
            return
        self.error = error
        log.error("reactive error, the run is aborted: %s", error)
        try:
            self._projection.abort_all()
            self._run_status.set(self._projection.run_status)
        finally:
            waiting = list(self._to_abort)
            self.dispose()
            self._to_abort.extend(waiting)
            if self._on_error is not None:
                self._on_error(error)
