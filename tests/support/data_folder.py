"""A data folder for a server with the product's settings; it is removed at the end of the block."""

from __future__ import annotations

import contextlib
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from stepwell.store.embedded.server import EmbeddedServer
from tests.support import run
from tests.support.wait import LIMIT_SECONDS


@contextmanager
def data_folder() -> Iterator[Path]:
    """The path is short, because sockets are in it; every server in it is stopped at the end."""
    folder = Path(tempfile.mkdtemp(prefix="sw-", dir=run.folder()))
    try:
        yield folder / "data"
    finally:
        for cluster in list(folder.rglob("pg18")):
            end_server(cluster.parent)
        shutil.rmtree(folder, ignore_errors=True)


def end_server(data_dir: Path) -> None:
    """Stops the server in any state, even if a process still uses it."""
    pid = EmbeddedServer(data_dir).postmaster_pid
    if pid is None:
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        postmaster = psutil.Process(pid)
        postmaster.send_signal(signal.SIGQUIT)
        psutil.wait_procs([postmaster], timeout=LIMIT_SECONDS)
