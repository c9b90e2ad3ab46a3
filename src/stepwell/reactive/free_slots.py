"""Whether a concurrency limit has a free slot, as signals: receives units that changed."""

from __future__ import annotations

from reaktiv import Signal

from stepwell.reactive.frames import Line, Unit
from stepwell.reactive.protocol import NodeStatus

__all__ = ["FreeSlots"]


class FreeSlots:
    """Whether a concurrency limit has a free slot, as signals that all its units share: one for units that do
    not run, one for a unit that runs. They change only when the limit is reached or left, however many units
    start and end meanwhile."""

    def __init__(self, line: Line, running: set[str]) -> None:
        self.limit = line.limit
        self.paths = running
        self.for_others = Signal(self._has_slot(0))
        self.for_running = Signal(self._has_slot(1))

    def changed(self, unit: Unit) -> None:
        if unit.status is NodeStatus.RUNNING:
            self.paths.add(unit.path)
        else:
            self.paths.discard(unit.path)
        self.for_others.set(self._has_slot(0))
        self.for_running.set(self._has_slot(1))

    def _has_slot(self, own: int) -> bool:
        return len(self.paths) - own < self.limit
