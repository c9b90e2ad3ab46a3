"""Wait for a notification: receives channels, returns a `Wake`.

A notification is only a hint: the caller reads the tables after each wake, whatever the reason. If the
connection is lost, if a pooler does not support LISTEN or if there is no address, the wait ends at its limit.
"""

from __future__ import annotations

import asyncio
import enum
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from stepwell.store.connection.pool import named

CONNECT_LIMIT_SECONDS = 10
RETRY_MIN_SECONDS = 0.2
RETRY_MAX_SECONDS = 2.0

_log = logging.getLogger("stepwell.listen")


class WakeReason(enum.StrEnum):
    NOTIFIED = "notified"
    LIMIT = "limit"
    # A new connection: notifications may have been lost before it.
    CONNECTED = "connected"


@dataclass(frozen=True, slots=True)
class Wake:
    """Why the wait ended; `payloads` are (channel, payload) in order of arrival."""

    reason: WakeReason
    payloads: tuple[tuple[str, str], ...] = ()


class Listener:
    """One direct connection that listens; it reconnects when it is lost. `conninfo` None: polling only."""

    def __init__(self, conninfo: str | None, channels: Sequence[str]) -> None:
        self._conninfo = None if conninfo is None else named(conninfo, "stepwell listen")
        self._channels = tuple(channels)
        self._connection: psycopg.AsyncConnection[TupleRow] | None = None
        self._retry_seconds = RETRY_MIN_SECONDS
        self._retry_at = 0.0

    async def __aenter__(self) -> Self:
        await self._connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def is_connected(self) -> bool:
        return self._connection is not None and not self._connection.closed

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def wait(self, limit_seconds: float) -> Wake:
        """Return at the first notification, after a new connection, or at the limit."""
        deadline = time.monotonic() + limit_seconds
        while (left := deadline - time.monotonic()) > 0:
            if not self.is_connected:
                if await self._connect():
                    return Wake(WakeReason.CONNECTED)
                pause = self._retry_at - time.monotonic() if self._conninfo is not None else left
                await asyncio.sleep(max(0.0, min(left, pause)))
                continue
            if payloads := await self._notified(left):
                return Wake(WakeReason.NOTIFIED, payloads)
        return Wake(WakeReason.LIMIT)

    async def _notified(self, limit_seconds: float) -> tuple[tuple[str, str], ...]:
        assert self._connection is not None
        try:
            found = self._connection.notifies(timeout=limit_seconds, stop_after=1)
            return tuple([(notify.channel, notify.payload) async for notify in found])
        except psycopg.Error as error:
            _log.warning("lost the connection that listens; polling until it is connected again (%s)", error)
            await self.close()
            return ()

    async def _connect(self) -> bool:
        if self._conninfo is None or time.monotonic() < self._retry_at:
            return False
        try:
            connection = await psycopg.AsyncConnection.connect(
                self._conninfo, autocommit=True, connect_timeout=CONNECT_LIMIT_SECONDS
            )
            for channel in self._channels:
                await connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
        except psycopg.Error as error:
            _log.info("cannot listen yet; polling instead (%s)", error)
            self._retry_at = time.monotonic() + self._retry_seconds
            self._retry_seconds = min(self._retry_seconds * 2, RETRY_MAX_SECONDS)
            return False
        self._connection = connection
        self._retry_seconds = RETRY_MIN_SECONDS
        return True
