"""Read the state of a run: statuses, results, events and requests by path; and the events that people cause.
`projection` changes the state.
"""

from __future__ import annotations

from typing import Any

from stepwell.define.graph import Graph
from stepwell.reactive import rules
from stepwell.reactive.frames import Frame, Unit
from stepwell.reactive.protocol import (
    SETTLED,
    CallEvent,
    CallEventType,
    CallResult,
    NodeStatus,
    UnknownNode,
)

__all__ = ["RunState"]


class RunState:
    """What can be read of a run at one position of its log, and what is written to it without a call."""

    graph: Graph
    frame: Frame
    units: dict[str, Unit]
    log: list[CallEvent]
    node_of_request: dict[str, str]

    def append(self, event: CallEvent) -> bool:
        raise NotImplementedError

    def abort_node(self, path: str) -> None:
        """Cancel one node; the nodes that depend on it are aborted too."""
        unit = self.unit(path)
        request_id = unit.request_id or f"abort:{path}:{len(unit.events)}"
        self.append(CallEvent(CallEventType.ABORTED, request_id, path))

    def reopen_node(self, path: str) -> None:
        """Let an ended node be called again; it is ready, and what was aborted only because of it waits."""
        unit = self.unit(path)
        self.append(CallEvent(CallEventType.REOPENED, f"reopen:{path}:{len(unit.events)}", path))

    def abort_all(self) -> None:
        """Cancel all nodes that have not ended."""
        self.append(CallEvent(CallEventType.RUN_ABORTED, f"run:{len(self.log)}"))

    def unit(self, path: str) -> Unit:
        try:
            return self.units[path]
        except KeyError:
            raise UnknownNode(path) from None

    def get_status(self, path: str) -> NodeStatus:
        return self.unit(path).status

    def get_result(self, path: str) -> CallResult | None:
        unit = self.unit(path)
        if unit.status not in SETTLED or unit.status is NodeStatus.SKIPPED:
            return None
        if unit.status is NodeStatus.ABORTED and not unit.events:
            return None  # it was never called
        return CallResult(unit.status, unit.output, unit.error)

    def get_events(self, path: str) -> tuple[CallEvent, ...]:
        return tuple(self.unit(path).events)

    def statuses(self) -> dict[str, NodeStatus]:
        return {path: unit.status for path, unit in self.units.items()}

    def requests(self) -> dict[str, str]:
        """The request id of the latest attempt of each node that was called."""
        return {path: str(unit.request_id) for path, unit in self.units.items() if unit.has_call}

    def running_calls(self) -> list[tuple[str, str]]:
        """Node and request id of each call that runs."""
        running = {path for path, unit in self.units.items() if unit.status is NodeStatus.RUNNING}
        return [(path, request_id) for path, request_id in self.requests().items() if path in running]

    def result(self) -> Any:
        """The result of the run: see `rules.result_of`."""
        return rules.result_of(self.graph, self.frame)

    def may_run(self, path: str) -> bool:
        """True if the unit is ready or continues, and has a slot if its group has a limit."""
        unit = self.unit(path)
        is_due = unit.status is NodeStatus.READY or (unit.status is NodeStatus.RUNNING and not unit.is_parked)
        return is_due and (unit.has_slot or unit.frame.line(self.graph, unit) is None)
