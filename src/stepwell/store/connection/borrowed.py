"""Give a connection of an async pool to code that waits: receives a statement in a thread, returns its rows.

The checks of an installation wait for each answer. In a server they run in a thread and use a connection of
its pool, so that no request opens a connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final, Protocol

import psycopg
from anyio import from_thread
from psycopg.rows import TupleRow

STATEMENT_LIMIT_SECONDS: Final = 3.0


class Asking(Protocol):
    """What a check needs of a connection."""

    @property
    def info(self) -> psycopg.ConnectionInfo: ...

    def execute(self, query: Any, params: Any = None, /) -> Any: ...


class Borrowed:
    """`execute` is called in a thread; the statement runs in the event loop of the pool."""

    def __init__(self, connection: psycopg.AsyncConnection[TupleRow]) -> None:
        self._connection = connection

    @property
    def info(self) -> psycopg.ConnectionInfo:
        return self._connection.info

    def execute(self, query: Any, params: Any = None, /) -> Answer:
        return from_thread.run(self._execute, query, params)

    async def _execute(self, query: Any, params: Any) -> Answer:
        # A statement that is cancelled ends in the server too.
        async with asyncio.timeout(STATEMENT_LIMIT_SECONDS):
            cursor = await self._connection.execute(query, params)
            return Answer([] if cursor.description is None else await cursor.fetchall())


class Answer:
    """Rows that were read; as of a cursor."""

    def __init__(self, rows: list[TupleRow]) -> None:
        self._rows = rows

    def fetchone(self) -> TupleRow | None:
        return self._rows[0] if self._rows else None

    def fetchall(self) -> list[TupleRow]:
        return self._rows

    def __iter__(self) -> Iterator[TupleRow]:
        return iter(self._rows)
