"""Migrate a database to the schema of this release: receives SQL files, returns a report of what was done.

One call is one transaction under one advisory lock. If it fails, the old schema stays. If several calls start
at the same time, one migrates; the others wait and then find nothing to do.
"""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from stepwell.errors import SchemaError, UnsupportedDatabase, from_database
from stepwell.sql import support_text
from stepwell.store.connection.borrowed import Asking
from stepwell.store.embedded import roles
from stepwell.store.schema import routines, sql_files
from stepwell.store.schema.sql_files import SqlFile, SqlFiles

MINIMUM_VERSION_NUM = 150000
# "stepwell" as a number; each database has its own lock.
ADVISORY_LOCK_KEY = 0x7374657077656C6C
LOCK_LIMIT_SECONDS = 300
TABLE_LOCK_LIMIT_SECONDS = 30

Connection = psycopg.Connection[TupleRow]


@dataclass(frozen=True, slots=True)
class RefusedName:
    """Somebody who cannot act until an administrator changes the name; `tenant` is None for an operator."""

    tenant: str | None
    number: int
    name: str
    reason: str

    def __str__(self) -> str:
        who = f"tenant {self.tenant}: {self.name} (#{self.number})" if self.tenant else self.name
        return f"{who} cannot act any more: {self.reason}; see 'stepwell doctor'"


@dataclass(frozen=True, slots=True)
class Report:
    """What one call of `migrate` did."""

    applied: tuple[str, ...] = ()
    routines_applied: bool = False
    dropped: tuple[str, ...] = ()
    refused: tuple[RefusedName, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """Which files of this release are applied in a database."""

    server_version: str
    applied: tuple[str, ...]
    pending: tuple[str, ...]
    routines_are_current: bool

    @property
    def is_current(self) -> bool:
        return not self.pending and self.routines_are_current


def migrate(conninfo: str, files: SqlFiles | None = None) -> Report:
    """Apply what is missing. Safe to call at every start and from many processes at the same time."""
    files = files or sql_files.load()
    try:
        with psycopg.connect(conninfo) as connection:
            check_version(connection)
            return _migrate(connection, files)
    except psycopg.Error as error:
        raise from_database(error) from error


def status(conninfo: str, files: SqlFiles | None = None) -> Status:
    """Reads only; raises SchemaError if a recorded migration was changed or is unknown to this release."""
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            return status_on(connection, files)
    except psycopg.Error as error:
        raise from_database(error) from error


def status_on(connection: Asking, files: SqlFiles | None = None) -> Status:
    """The same on a connection that is open."""
    files = files or sql_files.load()
    check_version(connection)
    if connection.execute("select to_regclass('stepwell.schema_migration')").fetchone() == (None,):
        recorded: dict[int, tuple[str, str]] = {}
        in_force = None
    else:
        recorded = _recorded(connection)
        in_force = routines.recorded(connection)
    pending = _pending(files, recorded)
    return Status(
        server_version=connection.info.parameter_status("server_version") or "?",
        applied=tuple(name for name, _ in recorded.values()),
        pending=tuple(file.name for file in pending),
        routines_are_current=in_force is not None and in_force[0] == files.routines_sha256,
    )


def check_version(connection: Asking) -> None:
    if connection.info.server_version < MINIMUM_VERSION_NUM:
        found = connection.info.parameter_status("server_version")
        raise UnsupportedDatabase(
            f"the server runs PostgreSQL {found}", hint="stepwell needs PostgreSQL 15 or newer"
        )


def _migrate(connection: Connection, files: SqlFiles) -> Report:
    connection.execute(f"set local lock_timeout = '{LOCK_LIMIT_SECONDS}s'")
    connection.execute("select pg_advisory_xact_lock(%s)", (ADVISORY_LOCK_KEY,))
    # From here on workers may wait for our locks: fail after a short time instead of blocking them for long.
    connection.execute(f"set local lock_timeout = '{TABLE_LOCK_LIMIT_SECONDS}s'")
    connection.execute("set local client_min_messages = warning")
    # A database may have another default; patterns in constraints would mean something else.
    connection.execute("set local standard_conforming_strings = on")
    connection.execute(support_text("bookkeeping"))
    connection.execute("set local search_path = stepwell, public")
    recorded = _recorded(connection)
    pending = _pending(files, recorded)
    for file in pending:
        routines.apply_file(connection, file)
        connection.execute(support_text("migration_record"), (file.number, file.name, file.sha256))
    in_force = routines.recorded(connection)
    if not pending and in_force is not None and in_force[0] == files.routines_sha256:
        _make_partitions(connection)
        if _has_new_roles(connection):
            roles.apply_rights(connection)
        return Report()
    dropped = routines.replace(connection, files)
    _make_partitions(connection)
    refused: tuple[RefusedName, ...] = ()
    if connection.execute("select to_regproc('stepwell._names_settled')").fetchone() != (None,):
        rows = connection.execute(support_text("names_settled")).fetchall()
        refused = tuple(RefusedName(*row) for row in rows)
    # PostgreSQL lets every role call a new function, so set the privileges again.
    roles.apply_rights(connection)
    if not recorded:
        _begin_development(connection)
    return Report(
        tuple(file.name for file in pending), routines_applied=True, dropped=dropped, refused=refused
    )


def _begin_development(connection: Connection) -> None:
    """A new database that stepwell created itself is in development mode; no other database is."""
    marked = connection.execute(support_text("development_mark")).fetchone()
    if marked is not None:
        connection.execute("select stepwell._development_enter(%s)", marked)
        name = sql.Identifier(connection.info.dbname)
        connection.execute(sql.SQL("alter database {} reset stepwell.created_for").format(name))


def _has_new_roles(connection: Connection) -> bool:
    """A role of a process was made after the last migration and has no rights yet."""
    return connection.execute(support_text("roles_new"), (list(roles.ROLES),)).fetchone() == (True,)


def _make_partitions(connection: Connection) -> None:
    """The log has no default partition: without the partition of this month no event can be written."""
    if connection.execute("select to_regproc('stepwell.fn_partitions_ensure')").fetchone() != (None,):
        connection.execute("select stepwell.fn_partitions_ensure()")


def _recorded(connection: Asking) -> dict[int, tuple[str, str]]:
    rows = connection.execute(support_text("migrations_recorded"))
    return {number: (name, sha256) for number, name, sha256 in rows}


def _pending(files: SqlFiles, recorded: dict[int, tuple[str, str]]) -> list[SqlFile]:
    """The migrations to apply; raises SchemaError if the database has other migrations than this release."""
    by_number = {file.number: file for file in files.migrations}
    for number, (name, sha256) in recorded.items():
        file = by_number.get(number)
        if file is None:
            raise SchemaError(
                f"the database has migration {name}, which this release does not have",
                hint="use the release of stepwell that applied it, or a newer one",
            )
        if file.sha256 != sha256 or file.name != name:
            raise SchemaError(
                f"migration {name} was changed after it had been applied (it is {file.name} here)"
                if file.name != name
                else f"migration {name} was changed after it had been applied",
                hint="restore the file and write a new migration instead",
            )
    if missing := [number for number in range(1, max(recorded, default=0)) if number not in recorded]:
        raise SchemaError(
            f"the database has no record of migration {missing[0]:04d}, but it has records of later ones",
            hint="restore the table stepwell.schema_migration from a backup",
        )
    return [file for file in files.migrations if file.number not in recorded]
