"""Fixtures of the acceptance tests: data folders with an embedded server."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stepwell.store.embedded.server import EmbeddedServer
from stepwell.store.schema import migrate


@contextmanager
def own_folder() -> Iterator[Path]:
    """A new folder outside pytest's: another test run would make that one unreadable for the server."""
    with tempfile.TemporaryDirectory(prefix="stepwell-test-", ignore_cleanup_errors=True) as folder:
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


@pytest.fixture(scope="session")
def used_folder() -> Iterator[Path]:
    """The data folder of a stopped installation: a migrated cluster."""
    with own_folder() as folder:
        with EmbeddedServer(folder) as server:
            migrate.migrate(server.conninfo())
        yield folder


@pytest.fixture
def used_dir(data_dir: Path, used_folder: Path) -> Path:
    """A copy of `used_folder` for this test, with its owners, so that the start needs no initdb."""
    subprocess.run(["cp", "-a", str(used_folder), str(data_dir)], check=True)
    return data_dir
