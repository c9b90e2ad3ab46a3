"""Read the health of an installation: receives a conninfo, returns facts about database, schema and work.

Each reading uses a new connection with short time limits. A pool would hide that the database accepts no new
connections, and a health page must not hang.
"""

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


def read_database(conninfo: str) -> DatabaseHealth:
    with _connect(conninfo) as connection:
        row = connection.execute(support_text("health_database").encode()).fetchone()
    assert row is not None, "a select without from has one row"
    version, started_at, size_bytes, connection_count, connection_limit = row
    # "15.13 (Debian 15.13-0+deb12u1)" → "15.13"
    return DatabaseHealth(version.split()[0], started_at, size_bytes, connection_count, connection_limit)


def read_schema(conninfo: str) -> SchemaHealth:
    try:
        status = migrate.status(_limited(conninfo))
    except SchemaError as error:
        return SchemaHealth("drifted", 0, None, error.message)
    latest = status.applied[-1] if status.applied else None
    if status.is_current:
        return SchemaHealth("current", len(status.applied), latest, None)
    waiting = ", ".join(status.pending) or "the routines"
    return SchemaHealth("pending", len(status.applied), latest, f"not applied: {waiting}")


def read_mode(conninfo: str) -> Mode:
    """Development or strict. Needs a current schema."""
    call = mode.read()
    with _connect(conninfo) as connection:
        return call.decode(connection.execute(call.text.encode()).fetchall())


def work_counts() -> Call[dict[str, int]]:
    """Code → number of runs, jobs and so on of the caller; `COUNT_LIMIT` means so many or more."""
    text = support_text("health_counts")
    return Call(
        text, (COUNT_LIMIT,) * text.count("%s"), lambda rows: {code: int(count) for code, count in rows}
    )


@contextmanager
def _connect(conninfo: str) -> Iterator[psycopg.Connection[TupleRow]]:
    try:
        with psycopg.connect(_limited(conninfo), autocommit=True) as connection:
            connection.execute(f"set statement_timeout = {STATEMENT_LIMIT_MILLISECONDS}")
            yield connection
    except psycopg.Error as error:
        raise from_database(error) from error


def _limited(conninfo: str) -> str:
    return make_conninfo(conninfo, connect_timeout=CONNECT_LIMIT_SECONDS, application_name="stepwell health")
