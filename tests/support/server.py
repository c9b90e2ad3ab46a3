"""One PostgreSQL for a whole test run: receives the run's folder or an address, hands on conninfos.

STEPWELL_TEST_DATABASE_URL selects a server of your own (any database of it, with the right to create
databases); else an embedded one is started on first use, shared by all xdist workers of the run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

from psycopg.conninfo import make_conninfo

from stepwell.store.embedded.server import EmbeddedServer

# Speed for the tests' own server only; what is durable is tested on a server with the product's settings.
TEST_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "300",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


MEMORY_FOLDER_BYTES = 8 * 1024**3
KEPT_SECONDS = 6 * 3600


class RunServer:
    """The server of this run. `is_embedded` tells whether it is ours to stop."""

    def __init__(self, run_id: str) -> None:
        self._url = os.environ.get("STEPWELL_TEST_DATABASE_URL") or None
        self._embedded: EmbeddedServer | None = None
        self._data_dir = folder_of(run_id)

    @property
    def is_embedded(self) -> bool:
        return self._url is None

    def start(self) -> None:
        if self._url is None:
            self._embedded = EmbeddedServer(self._data_dir, settings=TEST_SETTINGS)
            self._embedded.start()

    def stop(self) -> None:
        if self._embedded is not None:
            self._embedded.stop()

    def conninfo(self, dbname: str) -> str:
        if self._url is not None:
            return make_conninfo(self._url, dbname=dbname)
        assert self._embedded is not None, "the server was not started"
        return self._embedded.conninfo(dbname)

    @property
    def admin_conninfo(self) -> str:
        """A database nobody clones, for create and drop."""
        return self._url if self._url is not None else self.conninfo("postgres")


def base_folder() -> Path:
    """In memory where there is plenty of it: a cluster is a thousand small files."""
    memory = Path("/dev/shm")
    in_memory = memory.is_dir() and os.access(memory, os.W_OK)
    if in_memory and shutil.disk_usage(memory).total >= MEMORY_FOLDER_BYTES:
        return memory
    return Path(tempfile.gettempdir())


def folder_of(run_id: str) -> Path:
    return base_folder() / f"stepwell-test-{run_id}"


def remove(folder: Path) -> None:
    """After all workers ended, however they ended: stop the server if it still runs, remove its folder."""
    if not folder.exists():
        return
    server = EmbeddedServer(folder)
    if server.postmaster_pid is not None:
        server.start()
        server.stop()
    shutil.rmtree(folder, ignore_errors=True)


def sweep() -> None:
    """Remove what runs that were killed have left; a run of today may still be at work."""
    for folder in base_folder().glob("stepwell-test-*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_mtime < time.time() - KEPT_SECONDS and os.access(folder, os.W_OK):
                remove(folder)
