"""Data folders for servers with the product's settings: a new one for a block, or one that all tests copy."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
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


def made_once(name: str, fill: Callable[[Path], None]) -> Path:
    """A folder that the first process of the run fills; the tests of all processes copy it (`copied`)."""
    place = run.folder() / f"made-{name}"
    with (run.folder() / f"made-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            unfinished = place.with_name(f"filling-{name}")
            fill(unfinished)
            unfinished.rename(place)
    return place


def copied(made: Path, to: Path) -> Path:
    """A copy with its owners, so that the start of its server needs no initdb."""
    subprocess.run(["cp", "-a", str(made), str(to)], check=True)
    return to


def end_server(data_dir: Path) -> None:
    """Stops the server in any state, even if a process still uses it."""
    pid = EmbeddedServer(data_dir).postmaster_pid
    if pid is None:
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        postmaster = psutil.Process(pid)
        postmaster.send_signal(signal.SIGQUIT)
        psutil.wait_procs([postmaster], timeout=LIMIT_SECONDS)
