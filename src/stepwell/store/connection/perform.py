"""Perform a call: receives the call and a pool or a connection of the caller; returns the decoded value."""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, LiteralString, Protocol, TypeVar

import psycopg
from psycopg.rows import TupleRow, tuple_row

from stepwell import json_text
from stepwell.errors import (
    COLLISION_SQLSTATES,
    UNDEFINED_SQLSTATES,
    SchemaError,
    StepwellError,
    from_database,
)
from stepwell.store.connection.call import Call, Rows, nothing
from stepwell.store.connection.pool import Connections

T = TypeVar("T")

ATTEMPT_LIMIT = 8


class Connection(Protocol):
    """A psycopg connection, sync or async."""

    def cursor(self, *, row_factory: Any) -> Any: ...


BIND: Final = "select stepwell.fn_session_bind(%s)"
LIMIT: Final = "select stepwell.fn_action_limit()"


async def on_pool(pool: Connections, call: Call[T], *, bounded: bool = False, token: str | None = None) -> T:
    """Perform it in a new transaction.

    `bounded`: with the time limit for the verdict on an action. With a token the transaction is bound to whom
    it belongs to; both statements are sent in one round trip.
    """
    for attempt in range(1, ATTEMPT_LIMIT + 1):
        try:
            async with pool.connection() as own:
                if bounded or token is not None:
                    first, given = (LIMIT, ()) if bounded else (BIND, (token,))
                    async with own.transaction():
                        return call.decode(await _after(own, first, given, call))
                cursor = await own.execute(call.text, call.parameters)
                return call.decode(await cursor.fetchall())
        except psycopg.Error as error:
            found = ours(error)
            # After a collision with another transaction nothing was written, so the call can be repeated.
            if error.sqlstate not in COLLISION_SQLSTATES or attempt == ATTEMPT_LIMIT:
                if found.rejected is not None and "tenant_id" in found.rejected:
                    await keep_reject(pool, found.rejected, token)
                raise found from error
        await asyncio.sleep(random.uniform(0.0, 0.02 * attempt))
    raise AssertionError("the last attempt returns or raises")


async def _after(
    own: psycopg.AsyncConnection[TupleRow], first: LiteralString, given: tuple[Any, ...], call: Call[Any]
) -> Rows:
    """Both statements in one round trip, in the transaction that is open.

    Not without one: a commit that fails at the end of a pipeline is an error that psycopg cannot read.
    """
    # The results are read after the pipeline, and an error that comes earlier is kept until then: psycopg
    # writes a warning to the log when an error leaves a pipeline.
    refused: psycopg.Error | None = None
    try:
        async with own.pipeline():
            before = await own.execute(first, given)
            try:
                cursor = await own.execute(call.text, call.parameters)
            except psycopg.Error as error:
                refused = error
    except psycopg.Error as error:
        raise refused or error from None
    if refused is not None:
        raise refused
    await before.fetchall()
    return await cursor.fetchall()


async def keep_reject(pool: Connections, rejected: Mapping[str, Any], token: str | None) -> None:
    """The refused transaction is gone, and its audit row with it: keep the rejected event in another one."""
    payload = json_text.encode(rejected["payload"], "payload") if "payload" in rejected else None
    note = Call(
        "select stepwell.fn_event_reject_note(%s, %s, %s, %s::jsonb)",
        (rejected["tenant_id"], rejected["event_type"], rejected.get("unit_id"), payload),
        nothing,
    )
    with suppress(psycopg.Error):
        async with pool.connection() as own:
            if token is not None:
                async with own.transaction():
                    await _after(own, BIND, (token,), note)
            else:
                await own.execute(note.text, note.parameters)


async def on_connection(connection: Connection, call: Call[T], *, token: str | None = None) -> T:
    """Perform it as part of the caller's transaction, on a sync or async connection."""
    try:
        # Its own cursor with tuples, because the caller's connection may return dicts or models.
        cursor = connection.cursor(row_factory=tuple_row)
        if token is not None:
            binding = cursor.execute(BIND, (token,))
            if inspect.isawaitable(binding):
                await binding
        executing = cursor.execute(call.text, call.parameters)
        if inspect.isawaitable(executing):
            await executing
        rows = cursor.fetchall()
        return call.decode(await rows if inspect.isawaitable(rows) else rows)
    except psycopg.Error as error:
        raise ours(error) from error


def ours(error: psycopg.Error) -> StepwellError:
    if error.sqlstate in UNDEFINED_SQLSTATES:
        return SchemaError(
            "the database does not have the schema of this release",
            hint="run 'stepwell db migrate'",
            detail=str(error),
        )
    return from_database(error)
