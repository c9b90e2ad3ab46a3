"""Find the server process of a cluster folder, and start one: receives the folder, returns a process.

psutil takes longer to load than a command needs for its question, so only functions that need it load it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.errors import DatabaseUnavailable
from stepwell.store.embedded.account import Account
from stepwell.store.embedded.cluster import tool

if TYPE_CHECKING:
    import psutil

START_LIMIT_SECONDS = 300.0
# No kernel assigns a process id this high.
IMPOSSIBLE_PID = 99_999_999


def is_running(cluster_dir: Path) -> bool:
    """Whether the server of this folder runs."""
    process = Path("/proc", _pid(cluster_dir) or "none")
    try:
        return (process / "comm").read_text() == "postgres\n" and (process / "cwd").samefile(cluster_dir)
    except OSError:
        # Not Linux, or a process that has ended or belongs to somebody else.
        return find(cluster_dir) is not None


def find(cluster_dir: Path) -> psutil.Process | None:
    """The running server of this folder. A pid may belong to another process: check name and folder."""
    import psutil

    pid = _pid(cluster_dir)
    if pid is None:
        return None
    try:
        process = psutil.Process(int(pid))
        fits = process.name() == "postgres" and _works_in(process.pid, cluster_dir)
    except (psutil.Error, OverflowError):
        return None
    return process if fits else None


def _pid(cluster_dir: Path) -> str | None:
    lines = _read_pid_file(cluster_dir)
    return lines[0].strip() if lines and lines[0].strip().isdigit() else None


def is_alive(process: psutil.Process) -> bool:
    import psutil

    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def socket_dir(cluster_dir: Path) -> Path | None:
    """The socket folder that the running server wrote; TMPDIR of this process may be different."""
    lines = _read_pid_file(cluster_dir)
    if len(lines) < 8 or lines[7].strip() != "ready":
        return None
    return Path(lines[4])


def disarm_stale_pid(cluster_dir: Path) -> None:
    """Change an old pid file whose process id may now belong to another process.

    The file stays, because PostgreSQL uses its shared memory id to find orphans that still write. It must not
    contain `ready`: in a copied folder it would name the socket of the original server.
    """
    path = cluster_dir / "postmaster.pid"
    lines = _read_pid_file(cluster_dir)
    if lines:
        lines[0] = str(IMPOSSIBLE_PID)
        lines[7:] = ["starting"] * (len(lines) > 7)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    elif path.exists():
        path.unlink()


def await_orphans(cluster_dir: Path) -> None:
    """Wait until the backends of a killed postmaster have ended; until then they use the cluster."""
    deadline = time.monotonic() + START_LIMIT_SECONDS
    while orphans := [pid for pid in _postgres_pids() if _works_in(pid, cluster_dir)]:
        if time.monotonic() > deadline:
            raise DatabaseUnavailable(
                f"process {orphans[0]} of a server that was killed still works in {cluster_dir}",
                hint="end that process and try again",
            )
        time.sleep(0.02)


def spawn(cluster_dir: Path, log_path: Path, account: Account) -> psutil.Process | None:
    """Start the postmaster in a separate session and without a parent: Ctrl-C does not reach it."""
    import psutil

    log_path.write_bytes(b"")
    account.own(log_path, 0o600)
    script = '"$1" -D "$2" </dev/null >>"$3" 2>&1 & echo $!'
    said = account.run(["/bin/sh", "-c", script, "sh", tool("postgres"), cluster_dir, log_path])
    pid, *complaint = said.split(maxsplit=1)
    if complaint:
        raise DatabaseUnavailable(f"PostgreSQL in {cluster_dir} did not start: {complaint[0].strip()}")
    try:
        return psutil.Process(int(pid))
    except psutil.NoSuchProcess:
        return None


def _read_pid_file(cluster_dir: Path) -> list[str]:
    try:
        return (cluster_dir / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []


def _postgres_pids() -> list[int]:
    import psutil

    return [found.pid for found in psutil.process_iter(["name"]) if found.info["name"] == "postgres"]


def _works_in(pid: int, folder: Path) -> bool:
    import psutil

    try:
        process = psutil.Process(pid)
        return is_alive(process) and Path(process.cwd()).samefile(folder)
    except (psutil.Error, OSError):
        return False
