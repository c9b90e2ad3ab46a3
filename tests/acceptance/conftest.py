"""Fixtures of the acceptance tests: data folders with an embedded server."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from scripts.ensure_programs import HOW_POOLER, find_pooler
from stepwell.config import user_name
from stepwell.store.embedded import roles
from stepwell.store.embedded.server import EmbeddedServer
from stepwell.store.schema import migrate
from tests.support import run, wait
from tests.support.data_folder import copied, data_folder, made_once
from tests.support.databases import Databases


@contextmanager
def own_folder() -> Iterator[Path]:
    """A new folder in that of the run, whose end ends every server in it; that of pytest is another one."""
    with tempfile.TemporaryDirectory(prefix="sw-", dir=run.folder(), ignore_cleanup_errors=True) as folder:
        yield Path(folder) / "data"


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data folder whose database is stopped after the test, also if its owner was killed."""
    with own_folder() as folder:
        yield folder
        server = EmbeddedServer(folder)
        if folder.exists() and server.postmaster_pid is not None:
            server.start()
            server.stop()


def migrated(folder: Path) -> None:
    """Fills the folder with a cluster that has our schema."""
    with EmbeddedServer(folder) as server:
        migrate.migrate(server.conninfo())


@pytest.fixture
def used_dir(data_dir: Path) -> Path:
    """The data folder of a stopped installation: a migrated cluster, copied for this test."""
    return copied(made_once("used", migrated), data_dir)


@pytest.fixture
def dsn(databases: Databases, template: str) -> Iterator[str]:
    """Conninfo of the owner of a new database in development mode, as Stepwell creates one for the user.

    Commands connect with the role of the API: `api(dsn)`.
    """
    with databases.fresh(template) as dsn:
        with psycopg.connect(dsn, autocommit=True) as owner:
            owner.execute("select stepwell._development_enter(%s)", (user_name(),))
        yield dsn


@pytest.fixture
def pgbouncer(dsn: str) -> Iterator[str]:
    """A real PgBouncer in transaction mode in front of the test's database; returns its conninfo."""
    binary = find_pooler()
    if binary is None:
        pytest.skip(HOW_POOLER)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    to = conninfo_to_dict(dsn)
    account = 65534 if os.geteuid() == 0 else os.geteuid()
    with data_folder() as folder:
        folder.mkdir()
        folder.parent.chmod(0o755)
        names = (str(to["user"]), *roles.ROLES)
        (folder / "users").write_text("".join(f'"{name}" "{to.get("password", "")}"\n' for name in names))
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={to['host']} port={to.get('port', 5432)}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = trust\nauth_file = {folder}/users\npool_mode = transaction\n"
            "ignore_startup_parameters = extra_float_digits\n"
        )
        command = [binary, str(folder / "pgbouncer.ini")]
        if str(to["host"]).startswith("/") and os.geteuid() == 0:
            # PgBouncer refuses to run as root, and only the account of the server may use the socket.
            account = Path(to["host"]).stat().st_uid
        process = subprocess.Popen(
            command, user=account if os.geteuid() == 0 else None, stderr=subprocess.DEVNULL
        )
        try:
            conninfo = f"host=127.0.0.1 port={port} user={to['user']} dbname={to['dbname']}"
            wait.until(lambda: _answers(conninfo), what="PgBouncer answers")
            yield conninfo
        finally:
            process.terminate()
            process.wait(60)


def _answers(conninfo: str) -> bool:
    try:
        psycopg.connect(conninfo).close()
    except psycopg.OperationalError:
        return False
    return True
