"""Compare a database with the schema of this release: receives a conninfo, returns the differences (drift).

It compares with a new scratch database on the same server. If the role may not create one, it compares with
the committed snapshot, which does not contain the bodies of views and functions.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from stepwell.errors import SchemaError, from_database
from stepwell.sql import SNAPSHOT_FILE
from stepwell.store.schema import catalog, migrate, sql_files
from stepwell.store.schema.sql_files import SqlFiles


@dataclass(frozen=True, slots=True)
class Verdict:
    """`measure` is what the database was compared with."""

    measure: str
    drifts: tuple[catalog.Drift, ...]


def verify(conninfo: str, files: SqlFiles | None = None) -> Verdict:
    """Compare a migrated database; raises SchemaError if its schema is not current."""
    files = files or sql_files.load()
    state = migrate.status(conninfo, files)
    if not state.is_current:
        pending = ", ".join(state.pending)
        missing = f"does not have {pending}" if pending else "has routines of another release"
        raise SchemaError(f"the database {missing}", hint="run 'stepwell db migrate' first")
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            migrate.check_version(connection)
            found = catalog.read(connection)
        expected, measure = _expected(conninfo, files)
    except psycopg.Error as error:
        raise from_database(error) from error
    return Verdict(measure, tuple(catalog.compare(expected, found)))


def dump(conninfo: str) -> str:
    """The schema of a database as a snapshot."""
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            migrate.check_version(connection)
            entries = catalog.read(connection)
    except psycopg.Error as error:
        raise from_database(error) from error
    if not entries:
        raise SchemaError("the database has no schema stepwell", hint="run 'stepwell db migrate' first")
    return catalog.render(entries)


def _expected(conninfo: str, files: SqlFiles) -> tuple[dict[catalog.Key, catalog.Entry], str]:
    try:
        with scratch_database(conninfo) as scratch:
            migrate.migrate(scratch, files)
            with psycopg.connect(scratch, autocommit=True) as connection:
                return catalog.read(connection), "a scratch database"
    except psycopg.errors.InsufficientPrivilege:
        return catalog.parse(SNAPSHOT_FILE.read_text(encoding="utf-8")), "the committed snapshot"


@contextmanager
def scratch_database(conninfo: str) -> Iterator[str]:
    """An empty database on the same server; it is dropped at the end of the block."""
    name = f"stepwell_scratch_{secrets.token_hex(6)}"
    with psycopg.connect(conninfo, autocommit=True) as admin:
        identifier = sql.Identifier(name)
        admin.execute(sql.SQL("create database {} template template0").format(identifier))
        try:
            yield make_conninfo(conninfo, dbname=name)
        finally:
            # The server waits a moment for connections that were just closed; `force` ends them with an
            # error in its log.
            try:
                admin.execute(sql.SQL("drop database if exists {}").format(identifier))
            except psycopg.errors.ObjectInUse:
                admin.execute(sql.SQL("drop database if exists {} with (force)").format(identifier))
