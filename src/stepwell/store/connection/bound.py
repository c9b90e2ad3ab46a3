"""One bound transaction: receives a pool and what opens it, performs calls in it, commits or rolls back.

The connection is taken at the first call, and opening and first call are sent in one round trip. Whichever
role has logged in, the transaction has the role of the API: the owner of the schema would read every tenant.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import psycopg
from psycopg.rows import TupleRow

from stepwell.errors import DatabaseUnavailable
from stepwell.store.connection.call import Call
from stepwell.store.connection.perform import ours
from stepwell.store.connection.pool import checked_out

if TYPE_CHECKING:
    from stepwell.store.connection.pool import AsyncPool

T = TypeVar("T")
Opened = TypeVar("Opened")


API_ROLE = "stepwell_api"
# insufficient_privilege; invalid_parameter_value: there is no such role.
_NOT_A_MEMBER = ("42501", "22023")


def was_cut(error: BaseException) -> bool:
    """Whether a connection was lost before the commit, so that the same calls can be made again."""
    from psycopg_pool import PoolTimeout, TooManyRequests

    cause = error.__cause__
    return isinstance(cause, psycopg.Error) and not isinstance(cause, PoolTimeout | TooManyRequests)


class BoundTransaction(Generic[Opened]):
    """`opened` is what the opening call returned, as soon as it was sent."""

    def __init__(self, pool: AsyncPool, opening: Call[Opened], *, begin: str = "begin") -> None:
        self._pool = pool
        self._begin = begin
        self._opening = opening
        self._stack = AsyncExitStack()
        self._connection: psycopg.AsyncConnection[TupleRow] | None = None
        self.opened: Opened | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._stack.__aexit__(kind, error, trace)
        except psycopg.Error as failed:
            # No cause: whether a commit that failed has happened is not known, see `was_cut`.
            raise ours(failed) from None
        finally:
            self._connection = None

    async def open(self) -> Opened:
        """Open it without another call."""
        if self.opened is None:
            await self._send(None)
        assert self.opened is not None
        return self.opened

    async def perform(self, call: Call[T], *, is_only: bool = False) -> T:
        """With `is_only` no other call follows: the commit is sent with it and costs no round trip."""
        if self._connection is None:
            return call.decode(await self._send(call, commits=is_only))
        try:
            cursor = await self._connection.execute(call.text.encode(), call.parameters)
            return call.decode(await cursor.fetchall())
        except psycopg.Error as error:
            raise ours(error) from error

    async def _send(self, call: Call[Any] | None, *, commits: bool = False) -> list[TupleRow]:
        connection = await self._stack.enter_async_context(checked_out(self._pool))
        self._connection = connection
        opening = self._opening
        # One message with all statements, its values quoted by libpq: a pipeline wakes the loop for each.
        statements = [self._begin, f"set local role {API_ROLE}", opening.text]
        parameters = tuple(opening.parameters)
        if call is not None:
            statements.append(call.text)
            parameters += tuple(call.parameters)
        if commits:
            statements.append("commit")
        try:
            cursor = psycopg.AsyncClientCursor(connection)
            await cursor.execute("; ".join(statements).encode(), parameters)
            cursor.nextset()
            cursor.nextset()
            self.opened = opening.decode(await cursor.fetchall())
            return await cursor.fetchall() if cursor.nextset() else []
        except psycopg.Error as error:
            if error.sqlstate in _NOT_A_MEMBER and API_ROLE in (error.diag.message_primary or ""):
                raise DatabaseUnavailable(
                    f"the server may not act as {API_ROLE}, so nothing holds its tenants apart",
                    hint="run 'stepwell db roles', then give the address of that role or of a member of it",
                ) from None
            raise ours(error) from error
