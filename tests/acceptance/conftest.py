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
    """Not below pytest's: another run that starts meanwhile closes that one to the server's account again."""
    with tempfile.TemporaryDirectory(prefix="stepwell-test-", ignore_cleanup_errors=True) as folder:
        yield Path(folder) / "data"


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data folder whose database is stopped after the test, also when the test killed its owner."""
    with own_folder() as folder:
        yield folder
        server = EmbeddedServer(folder)
        if folder.exists() and server.postmaster_pid is not None:
            server.start()
            server.stop()


@pytest.fixture(scope="session")
def used_folder() -> Iterator[Path]:
    """What an installation leaves behind when it was stopped: a migrated cluster."""
    with own_folder() as folder:
        with EmbeddedServer(folder) as server:
            migrate.migrate(server.conninfo())
        yield folder


@pytest.fixture
def used_dir(data_dir: Path, used_folder: Path) -> Path:
    """A copy of it for this test, owners kept: a start costs no initdb."""
    subprocess.run(["cp", "-a", str(used_folder), str(data_dir)], check=True)
    return data_dir
