"""Read the health of an installation: receives a connection, returns facts of database, schema and work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from stepwell.errors import SchemaError, from_database
from stepwell.sql import support_text
from stepwell.store.calls import mode
from stepwell.store.calls.mode import Mode
from stepwell.store.connection.borrowed import Asking
from stepwell.store.connection.call import Call
from stepwell.store.schema import migrate

CONNECT_LIMIT_SECONDS = 3
STATEMENT_LIMIT_MILLISECONDS = 3_000
COUNT_LIMIT = 10_000

SchemaState = Literal["current", "pending", "drifted"]


@dataclass(frozen=True, slots=True)
class DatabaseHealth:
    version: str
    started_at: datetime
    size_bytes: int
    connection_count: int
    connection_limit: int


@dataclass(frozen=True, slots=True)
class SchemaHealth:
    """`drifted`: the database has other migrations than this release."""

    state: SchemaState
    migration_count: int
    latest_migration: str | None
    problem: str | None

    @property
    def is_current(self) -> bool:
        return self.state == "current"


def read_database(connection: Asking) -> DatabaseHealth:
    row = connection.execute(support_text("health_database").encode()).fetchone()
    assert row is not None, "a select without from has one row"
    version, started_at, size_bytes, connection_count, connection_limit = row
    # "15.13 (Debian 15.13-0+deb12u1)" → "15.13"
    return DatabaseHealth(version.split()[0], started_at, size_bytes, connection_count, connection_limit)


def read_schema(connection: Asking) -> SchemaHealth:
    try:
        status = migrate.status_on(connection)
    except SchemaError as error:
        return SchemaHealth("drifted", 0, None, error.message)
    latest = status.applied[-1] if status.applied else None
    if status.is_current:
        return SchemaHealth("current", len(status.applied), latest, None)
    waiting = ", ".join(status.pending) or "the routines"
    return SchemaHealth("pending", len(status.applied), latest, f"not applied: {waiting}")


def read_mode(connection: Asking) -> Mode:
    """Development or strict. Needs a current schema."""
    call = mode.read()
    return call.decode(connection.execute(call.text.encode()).fetchall())


def read_is_demo(connection: Asking) -> bool:
    """Whether people and runs are made up. Needs a current schema."""
    call = mode.is_demo()
    return call.decode(connection.execute(call.text.encode()).fetchall())


def work_counts() -> Call[dict[str, int]]:
    """Code → number of runs, jobs and so on of the caller; `COUNT_LIMIT` means so many or more."""
    text = support_text("health_counts")
    return Call(
        text, (COUNT_LIMIT,) * text.count("%s"), lambda rows: {code: int(count) for code, count in rows}
    )


@contextmanager
def connected(conninfo: str) -> Iterator[psycopg.Connection[TupleRow]]:
    """A connection for a command that reads its health once, with short time limits."""
    limited = make_conninfo(
        conninfo, connect_timeout=CONNECT_LIMIT_SECONDS, application_name="stepwell health"
    )
    try:
        with psycopg.connect(limited, autocommit=True) as connection:
            connection.execute(f"set statement_timeout = {STATEMENT_LIMIT_MILLISECONDS}")
            yield connection
    except psycopg.Error as error:
        raise from_database(error) from error
