"""A data folder for a server with the product's settings; nothing of it outlives the block."""

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
    """Short, since sockets live in it; removed with every server that runs in it."""
    folder = Path(tempfile.mkdtemp(prefix="sw-", dir=run.folder()))
    try:
        yield folder / "data"
    finally:
        for cluster in list(folder.rglob("pg18")):
            end_server(cluster.parent)
        shutil.rmtree(folder, ignore_errors=True)


def end_server(data_dir: Path) -> None:
    """Whatever state the test left it in, and whoever believes to use it."""
    pid = EmbeddedServer(data_dir).postmaster_pid
    if pid is None:
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        postmaster = psutil.Process(pid)
        postmaster.send_signal(signal.SIGQUIT)
        psutil.wait_procs([postmaster], timeout=LIMIT_SECONDS)
