"""Know which calls have no answer yet: a call that was cut may have leased units that nobody here knows of.

Each call that leases gets a batch number above all that were given before it. So whatever a lost answer held
came after the newest batch that was known when the call began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from stepwell.errors import DatabaseUnavailable
from stepwell.worker.held_leases import HeldLeases


class CallsUnderWay:
    """The calls that wait for their answer, and whether one of them was cut."""

    def __init__(self, held: HeldLeases) -> None:
        self._held = held
        # Each with the newest batch known when it began.
        self._began_after: dict[int, int] = {}
        self._call_count = 0
        self._landed = asyncio.Event()
        # A call was cut; whatever it leased came after this batch.
        self.doubtful_after: int | None = None

    @property
    def known_batch_id(self) -> int:
        """Every batch up to this one has arrived here."""
        floors = list(self._began_after.values())
        if self.doubtful_after is not None:
            floors.append(self.doubtful_after)
        return min(floors, default=self._held.last_batch_id)

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """A call from its beginning to its answer, or to the loss of it."""
        self._call_count += 1
        number = self._call_count
        self._began_after[number] = self._held.last_batch_id
        try:
            yield
        except DatabaseUnavailable:
            floor = self._began_after[number]
            self.doubtful_after = floor if self.doubtful_after is None else min(floor, self.doubtful_after)
            raise
        finally:
            del self._began_after[number]
            self._landed.set()

    async def until_doubt_can_be_settled(self) -> int | None:
        """Wait until no call is under way; the batch after which leases may be unknown, if any may."""
        while self.doubtful_after is not None and self._began_after:
            self._landed.clear()
            await self._landed.wait()
        return self.doubtful_after

    def settle_doubt(self) -> None:
        self.doubtful_after = None
