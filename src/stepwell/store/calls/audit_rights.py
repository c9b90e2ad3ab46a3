"""Open and bind what verifies: receives a token, returns snapshots, refuses who may not read everything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.rows import TupleRow

from stepwell.errors import PermissionDenied, from_database
from stepwell.store.connection.perform import BIND
from stepwell.store.connection.pool import named

CONNECT_LIMIT_SECONDS = 10

Connection = psycopg.Connection[TupleRow]


@contextmanager
def connecting(conninfo: str) -> Iterator[Connection]:
    """A connection for several snapshots, one after another."""
    try:
        with psycopg.connect(
            named(conninfo, "stepwell audit"), connect_timeout=CONNECT_LIMIT_SECONDS, autocommit=True
        ) as connection:
            yield connection
    except psycopg.Error as error:
        raise from_database(error) from error


@contextmanager
def snapshot(connection: Connection, token: str | None = None) -> Iterator[None]:
    """One snapshot for all reads, so that a reader never sees a part of a new block.

    With a token the reads are bound to the tenant of the token.
    """
    try:
        with connection.transaction():
            connection.execute("set transaction isolation level repeatable read read only")
            bind(connection, token)
            yield
    except psycopg.Error as error:
        raise from_database(error) from error


def bind(connection: Connection, token: str | None) -> None:
    """Bind the transaction. Who may not read everything is refused: what is hidden would look changed."""
    if token is not None:
        connection.execute(BIND, (token,))
    if connection.execute("select stepwell.payload_tenant()").fetchone() == (None,):
        raise PermissionDenied(
            "the log is verified with its payloads, which this caller may not read",
            hint="give a token (STEPWELL_TOKEN) of an account with the verb payload.read",
        )
    if connection.execute("select stepwell.sees_all_steps()").fetchone() == (False,):
        raise PermissionDenied(
            "the log is verified whole, and some steps are not shown to this caller",
            hint="give a token (STEPWELL_TOKEN) of an account with the verb step.read_all",
        )
