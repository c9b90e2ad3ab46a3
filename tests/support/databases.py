"""Gives each test its own database: receives the server of the test run, returns clones of a template."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from stepwell.store.schema import migrate, sql_files
from tests.support.server import RunServer

TEMPLATE_LOCK_KEY = 0x7465_6D70_6C61_7465
_numbers = itertools.count(1)
_process_tag = f"{os.getpid()}_{secrets.token_hex(3)}"


class Databases:
    """Makes and drops databases over one administrative connection."""

    def __init__(self, server: RunServer) -> None:
        self.server = server
        self._admin = psycopg.connect(server.admin_conninfo, autocommit=True)
        # Copying files is faster than logging pages without fsync; with fsync its checkpoints are slow.
        self._strategy = "file_copy" if server.is_own else "wal_log"

        self._finished: list[str] = []

    def close(self) -> None:
        self._drop_finished()
        self._admin.close()

    def template(self) -> str:
        """Name of the migrated template; it is made once for each version of the SQL files."""
        files = sql_files.load()
        name = f"stepwell_template_{files.sha256[:16]}"
        self._admin.execute("select pg_advisory_lock(%s)", (TEMPLATE_LOCK_KEY,))
        try:
            if not self._exists(name):
                building = f"{name}_building"
                self._admin.execute(f"drop database if exists {building} with (force)")
                self._admin.execute(f"create database {building} template template0 encoding 'UTF8'")
                migrate.migrate(self.server.conninfo(building), files)
                _waive_approvals(self.server.conninfo(building))
                _shrink_catalogs(self.server.conninfo(building))
                self._admin.execute(f"alter database {building} rename to {name}")
        finally:
            self._admin.execute("select pg_advisory_unlock(%s)", (TEMPLATE_LOCK_KEY,))
        return name

    @contextmanager
    def fresh(self, template: str = "template0") -> Iterator[str]:
        """Makes a database for the block; returns its conninfo."""
        name = f"stepwell_test_{_process_tag}_{next(_numbers)}"
        self._drop_finished()
        self._admin.execute(f"create database {name} template {template} strategy {self._strategy}")
        try:
            yield self.server.conninfo(name)
        finally:
            # It is dropped before the next one is made: by then its backends have ended, so the drop is fast.
            self._finished.append(name)

    def _drop_finished(self) -> None:
        while self._finished:
            self._admin.execute(f"drop database if exists {self._finished.pop()} with (force)")

    def _exists(self, name: str) -> bool:
        return (
            self._admin.execute("select from pg_database where datname = %s", (name,)).fetchone() is not None
        )


def _waive_approvals(conninfo: str) -> None:
    """Most tests cancel and replay without an approval; those about the strict default ask for it again."""
    with psycopg.connect(conninfo) as connection:
        configure(connection, "approval.required.workflow_cancel", "false")
        configure(connection, "approval.required.replay", "false")


def configure(connection: psycopg.Connection, key: str, value: str) -> None:
    """Change a setting as if the database had always had it: the log does not tell."""
    with connection.transaction():
        connection.execute("alter table stepwell.dot_config disable trigger a_changed_setting_is_told")
        connection.execute(
            "update stepwell.dot_config set config_value = %s where config_key = %s", (value, key)
        )
        connection.execute("alter table stepwell.dot_config enable trigger a_changed_setting_is_told")


def _shrink_catalogs(conninfo: str) -> None:
    """Migrations leave a third of the database empty, and each clone would copy it."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        # Tables of ours keep the statistics of a new database, and so the plans of one.
        catalogs = connection.execute(
            "select c.oid::regclass::text from pg_class as c where c.relkind = 'r' and not c.relisshared"
            " and c.relnamespace = 'pg_catalog'::regnamespace"
        ).fetchall()
        for (name,) in catalogs:
            connection.execute(f"vacuum full {name}".encode())
