"""Lease ahead: receives how long handlers took, returns how many units to lease beyond the free slots.

A worker with short handlers would wait for the database after each few of them. So it leases as many units
more as its slots are expected to begin within `WAIT_SECONDS`. They wait here, leased and not begun; if the
handlers before them take longer than expected, they are released again, and no attempt is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final

from stepwell.store.calls.leases import Lease

WAIT_SECONDS: Final = 0.05
# Leases that have waited for so long are released: other workers may be idle.
RELEASE_SECONDS: Final = 0.25
# Slots and further leases together.
LEASE_LIMIT: Final = 1000
# A handler that took longer than the mean changes it at once, a shorter one little by little.
_UP: Final = 0.5
_DOWN: Final = 0.02


class Ahead:
    """The leases that wait for a handler, in the order of their claims."""

    def __init__(self, slot_count: int) -> None:
        self._slot_count = slot_count
        self._room = max(LEASE_LIMIT - slot_count, 0)
        # Nothing is leased ahead before a handler has ended.
        self._mean_seconds = 1.0
        self.waiting: dict[int, tuple[Lease, float]] = {}

    def count(self) -> int:
        """How many units may be leased beyond the slots."""
        return min(self._room, int(self._slot_count * WAIT_SECONDS / self._mean_seconds))

    def note_ended(self, seconds: float) -> None:
        """A handler took so long, or a lease has waited for so long."""
        difference = seconds - self._mean_seconds
        mean = self._mean_seconds + difference * (_UP if difference > 0 else _DOWN)
        self._mean_seconds = mean if mean > 1e-6 else 1e-6

    def add(self, lease: Lease, loop: asyncio.AbstractEventLoop, release: Callable[[Lease], None]) -> None:
        """Let a lease wait; `release` is called with it if it waits for too long."""
        if not self.waiting:
            loop.call_later(RELEASE_SECONDS, self._look, loop, release)
        self.waiting[lease.unit_id] = (lease, loop.time())

    def _look(self, loop: asyncio.AbstractEventLoop, release: Callable[[Lease], None]) -> None:
        """Release all if the oldest has waited for too long."""
        waited = self.waited_seconds(loop.time())
        if waited is None:
            return
        if waited < RELEASE_SECONDS:
            loop.call_later(RELEASE_SECONDS - waited, self._look, loop, release)
            return
        self.note_ended(waited)
        for lease in self.take_all():
            release(lease)

    def take(self) -> Lease | None:
        """The next lease; None if none waits."""
        for unit_id in self.waiting:
            return self.waiting.pop(unit_id)[0]
        return None

    def take_unit(self, unit_id: int, lease_no: int) -> Lease | None:
        """The lease with this number if it waits."""
        found = self.waiting.get(unit_id)
        if found is None or found[0].lease_no != lease_no:
            return None
        return self.waiting.pop(unit_id)[0]

    def take_all(self) -> Iterator[Lease]:
        while (lease := self.take()) is not None:
            yield lease

    def waited_seconds(self, now: float) -> float | None:
        """How long the oldest lease has waited; None if none waits."""
        for _, since in self.waiting.values():
            return now - since
        return None
