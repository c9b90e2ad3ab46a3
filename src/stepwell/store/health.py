"""Read the health of an installation: receives a conninfo, hands on what the database says of itself.

Each reading is one new connection with short limits: a pool would answer for a database that takes no new
callers, and a health page that hangs is of no use.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from stepwell.errors import SchemaError, StepwellError, from_database
from stepwell.store import migrate

CONNECT_LIMIT_SECONDS = 3
STATEMENT_LIMIT_MILLISECONDS = 3_000

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
    """`drifted`: the database remembers other migrations than this release carries."""

    state: SchemaState
    migration_count: int
    latest_migration: str | None
    problem: str | None


def ping(conninfo: str) -> None:
    """Returns when the database answers; raises what kept it from answering."""
    with _connect(conninfo) as connection:
        connection.execute("select 1")


def read_database(conninfo: str) -> DatabaseHealth:
    query = """
        select current_setting('server_version'), pg_postmaster_start_time(),
               pg_database_size(current_database()),
               (select count(*) from pg_stat_activity where backend_type = 'client backend'),
               current_setting('max_connections')::int
    """
    with _connect(conninfo) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None, "a select without from has one row"
    version, started_at, size_bytes, connection_count, connection_limit = row
    # "15.13 (Debian 15.13-0+deb12u1)": the packager's part is noise on a page.
    return DatabaseHealth(version.split()[0], started_at, size_bytes, connection_count, connection_limit)


def read_schema(conninfo: str) -> SchemaHealth:
    try:
        status = migrate.status(conninfo)
    except SchemaError as error:
        return SchemaHealth("drifted", 0, None, error.message)
    latest = status.applied[-1] if status.applied else None
    if status.is_current:
        return SchemaHealth("current", len(status.applied), latest, None)
    waiting = ", ".join(status.pending) or "the routines"
    return SchemaHealth("pending", len(status.applied), latest, f"not applied: {waiting}")


def read_counts(conninfo: str, sources: dict[str, str]) -> dict[str, int]:
    """Rows of each named table or view of ours; a large one is estimated, a missing one is left out."""
    found: dict[str, int] = {}
    with _connect(conninfo) as connection:
        for code, relation in sources.items():
            estimate = _estimate(connection, relation)
            if estimate is None:
                continue
            if estimate > EXACT_COUNT_LIMIT:
                found[code] = estimate
            else:
                found[code] = _count(connection, relation)
    return found


EXACT_COUNT_LIMIT = 100_000


def _estimate(connection: psycopg.Connection[TupleRow], relation: str) -> int | None:
    query = "select greatest(reltuples, 0)::bigint from pg_class where oid = to_regclass('stepwell.' || %s)"
    row = connection.execute(query, (relation,)).fetchone()
    return None if row is None else int(row[0])


def _count(connection: psycopg.Connection[TupleRow], relation: str) -> int:
    query = sql.SQL("select count(*) from stepwell.{}").format(sql.Identifier(relation))
    row = connection.execute(query).fetchone()
    return 0 if row is None else int(row[0])


@contextmanager
def _connect(conninfo: str) -> Iterator[psycopg.Connection[TupleRow]]:
    try:
        with psycopg.connect(
            conninfo,
            autocommit=True,
            connect_timeout=CONNECT_LIMIT_SECONDS,
            application_name="stepwell health",
        ) as connection:
            connection.execute(f"set statement_timeout = {STATEMENT_LIMIT_MILLISECONDS}")
            yield connection
    except psycopg.Error as error:
        raise from_database(error) from error


__all__ = [
    "DatabaseHealth",
    "SchemaHealth",
    "StepwellError",
    "ping",
    "read_counts",
    "read_database",
    "read_schema",
]
