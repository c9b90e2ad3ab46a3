"""Open connections: receives a conninfo, returns psycopg pools, sync or async, or one for a command.

Every name in our SQL includes the schema, and every call is one statement in one transaction. So a connection
needs no session state and may go through a transaction pooler such as PgBouncer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from stepwell.errors import DatabaseUnavailable, ServerBusy, StepwellError, from_database

if TYPE_CHECKING:
    from psycopg_pool import AsyncConnectionPool

    AsyncPool = AsyncConnectionPool[psycopg.AsyncConnection[TupleRow]]

APPLICATION_NAME = "stepwell"
OPEN_LIMIT_SECONDS = 30.0
PROBE_LIMIT_SECONDS = 10
CHECKOUT_LIMIT_SECONDS = 30.0
# A person waits for the answer: rather a problem soon than a connection late.
SERVED_CHECKOUT_SECONDS = 8.0
CLOSE_LIMIT_SECONDS = 5.0
IDLE_LIMIT_SECONDS = 300.0


class Connections(Protocol):
    """Where a call gets a connection from: a pool, or the one connection of a command."""

    def connection(self) -> AbstractAsyncContextManager[psycopg.AsyncConnection[TupleRow]]: ...


def named(conninfo: str, application_name: str = APPLICATION_NAME) -> str:
    """The conninfo with an application name for pg_stat_activity, unless it has one."""
    if conninfo_to_dict(conninfo).get("application_name"):
        return conninfo
    return make_conninfo(conninfo, application_name=application_name)


def not_waiting(conninfo: str) -> str:
    """The same address with commits that do not wait for the disk: a crash may lose the last of them."""
    return make_conninfo(conninfo, options="-c synchronous_commit=off")


@asynccontextmanager
async def async_pool(
    conninfo: str, *, min_size: int = 1, max_size: int = 10, prepares: bool = True
) -> AsyncIterator[AsyncPool]:
    """`prepares=False` for a pooler that does not keep prepared statements (PgBouncer before 1.21)."""
    from psycopg_pool import AsyncConnectionPool

    try:
        async with AsyncConnectionPool(
            named(conninfo),
            connection_class=psycopg.AsyncConnection[TupleRow],
            min_size=min_size,
            kwargs=_connection_settings(prepares=prepares),
            open=False,
            **_pool_settings(max_size),
        ) as pool:
            await pool.wait(OPEN_LIMIT_SECONDS)
            yield pool
    except psycopg.OperationalError as error:
        raise _reason(conninfo, error) from error


@asynccontextmanager
async def served_pool(conninfo: str, *, max_size: int) -> AsyncIterator[AsyncPool]:
    """The pool of a server: it begins without a database, and works behind PgBouncer in transaction mode."""
    from psycopg_pool import AsyncConnectionPool

    class LastUsedFirst(AsyncConnectionPool[psycopg.AsyncConnection[TupleRow]]):
        """The connection that was used last is used next; those that are not needed are closed after a while.

        A session of PostgreSQL keeps its plans: in a new one the first snapshot of a run takes twice as long.
        """

        async def _get_ready_connection(
            self,
            timeout: float | None,  # noqa: ASYNC109 - the signature of the pool
        ) -> psycopg.AsyncConnection[TupleRow] | None:
            self._pool.rotate(1)
            return await super()._get_ready_connection(timeout)

    pool: AsyncPool = LastUsedFirst(
        named(conninfo, "stepwell api"),
        connection_class=psycopg.AsyncConnection[TupleRow],
        min_size=1,
        kwargs=_connection_settings(prepares=False) | {"connect_timeout": PROBE_LIMIT_SECONDS},
        open=False,
        **(_pool_settings(max_size) | {"timeout": SERVED_CHECKOUT_SECONDS}),
    )
    await pool.open(wait=False)
    try:
        yield pool
    finally:
        await pool.close(timeout=CLOSE_LIMIT_SECONDS)


@asynccontextmanager
async def checked_out(pool: AsyncPool) -> AsyncIterator[psycopg.AsyncConnection[TupleRow]]:
    """A connection of a served pool. The wait is bounded; then the caller is told to come again.

    The block commits; after an error it rolls back.
    """
    from psycopg_pool import PoolTimeout, TooManyRequests

    errors_before = pool.get_stats().get("connections_errors", 0)
    try:
        async with pool.connection() as connection:
            yield connection
    except (PoolTimeout, TooManyRequests) as error:
        if pool.get_stats().get("connections_errors", 0) > errors_before:
            raise DatabaseUnavailable("the database cannot be reached") from error
        raise ServerBusy(
            "every connection to the database is in use", hint="repeat the request after a moment"
        ) from error


@asynccontextmanager
async def one_connection(conninfo: str) -> AsyncIterator[Connections]:
    """For a command that asks and ends: it fails at once with the reason, where a pool goes on trying."""
    one = _OneConnection(conninfo)
    try:
        await one.connect()
        yield one
    finally:
        await one.close()


class _OneConnection:
    """Gives the same connection to one caller at a time; after it was lost, a new one."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = named(conninfo)
        self._made: psycopg.AsyncConnection[TupleRow] | None = None
        self._turn = asyncio.Lock()

    async def connect(self) -> psycopg.AsyncConnection[TupleRow]:
        try:
            self._made = await psycopg.AsyncConnection.connect(
                self._conninfo, connect_timeout=PROBE_LIMIT_SECONDS, **_connection_settings(prepares=True)
            )
        except psycopg.OperationalError as error:
            raise from_database(error) from error
        return self._made

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[TupleRow]]:
        async with self._turn:
            made = self._made
            yield await self.connect() if made is None or made.closed else made


def probe(conninfo: str) -> None:
    """Connect once, to get the reason why it fails."""
    try:
        psycopg.connect(named(conninfo), connect_timeout=PROBE_LIMIT_SECONDS).close()
    except psycopg.OperationalError as error:
        raise from_database(error) from error


def _reason(conninfo: str, error: psycopg.OperationalError) -> StepwellError:
    """A pool does not give the reason why it got no connection; one more attempt does."""
    from psycopg_pool import PoolTimeout

    if isinstance(error, PoolTimeout):
        try:
            probe(conninfo)
        except StepwellError as reason:
            return reason
    return from_database(error)


def _connection_settings(*, prepares: bool) -> dict[str, Any]:
    return {"autocommit": True, "prepare_threshold": 5 if prepares else None}


def _pool_settings(max_size: int) -> dict[str, Any]:
    return {
        "max_size": max_size,
        "timeout": CHECKOUT_LIMIT_SECONDS,
        "max_idle": IDLE_LIMIT_SECONDS,
        # Limits the queue of callers; a further caller gets an error.
        "max_waiting": 1000,
        "name": APPLICATION_NAME,
    }
