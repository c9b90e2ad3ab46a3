"""Speak to libpq directly: receives a statement and its parameters as bytes, returns rows.

For the few statements a worker repeats all day: each is prepared once, and one reader on the socket stays for
the life of the connection. The driver's cursor costs this process twice as much per call. Types come back as
the driver loads them; everything that goes wrong comes out as one of our own errors.
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
from pydantic_core import from_json

from stepwell.errors import from_database
from stepwell.store.connection.pool import named

Connection = psycopg.AsyncConnection[TupleRow]
T = TypeVar("T")

CONNECT_LIMIT_SECONDS = 10
CANCEL_LIMIT_SECONDS = 2.0


async def connect(conninfo: str) -> Connection:
    """A direct connection: a worker's statements are few and always the same, so all are prepared at once."""
    try:
        connection = await psycopg.AsyncConnection[TupleRow].connect(
            named(conninfo, "stepwell worker"),
            autocommit=True,
            prepare_threshold=0,
            connect_timeout=CONNECT_LIMIT_SECONDS,
            client_encoding="UTF8",
        )
    except psycopg.Error as error:
        raise from_database(error) from error
    set_json_loads(from_json, connection)
    return connection


class Wire:
    """A connection nobody else uses; one call at a time. Once broken it stays so: close it, open another."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._libpq = connection.pgconn
        self._loop = asyncio.get_running_loop()
        # Remembered: libpq forgets the number when it drops the connection, the loop does not.
        self._socket = self._libpq.socket
        self._names: dict[str, bytes] = {}
        # One for all answers: to look up the loaders of a lease's columns costs a fifth of a call.
        self._loading = Transformer(connection)
        self._is_calling = False
        self._is_sending = False
        self._is_given_up = False
        self._broken: str | None = None
        self._results: list[PGresult] = []
        # Done when every result is in, or when the connection broke.
        self._answered: asyncio.Future[None] | None = None
        self._loop.add_reader(self._socket, self._on_readable)

    @classmethod
    async def open(cls, conninfo: str) -> Self:
        return cls(await connect(conninfo))

    async def rows(
        self, text: str, parameters: Sequence[bytes | None], make_row: Callable[[Sequence[Any]], T]
    ) -> list[T]:
        """`text` has the placeholders $1, $2, ...; the parameters are what Postgres reads, in UTF-8."""
        if self._is_calling:
            raise RuntimeError("a wire carries one call at a time")
        self._is_calling = True
        try:
            if self._broken is not None:
                raise psycopg.OperationalError(self._broken)
            name = self._names.get(text) or await self._prepare(text)
            for parameter in parameters:
                # libpq would cut the value there and say nothing.
                if parameter is not None and b"\0" in parameter:
                    raise psycopg.DataError("a parameter cannot contain NUL (0x00) bytes")
            # The answer comes as text: in binary a real would come back with digits it was not given.
            self._libpq.send_query_prepared(name, parameters)
            result = await self._answer()
            self._loading.set_pgresult(result)
            rows = self._loading.load_rows(0, result.ntuples, make_row)
            # The answer may be large, and the next one far away.
            self._loading.set_pgresult(None)
            return rows
        except psycopg.Error as error:
            if self._libpq.status != ConnStatus.OK:
                self._break(str(error))
            raise from_database(error) from error
        finally:
            self._is_calling = False

    async def close(self) -> None:
        """Waits for no answer. A statement that was given up is stopped: its locks would help nobody."""
        self._break("the connection is closed")
        try:
            if self._is_given_up:
                with suppress(psycopg.Error):
                    await self._connection.cancel_safe(timeout=CANCEL_LIMIT_SECONDS)
        finally:
            await self._connection.close()

    async def _prepare(self, text: str) -> bytes:
        name = f"wire_{len(self._names)}".encode()
        self._libpq.send_prepare(name, text.encode())
        await self._answer()
        self._names[text] = name
        return name

    async def _answer(self) -> PGresult:
        """The result of what was just sent, when all of it has been read."""
        self._answered = self._loop.create_future()
        try:
            if self._libpq.flush():
                self._is_sending = True
                self._loop.add_writer(self._socket, self._on_writable)
            await self._answered
        except BaseException:
            # The answer will come, and must not be taken for that of another call.
            self._is_given_up = True
            self._break("a call was given up")
            raise
        finally:
            self._answered = None
        results, self._results = self._results, []
        for result in results:
            # An error that ended the connection says more than its end.
            if result.status == ExecStatus.FATAL_ERROR:
                raise error_from_result(result)
        if self._broken is not None:
            raise psycopg.OperationalError(self._broken)
        return results[-1]

    def _on_readable(self) -> None:
        """Also between calls: the server may speak, or hang up, at any time."""
        answered = self._answered
        try:
            self._libpq.consume_input()
            while not self._libpq.is_busy():
                if answered is None or answered.done():
                    return
                result = self._libpq.get_result()
                if result is None:
                    # To consume input also sends; the last of it may have gone that way.
                    self._end_sending()
                    answered.set_result(None)
                else:
                    self._results.append(result)
        except psycopg.Error as error:
            self._break(str(error))

    def _on_writable(self) -> None:
        try:
            if not self._libpq.flush():
                self._end_sending()
        except psycopg.Error as error:
            self._break(str(error))

    def _break(self, reason: str) -> None:
        # Only once: the number of the socket may soon be that of another connection.
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
