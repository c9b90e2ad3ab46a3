from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwell.store import migrate
from stepwell.store.embedded import EmbeddedServer


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A data folder whose database is stopped after the test, also when the test killed its owner."""
    folder = tmp_path / "data"
    yield folder
    server = EmbeddedServer(folder)
    if folder.exists() and server.postmaster_pid is not None:
        server.start()
        server.stop()


@pytest.fixture(scope="session")
def used_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installation leaves behind when it was stopped: a migrated cluster."""
    folder = tmp_path_factory.mktemp("used") / "data"
    with EmbeddedServer(folder) as server:
        migrate.migrate(server.conninfo())
    return folder


@pytest.fixture
def used_dir(data_dir: Path, used_folder: Path) -> Path:
    """A copy of it for this test, owners kept: a start costs no initdb."""
    subprocess.run(["cp", "-a", str(used_folder), str(data_dir)], check=True)
    return data_dir
