"""Keep the reports of a failed batch: send each half, then each report alone.

A refused batch is halved until the wrong report is alone. A report whose run is locked is sent again after
growing pauses; the other reports do not wait for it.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable

from stepwell.errors import CANCELLED_SQLSTATE, StepwellError
from stepwell.store.calls.leases import Report

PAUSE_FIRST_SECONDS = 0.05
PAUSE_LIMIT_SECONDS = 10.0
# A report whose statement was cancelled so often is refused.
CANCELLED_LIMIT = 5


class SecondTries:
    """`on_back` is called when a report can be sent again."""

    def __init__(self, on_back: Callable[[], None]) -> None:
        self._parts: deque[list[Report]] = deque()
        self._on_back = on_back
        # (unit, lease) → how often its report was postponed.
        self._put_off: dict[tuple[int, int], int] = {}
        self._away_count = 0

    def __bool__(self) -> bool:
        """True if a report can be sent now."""
        return bool(self._parts)

    @property
    def is_empty(self) -> bool:
        return not self._parts and self._away_count == 0

    def add(self, batch: list[Report]) -> None:
        self._parts.append(batch)

    def take(self) -> list[Report]:
        return self._parts.popleft()

    def put_back(self, part: list[Report]) -> None:
        """Put a part that was not accepted at the front."""
        self._parts.appendleft(part)

    def halve(self, part: list[Report]) -> None:
        middle = len(part) // 2
        self._parts.extendleft([part[middle:], part[:middle]])

    def is_hopeless(self, report: Report, error: StepwellError) -> bool:
        """True if its statement was cancelled too often because it takes too long."""
        times = self._put_off.get((report.unit_id, report.lease_no), 0)
        return error.sqlstate == CANCELLED_SQLSTATE and times >= CANCELLED_LIMIT

    def put_off(self, report: Report) -> None:
        """Postpone a report; each pause is longer."""
        key = (report.unit_id, report.lease_no)
        times = self._put_off[key] = self._put_off.get(key, 0) + 1
        pause = min(PAUSE_FIRST_SECONDS * 2.0 ** min(times, 20), PAUSE_LIMIT_SECONDS) * random.uniform(
            0.5, 1.0
        )
        self._away_count += 1
        asyncio.get_running_loop().call_later(pause, self._come_back, report)

    def forget(self, report: Report) -> None:
        """The report was accepted or abandoned."""
        self._put_off.pop((report.unit_id, report.lease_no), None)

    def _come_back(self, report: Report) -> None:
        self._away_count -= 1
        self._parts.append([report])
        self._on_back()
