"""One test run: its id, its folder, and the end of all its processes, however the run ended.

The id is in the environment of every process of the run, and every server of the run works in the folder of
the run: so both are found even if their parents have ended.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

MARK = "PYTEST_RUN_OF_STEPWELL"
ROOT = Path(__file__).resolve().parents[2]
MEMORY_FOLDER_BYTES = 8 * 1024**3
KEPT_SECONDS = 6 * 3600
END_LIMIT_SECONDS = 60.0

_guards: list[subprocess.Popen[bytes]] = []


def begin() -> None:
    """Starts a new run in its main process; a guard ends the other processes if this one is killed."""
    os.environ[MARK] = f"{os.getpid()}-{secrets.token_hex(4)}"
    _guards.append(
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.guard", str(os.getpid()), os.environ[MARK]],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if name != MARK},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # A new session: the signal that stops the run must not stop the guard.
            start_new_session=True,
        )
    )


def current() -> str:
    return os.environ[MARK]


def base_folder() -> Path:
    """A folder in memory if there is enough of it: a cluster has a thousand small files."""
    memory = Path("/dev/shm")
    in_memory = memory.is_dir() and os.access(memory, os.W_OK)
    if in_memory and shutil.disk_usage(memory).total >= MEMORY_FOLDER_BYTES:
        return memory
    return Path(tempfile.gettempdir())


def folder() -> Path:
    """The folder of this run; the account of PostgreSQL may enter it."""
    found = _folder_of(current())
    found.mkdir(mode=0o711, exist_ok=True)
    return found


def end(run_id: str) -> list[str]:
    """Ends all processes of a run and removes its folder; returns the names of these processes."""
    left = _processes(run_id)
    names = []
    for process in left:
        with contextlib.suppress(psutil.Error):
            names.append(" ".join(process.cmdline()) or process.name())
            # SIGQUIT stops a server at once with its own processes; its data is not needed.
            process.send_signal(signal.SIGQUIT if process.name() == "postgres" else signal.SIGKILL)
    _, alive = psutil.wait_procs(left, timeout=END_LIMIT_SECONDS)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    shutil.rmtree(_folder_of(run_id), ignore_errors=True)
    return names


def sweep() -> None:
    """Removes old runs whose guard was killed too; a younger run may still be running."""
    for found in base_folder().glob("stepwell-test-*"):
        with contextlib.suppress(OSError):
            if found.stat().st_mtime < time.time() - KEPT_SECONDS and os.access(found, os.W_OK):
                end(found.name.removeprefix("stepwell-test-"))


def _folder_of(run_id: str) -> Path:
    return base_folder() / f"stepwell-test-{run_id}"


def _processes(run_id: str) -> list[psutil.Process]:
    """Processes of the run except this one and its parents: found by their mark, servers by their folder."""
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    within = _folder_of(run_id)
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid in own:
                continue
            if process.name() == "postgres":
                # The child processes of a server end with it.
                is_server = (parent := process.parent()) is None or parent.name() != "postgres"
                is_ours = is_server and Path(process.cwd()).is_relative_to(within)
            else:
                is_ours = process.environ().get(MARK) == run_id
            if is_ours:
                found.append(process)
    return found
