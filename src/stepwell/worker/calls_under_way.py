"""Remember the calls without an answer: a call that lost its connection may have leased unknown units.

Each call that leases gets a batch number above all earlier ones. So the leases of a lost answer have a batch
number above the newest one that was known when the call began.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from stepwell.errors import DatabaseUnavailable
from stepwell.worker.held_leases import HeldLeases


class CallsUnderWay:
    """The calls that wait for their answer, and whether one of them lost its connection."""

    def __init__(self, held: HeldLeases) -> None:
        self._held = held
        # Number of the call → newest batch that was known when it began.
        self._began_after: dict[int, int] = {}
        self._call_count = 0
        self._landed = asyncio.Event()
        # Set if a call lost its connection: its unknown leases have a batch above this one.
        self.doubtful_after: int | None = None

    @property
    def known_batch_id(self) -> int:
        """Every batch up to this one has arrived here."""
        floors = list(self._began_after.values())
        if self.doubtful_after is not None:
            floors.append(self.doubtful_after)
        return min(floors, default=self._held.last_batch_id)

    @property
    def are_under_way(self) -> bool:
        return bool(self._began_after)

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """One call, from its beginning until its answer arrives or is lost."""
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
        """Wait until no call is under way; return the batch above which leases may be unknown, or None."""
        while self.doubtful_after is not None and self._began_after:
            self._landed.clear()
            await self._landed.wait()
        return self.doubtful_after

    def settle_doubt(self) -> None:
        self.doubtful_after = None
