"""Say when something is due again: receives the time of the database clock, returns whether it is due.

A clock that was moved back does not stop what is due: it counts as if the period had passed.
"""

from __future__ import annotations

from datetime import datetime, timedelta


class Period:
    """Due when the period has passed since it last began; at first at once, or after one period."""

    def __init__(self, period: timedelta, *, waits_first: bool = False) -> None:
        self._period = period
        self._due_at: datetime | None = None
        self._waits_first = waits_first

    def is_due(self, now: datetime) -> bool:
        if self._waits_first:
            self._waits_first = False
            self.begin(now)
        return self._due_at is None or not self._due_at - self._period <= now < self._due_at

    def begin(self, now: datetime) -> None:
        self._due_at = now + self._period

    def passes(self, now: datetime) -> bool:
        """Whether it is due; if so, it begins again."""
        if not self.is_due(now):
            return False
        self.begin(now)
        return True
