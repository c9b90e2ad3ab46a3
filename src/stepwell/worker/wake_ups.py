"""Let loops wait until there is something to do: one event for each loop, and the count of idle loops."""

from __future__ import annotations

import asyncio


class WakeUps:
    """A report wakes only the loop of its line."""

    def __init__(self, loop_count: int) -> None:
        self._events = [asyncio.Event() for _ in range(loop_count)]
        self.resting_count = 0

    def wake(self, loop_no: int) -> None:
        self._events[loop_no].set()

    def wake_all(self) -> None:
        for event in self._events:
            event.set()

    async def rest(self, loop_no: int) -> None:
        """Wait until this loop is woken."""
        event = self._events[loop_no]
        event.clear()
        self.resting_count += 1
        try:
            # A handler that awaits nothing has reported after one turn of the event loop.
            await asyncio.sleep(0)
            if not event.is_set():
                await event.wait()
        finally:
            self.resting_count -= 1
