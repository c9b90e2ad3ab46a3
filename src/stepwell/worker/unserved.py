"""Operations that came here and have no handler here: receives their leases, says so to the database once.

Several services may share a database, and releases are rolled out one worker after the other: another worker
may well serve what this one does not. The lease goes back without an attempt counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Sequence
from typing import Any

from stepwell.errors import StepwellError
from stepwell.store.calls.leases import Lease
from stepwell.worker.attempt_log import place

# Before a lease goes back although the database could not be told: it may come again at once.
PAUSE_SECONDS = 1.0


class Unserved:
    """What the session's claims leave to others."""

    def __init__(
        self, handlers: Container[str], tell: Callable[[Sequence[str]], Awaitable[None]], log: Any
    ) -> None:
        self._handlers = handlers
        self._tell = tell
        self._log = log
        # By tenant: an operation has a number for each, and only those are known that are there.
        self._told: set[tuple[int, str]] = set()
        self._logged: set[str] = set()
        self._telling = asyncio.Lock()

    def forget(self) -> None:
        """A new session has been told nothing."""
        self._told.clear()

    async def meet(self, lease: Lease) -> None:
        """Returns when the lease can go back without coming here again."""
        met = (lease.tenant_id, lease.operation_name)
        async with self._telling:
            if met in self._told:
                return
            self._log_once(lease)
            try:
                await self._tell(sorted({name for _, name in (*self._told, met)}))
                self._told.add(met)
            except StepwellError as error:
                self._log.warning("could not say which operations are served here", error=error.sentence())
                await asyncio.sleep(PAUSE_SECONDS)

    async def look_again(self) -> None:
        """A handler may have been registered since."""
        async with self._telling:
            left = {met for met in self._told if met[1] not in self._handlers}
            if left != self._told:
                await self._tell(sorted({name for _, name in left}))
                self._told = left

    def _log_once(self, lease: Lease) -> None:
        if lease.operation_name not in self._logged:
            self._logged.add(lease.operation_name)
            self._log.warning(
                "no handler for this operation here; it is left to other workers",
                operation=lease.operation_name,
                **place(lease.unit_id, lease.step_id),
            )
