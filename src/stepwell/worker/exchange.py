"""Trade outcomes for leases: receives finished reports, hands on the next leases, in one call and one commit.

Outcomes that finish while a call is under way travel together in the next one: the batch grows with the load
and is one outcome when the worker is idle. Never more is leased than there are free slots.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import psycopg

from stepwell.errors import LeaseLost, StepwellError, from_database
from stepwell.store import leases
from stepwell.store.leases import Connection, Lease, Report

BATCH_LIMIT = 500
RETRY_FIRST_SECONDS = 0.1
RETRY_LIMIT_SECONDS = 10.0


class Exchange:
    """Slots, finished reports and the loops that carry them. All on one event loop: no locks."""

    def __init__(
        self,
        connect: Callable[[], asyncio.Future[Connection] | object],
        slot_count: int,
        start: Callable[[Lease], None],
        on_lost_session: Callable[[], object],
    ) -> None:
        self._connect = connect
        self._start = start
        self._on_lost_session = on_lost_session
        self._slot_count = slot_count
        self._free_count = slot_count
        self._finished: deque[Report] = deque()
        self._stir = asyncio.Event()
        self._is_dry = False
        self.session_id = 0
        self.is_claiming = True
        self.is_stopping = False
        self.refused_count = 0
        self.reported_count = 0
        self.last_batch_id = 0

    @property
    def busy_count(self) -> int:
        return self._slot_count - self._free_count

    def finish(self, report: Report | None) -> None:
        """A handler ended. Its slot is free once the report has been taken; at once when there is none."""
        if report is None:
            self._free_count += 1
        else:
            self._finished.append(report)
        self._stir.set()

    def hint(self) -> None:
        """Something may have become claimable."""
        self._is_dry = False
        self._stir.set()

    async def run(self) -> None:
        """One loop on one connection; several may run side by side."""
        pause = RETRY_FIRST_SECONDS
        while not (self.is_stopping and not self._finished):
            try:
                connection: Connection = await self._connect()  # type: ignore[misc]
                async with connection:
                    pause = RETRY_FIRST_SECONDS
                    await self._trade_until_stopped(connection)
            except (psycopg.OperationalError, psycopg.InterfaceError):
                await asyncio.sleep(pause)
                pause = min(pause * 2, RETRY_LIMIT_SECONDS)

    async def _trade_until_stopped(self, connection: Connection) -> None:
        while True:
            await self._until_something_to_do()
            if self.is_stopping and not self._finished:
                return
            await self._trade(connection)

    async def _until_something_to_do(self) -> None:
        while not (
            self._finished or self.is_stopping or (self.is_claiming and self._free_count and not self._is_dry)
        ):
            self._stir.clear()
            await self._stir.wait()

    async def _trade(self, connection: Connection) -> None:
        batch = [self._finished.popleft() for _ in range(min(len(self._finished), BATCH_LIMIT))]
        asked = 0
        if self.is_claiming:
            asked = min(self._free_count + len(batch), BATCH_LIMIT)
            # Slots of the batch stay taken until its report is through; those asked for are taken now.
            self._free_count -= asked - len(batch) if asked > len(batch) else 0
        try:
            rows = await self._call(connection, batch, asked)
        except BaseException:
            self._finished.extendleft(reversed(batch))
            self._free_count += max(asked - len(batch), 0)
            raise
        self._settle(rows, batch, asked)

    async def _call(self, connection: Connection, batch: list[Report], asked: int) -> list[Lease]:
        while True:
            session_id = self.session_id
            try:
                if batch:
                    return await leases.report_and_claim(connection, session_id, batch, asked)
                return await leases.claim(connection, session_id, asked)
            except psycopg.Error as error:
                found = from_database(error)
                if isinstance(found, LeaseLost):
                    await self._on_lost_session()  # type: ignore[misc]
                    return []
                if not _is_repeatable(found):
                    raise

    def _settle(self, rows: list[Lease], batch: list[Report], asked: int) -> None:
        got = 0
        for row in rows:
            if row.row_kind == "lease":
                got += 1
                self.last_batch_id = max(self.last_batch_id, row.batch_id)
                self._start(row)
            else:
                self.refused_count += 1
        self.reported_count += len(batch)
        reserved = max(asked, len(batch))
        self._free_count += reserved - got
        self._is_dry = got < asked
        if self._finished or (self._free_count and not self._is_dry):
            self._stir.set()


def _is_repeatable(error: StepwellError) -> bool:
    return error.sqlstate in ("40001", "40P01", "55P03")
