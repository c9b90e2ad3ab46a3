"""Send the progress of handlers: receives the last report of each, sends all of them in one call.

The first report is sent immediately, the next ones wait: a worker sends at most once in `PAUSE_SECONDS`. A
report that cannot be sent is lost; the next report of the handler replaces it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from stepwell.errors import StepwellError
from stepwell.handler_progress import Progress
from stepwell.store.calls.leases import Lease, LeaseKey, Report

PAUSE_SECONDS = 2.0

Send = Callable[[Sequence[tuple[LeaseKey, Progress]]], Awaitable[None]]


class ProgressReports:
    """The last unsent report of each handler."""

    def __init__(self, send: Send, log: Any) -> None:
        self._send = send
        self._log = log
        self._unsent: dict[LeaseKey, Progress] = {}
        self._has_unsent = asyncio.Event()

    def note(self, lease: Lease, said: Progress) -> None:
        self._unsent[_key(lease)] = said
        self._has_unsent.set()

    async def run(self) -> None:
        while True:
            await self._has_unsent.wait()
            await self._flush(list(self._unsent))
            await asyncio.sleep(PAUSE_SECONDS)

    async def end(self, lease: Lease, report: Report | None) -> None:
        """The attempt ends. If it did not complete, send its last progress now: later the lease is gone."""
        if report is None or report.outcome == "completed":
            self._unsent.pop(_key(lease), None)
        else:
            await self._flush([_key(lease)])

    async def _flush(self, keys: Sequence[LeaseKey]) -> None:
        batch = [(key, self._unsent.pop(key)) for key in sorted(keys) if key in self._unsent]
        if not self._unsent:
            self._has_unsent.clear()
        if not batch:
            return
        try:
            await self._send(batch)
        except StepwellError as error:
            self._log.debug("progress was not stored", count=len(batch), error=error.sentence())


def _key(lease: Lease) -> LeaseKey:
    return (lease.tenant_id, lease.unit_id, lease.lease_no)
