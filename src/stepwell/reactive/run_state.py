"""Read the state of a run: statuses, results, events and requests by path. `projection` changes the state."""

from __future__ import annotations

from typing import Any

from stepwell.define.graph import Graph
from stepwell.reactive import rules
from stepwell.reactive.frames import Frame, Unit
from stepwell.reactive.protocol import SETTLED, CallEvent, CallResult, NodeStatus, UnknownNode

__all__ = ["RunState"]


class RunState:
    """What can be read of a run at one position of its log."""

    graph: Graph
    frame: Frame
    units: dict[str, Unit]

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
        """The request id of the latest attempt of each node that was requested."""
        return {path: unit.request_id for path, unit in self.units.items() if unit.request_id is not None}

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
