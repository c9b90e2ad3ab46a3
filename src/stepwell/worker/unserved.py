"""Operations without a handler in this worker: receives their leases, tells the database once to omit them.

Several services may share a database, and workers are updated one after the other: another worker may have
the handler. The lease is released, and no attempt is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Sequence
from typing import Any

from stepwell.errors import StepwellError
from stepwell.store.calls.leases import Lease
from stepwell.worker.attempt_log import place

# Pause before a lease is released if the database could not be told: the same lease may come again
# immediately.
PAUSE_SECONDS = 1.0


class Unserved:
    """The operations that the claims of this session leave to other workers."""

    def __init__(
        self, handlers: Container[str], tell: Callable[[Sequence[str]], Awaitable[None]], log: Any
    ) -> None:
        self._handlers = handlers
        self._tell = tell
        self._log = log
        # (tenant, operation): each tenant has its own row of an operation, and the database is told for each.
        self._told: set[tuple[int, str]] = set()
        self._logged: set[str] = set()
        self._telling = asyncio.Lock()

    def forget(self) -> None:
        """A new session begins: the database knows nothing about it."""
        self._told.clear()

    async def exclude(self, lease: Lease) -> None:
        """Tell the database; returns when the lease can be released."""
        met = (lease.tenant_id, lease.operation_name)
        async with self._telling:
            if met in self._told:
                return
            self._log_once(lease)
            try:
                await self._tell(sorted({name for _, name in (*self._told, met)}))
                self._told.add(met)
            except StepwellError as error:
                self._log.warning(
                    "could not tell the database which operations have no handler", error=error.sentence()
                )
                await asyncio.sleep(PAUSE_SECONDS)

    async def look_again(self) -> None:
        """Remove operations that have a handler now."""
        async with self._telling:
            left = {met for met in self._told if met[1] not in self._handlers}
            if left != self._told:
                await self._tell(sorted({name for _, name in left}))
                self._told = left

    def _log_once(self, lease: Lease) -> None:
        if lease.operation_name not in self._logged:
            self._logged.add(lease.operation_name)
            self._log.warning(
                "this worker has no handler for the operation; other workers may run it",
                operation=lease.operation_name,
                **place(lease.unit_id, lease.step_id),
            )
