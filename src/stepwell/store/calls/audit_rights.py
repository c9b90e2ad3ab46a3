"""Open and bind what verifies: receives a token, returns snapshots, refuses who may not read everything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.rows import TupleRow

from stepwell.errors import PermissionDenied, from_database
from stepwell.sql import support_text
from stepwell.store.connection.perform import BIND
from stepwell.store.connection.pool import named

CONNECT_LIMIT_SECONDS = 10

PLAIN_NAMES = "set local search_path = pg_catalog, pg_temp"

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

    With a token the reads are bound to the tenant of the token. Every name without a schema is one of
    PostgreSQL itself: a setting of the role or of the database puts no other function or operator before it.
    The owner calls no function of the database: whoever can change the log can change it too, and what it
    sets would hold for all reads after it.
    """
    try:
        with connection.transaction():
            connection.execute("set transaction isolation level repeatable read read only")
            connection.execute(PLAIN_NAMES)
            if token is not None or not is_owner(connection):
                bind(connection, token)
                connection.execute(PLAIN_NAMES)
            yield
    except psycopg.Error as error:
        raise from_database(error) from error


def is_owner(connection: Connection) -> bool:
    """Whether this session reads every row of every table by right.

    A role that the owner is given by a setting of the database, not by its own choice, is put off again.
    """
    by_role, by_session = connection.execute(support_text("audit_owns").encode()).fetchone() or (False, False)
    if by_session and not by_role:
        connection.execute("set local role none")
    return bool(by_role or by_session)


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
