"""Keep finished reports until a loop sends them: receives single reports, returns batches in lock order.

Each loop has one line, and all reports of a run join the same line. So two loops never wait for the lock of
the same run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from operator import attrgetter

from stepwell.store.calls.leases import Report
from stepwell.worker.held_leases import UNIT_NO_BITS

_by_unit = attrgetter("unit_id")


class ReportLines:
    """`on_added` is called with the number of a line when a report joins it while it is empty."""

    def __init__(self, line_count: int, on_added: Callable[[int], None]) -> None:
        self._lines: list[deque[Report]] = [deque() for _ in range(line_count)]
        self._line_count = line_count
        self._on_added = on_added

    def add(self, report: Report) -> None:
        line_no = (report.unit_id >> UNIT_NO_BITS) % self._line_count
        line = self._lines[line_no]
        line.append(report)
        # A loop looks at its line before it rests, so the first report is enough to wake it.
        if len(line) == 1:
            self._on_added(line_no)

    def has_any(self, line_no: int) -> bool:
        return bool(self._lines[line_no])

    def take(self, line_no: int, limit: int) -> list[Report]:
        line = self._lines[line_no]
        batch = [line.popleft() for _ in range(min(len(line), limit))]
        # Every path takes row locks in ascending order.
        batch.sort(key=_by_unit)
        return batch

    def put_back(self, line_no: int, batch: list[Report]) -> None:
        """Put a batch that was not accepted at the front of its line."""
        self._lines[line_no].extendleft(reversed(batch))

    @property
    def is_empty(self) -> bool:
        return not any(self._lines)
