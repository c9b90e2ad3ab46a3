"""Create a database for one test: returns the conninfo of a migrated database and drops it at the end.

All harnesses of a process share one embedded server, which ends with the process.
"""

from __future__ import annotations

import atexit
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from stepwell.store.embedded.mark import mark_created
from stepwell.store.embedded.server import EmbeddedServer
from stepwell.store.schema import migrate

# Test data does not have to survive a power cut.
FAST_SETTINGS = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off", "shared_buffers": "64MB"}
TEMPLATE_NAME = "stepwell_test_template"


@contextmanager
def throwaway_database() -> Iterator[str]:
    """A migrated database on a server that all harnesses of this process share; it is dropped at the end."""
    server = _shared.start()
    name = f"stepwell_test_{secrets.token_hex(6)}"
    admin_conninfo = server.conninfo("postgres")
    _execute(admin_conninfo, "create database {} template {}", name, TEMPLATE_NAME)
    try:
        yield make_conninfo(admin_conninfo, dbname=name)
    finally:
        _execute(admin_conninfo, "drop database if exists {} with (force)", name)


class _Shared:
    """One embedded server for this process, in a folder that is removed at exit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: EmbeddedServer | None = None

    def start(self) -> EmbeddedServer:
        with self._lock:
            if self._server is None:
                folder = tempfile.mkdtemp(prefix="stepwell-test-")
                server = EmbeddedServer(folder, settings=FAST_SETTINGS)
                atexit.register(self._end, server, folder)
                server.start()
                _execute(server.conninfo("postgres"), "create database {} template template0", TEMPLATE_NAME)
                with psycopg.connect(server.conninfo("postgres"), autocommit=True) as connection:
                    mark_created(connection, TEMPLATE_NAME)
                migrate.migrate(server.conninfo(TEMPLATE_NAME))
                self._server = server
            return self._server

    @staticmethod
    def _end(server: EmbeddedServer, folder: str) -> None:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


_shared = _Shared()


def _execute(conninfo: str, statement: str, *names: str) -> None:
    text = sql.SQL(statement).format(*map(sql.Identifier, names))
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(text)
