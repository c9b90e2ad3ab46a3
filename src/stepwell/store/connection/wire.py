"""Use libpq directly: receives a statement and its parameters as bytes, returns rows.

It is for the few statements that a worker repeats most. Each is prepared once, and one reader on the socket
stays for the life of the connection. A cursor of the driver costs twice as much for each call. The driver
loads the types; every error becomes a StepwellError.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Self, TypeVar

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGresult
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_loads

from stepwell.errors import from_database
from stepwell.store.connection import json_values
from stepwell.store.connection.pool import named

Connection = psycopg.AsyncConnection[TupleRow]
T = TypeVar("T")

CONNECT_LIMIT_SECONDS = 10
CANCEL_LIMIT_SECONDS = 2.0
# A session that waits for a lock may hold others: fail after a short time and try again.
LOCK_LIMIT_SECONDS = 2


async def connect(conninfo: str) -> Connection:
    """A direct connection. A worker has few different statements, so each is prepared at its first use."""
    try:
        connection = await psycopg.AsyncConnection[TupleRow].connect(
            named(conninfo, "stepwell worker"),
            autocommit=True,
            prepare_threshold=0,
            connect_timeout=CONNECT_LIMIT_SECONDS,
            client_encoding="UTF8",
        )
        await connection.execute(f"set lock_timeout = '{LOCK_LIMIT_SECONDS}s'")
    except psycopg.Error as error:
        raise from_database(error) from error
    set_json_loads(json_values.read, connection)
    return connection


class Wire:
    """A connection that nothing else uses; one call at a time. A broken one must be closed and replaced."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._libpq = connection.pgconn
        self._loop = asyncio.get_running_loop()
        # Stored, because libpq forgets the number when it closes the connection, but the loop needs it.
        self._socket = self._libpq.socket
        self._names: dict[str, bytes] = {}
        # One for all answers, because looking up the loaders of the columns costs a fifth of a call.
        self._loading = Transformer(connection)
        self._is_calling = False
        self._is_sending = False
        self._is_given_up = False
        self._broken: str | None = None
        self._results: list[PGresult] = []
        # Done when all results have arrived, or when the connection broke.
        self._answered: asyncio.Future[None] | None = None
        self._loop.add_reader(self._socket, self._on_readable)

    @classmethod
    async def open(cls, conninfo: str) -> Self:
        return cls(await connect(conninfo))

    async def rows(
        self, text: str, parameters: Sequence[bytes | None], make_row: Callable[[Sequence[Any]], T]
    ) -> list[T]:
        """`text` has the placeholders $1, $2, ...; the parameters are Postgres text format in UTF-8."""
        if self._is_calling:
            raise RuntimeError("a wire performs one call at a time")
        self._is_calling = True
        try:
            if self._broken is not None:
                raise psycopg.OperationalError(self._broken)
            name = await self._name_of(text)
            self._send(name, parameters)
            return self._rows(await self._answer(), make_row)
        except psycopg.Error as error:
            if self._libpq.status != ConnStatus.OK:
                self._break(str(error))
            raise from_database(error) from error
        finally:
            self._is_calling = False

    async def close(self) -> None:
        """Close without waiting for an answer. Cancel an abandoned statement, so that it frees its locks."""
        self._break("the connection is closed")
        try:
            if self._is_given_up:
                with suppress(psycopg.Error):
                    await self._connection.cancel_safe(timeout=CANCEL_LIMIT_SECONDS)
        finally:
            await self._connection.close()

    def _send(self, name: bytes, parameters: Sequence[bytes | None]) -> None:
        for parameter in parameters:
            # libpq would cut the value there without an error.
            if parameter is not None and b"\0" in parameter:
                raise psycopg.DataError("a parameter cannot contain NUL (0x00) bytes")
        # Results in text format: in binary format a `real` would get digits that it does not have.
        self._libpq.send_query_prepared(name, parameters)

    def _rows(self, result: PGresult, make_row: Callable[[Sequence[Any]], T]) -> list[T]:
        self._loading.set_pgresult(result)
        rows = self._loading.load_rows(0, result.ntuples, make_row)
        # Free the answer: it may be large, and the next call may come much later.
        self._loading.set_pgresult(None)
        return rows

    async def _name_of(self, text: str) -> bytes:
        """The name of the statement, which is prepared at its first use."""
        if text in self._names:
            return self._names[text]
        name = f"wire_{len(self._names)}".encode()
        self._libpq.send_prepare(name, text.encode())
        await self._answer()
        self._names[text] = name
        return name

    async def _answer(self) -> PGresult:
        """The complete result of what was just sent."""
        results = await self._received()
        for result in results:
            # Check this first: the error of the server gives the reason, the closed connection does not.
            if result.status == ExecStatus.FATAL_ERROR:
                raise error_from_result(result)
        if self._broken is not None:
            raise psycopg.OperationalError(self._broken)
        return results[-1]

    async def _received(self) -> list[PGresult]:
        """Wait for everything that answers what was just sent, or for the end of the connection."""
        self._answered = self._loop.create_future()
        try:
            if self._libpq.flush():
                self._is_sending = True
                self._loop.add_writer(self._socket, self._on_writable)
            await self._answered
        except BaseException:
            # The answer will still arrive; the next call must not read it as its own.
            self._is_given_up = True
            self._break("a call was abandoned")
            raise
        finally:
            self._answered = None
        results, self._results = self._results, []
        return results

    def _is_last(self, result: PGresult | None) -> bool:
        """Keeps a result; whether it was the last one."""
        if result is not None:
            self._results.append(result)
        return result is None

    def _on_readable(self) -> None:
        """Also called between calls: the server may send a message or close the connection at any time."""
        answered = self._answered
        try:
            self._libpq.consume_input()
            while not self._libpq.is_busy():
                if answered is None or answered.done():
                    return
                if self._is_last(self._libpq.get_result()):
                    # consume_input also sends; it may have sent the last part.
                    self._end_sending()
                    answered.set_result(None)
        except psycopg.Error as error:
            self._break(str(error))

    def _on_writable(self) -> None:
        try:
            if not self._libpq.flush():
                self._end_sending()
        except psycopg.Error as error:
            self._break(str(error))

    def _break(self, reason: str) -> None:
        # Only once: another connection may soon get the same socket number.
        if self._broken is None:
            self._broken = reason
            self._loop.remove_reader(self._socket)
            self._end_sending()
        if self._answered is not None and not self._answered.done():
            self._answered.set_result(None)

    def _end_sending(self) -> None:
        if self._is_sending:
            self._is_sending = False
            self._loop.remove_writer(self._socket)
