"""The PostgreSQL of a test process: receives settings from the environment, returns conninfos.

STEPWELL_TEST_DATABASE_URL selects a running server (any database of it, with the right to create databases).
STEPWELL_TEST_PG_BIN selects the programs of another PostgreSQL: /usr/lib/postgresql/15/bin. Without both, the
embedded PostgreSQL is used. It starts on first use. Each xdist worker has a server of its own: an open
transaction, a cancelled session or a changed role of one test is never seen by a test beside it. The first of
them makes a server with everything that all need, and each starts with a copy of its files.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from psycopg.conninfo import make_conninfo

from stepwell.store.embedded.cluster import install_dir
from tests.support import run
from tests.support.cluster import Cluster
from tests.support.data_folder import made_once

# Only for speed of the tests; durability is tested on a server with the settings of the product.
TEST_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "300",
    "autovacuum": "off",
    "jit": "off",
    "random_page_cost": "1.1",
    "max_locks_per_transaction": "256",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "timezone": "UTC",
    "log_min_messages": "fatal",
}


class RunServer:
    """The server of this process. `is_own` is true if the run started it."""

    def __init__(self) -> None:
        self._url = os.environ.get("STEPWELL_TEST_DATABASE_URL") or None
        self._cluster: Cluster | None = None

    @property
    def is_own(self) -> bool:
        return self._url is None

    def start(self, prepare: Callable[[RunServer], None]) -> None:
        """`prepare` gets the running server that all xdist workers of the run copy."""
        worker = os.environ.get("PYTEST_XDIST_WORKER")
        if self._url is None:
            made = None if worker is None else made_once("pg", lambda folder: _fill(folder, prepare))
            self._run(Cluster(run.folder() / f"pg-{worker or 'main'}", bin_dir(), TEST_SETTINGS, made))

    def _run(self, cluster: Cluster) -> None:
        cluster.start()
        self._cluster = cluster

    def conninfo(self, dbname: str) -> str:
        if self._url is not None:
            return make_conninfo(self._url, dbname=dbname)
        assert self._cluster is not None, "the server was not started"
        return self._cluster.conninfo(dbname)

    @property
    def admin_conninfo(self) -> str:
        """A database that is never cloned, for create and drop."""
        return self._url if self._url is not None else self.conninfo("postgres")


def _fill(folder: Path, prepare: Callable[[RunServer], None]) -> None:
    cluster = Cluster(folder, bin_dir(), TEST_SETTINGS)
    server = RunServer()
    try:
        server._run(cluster)
        prepare(server)
    finally:
        cluster.stop(mode="fast")


def bin_dir() -> Path:
    chosen = os.environ.get("STEPWELL_TEST_PG_BIN")
    return Path(chosen) if chosen else install_dir() / "bin"
