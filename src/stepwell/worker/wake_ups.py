"""Let loops rest until there is something to do: one event per loop, and a count of those that rest."""

from __future__ import annotations

import asyncio


class WakeUps:
    """A report wakes the loop of its line only; the others go on resting."""

    def __init__(self, loop_count: int) -> None:
        self._events = [asyncio.Event() for _ in range(loop_count)]
        self.resting_count = 0

    def wake(self, loop_no: int) -> None:
        self._events[loop_no].set()

    def wake_all(self) -> None:
        for event in self._events:
            event.set()

    async def rest(self, loop_no: int) -> None:
        """Until this loop is woken."""
        event = self._events[loop_no]
        event.clear()
        self.resting_count += 1
        try:
            # A handler that has nothing to wait for has reported by the next turn of the event loop.
            await asyncio.sleep(0)
            if not event.is_set():
                await event.wait()
        finally:
            self.resting_count -= 1
