"""Run the embedded PostgreSQL: receives a data folder, returns a conninfo that is valid until `stop`.

Two lock files in the folder coordinate the processes; the kernel frees a lock when its process ends.
`start.lock` (exclusive): only one process at a time starts or stops the server. `use.lock` (shared): every
process that uses the server holds it. A process that can make its shared lock exclusive is the last user, and
stops the server. If a process is killed while the server runs, the next process uses the same server.
"""

from __future__ import annotations

import atexit
import fcntl
import logging
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import psycopg
from psycopg.conninfo import make_conninfo

from stepwell.errors import DatabaseUnavailable
from stepwell.sql import support_text
from stepwell.store.embedded import account as embedded_account
from stepwell.store.embedded import cluster as embedded_cluster
from stepwell.store.embedded import postmaster, roles
from stepwell.store.embedded.account import Account
from stepwell.store.embedded.cluster import CLUSTER_NAME, ROLE_NAME
from stepwell.store.embedded.mark import mark_created
from stepwell.store.embedded.postmaster import START_LIMIT_SECONDS

if TYPE_CHECKING:
    import psutil

DATABASE_NAME = "stepwell"
# Is in the folder of a cluster that has the database, so that a command need not connect to ask.
DATABASE_MADE = "stepwell.database"
# sun_path has 104 bytes on macOS, 108 on Linux; the name of the socket needs 15 of them.
SOCKET_DIR_BYTES_LIMIT = 88
ROLES_MADE = " ".join(roles.ROLES)
STOP_LIMIT_SECONDS = 120.0

_log = logging.getLogger("stepwell.embedded")


class EmbeddedServer:
    """The use of the server in `data_dir` by one process. `settings` override the defaults, for tests."""

    def __init__(
        self, data_dir: str | os.PathLike[str], *, settings: Mapping[str, str] | None = None
    ) -> None:
        self.data_dir = Path(data_dir).expanduser().absolute()
        self.cluster_dir = self.data_dir / CLUSTER_NAME
        self._settings = dict(settings or {})
        self._socket_dir: Path | None = None
        self._use_handle: int | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> str:
        """Start the server, or use it if it runs; return the conninfo of the stepwell database."""
        if self._use_handle is not None:
            return self.conninfo()
        self._make_data_dir()
        with self._start_lock():
            use_handle = _open_lock(self.data_dir / "use.lock")
            try:
                # Cannot block: only a process that stops the server has it exclusively, and we hold
                # start.lock.
                fcntl.flock(use_handle, fcntl.LOCK_SH)
                self._socket_dir = self._ensure_running()
                self._ensure_database()
            except BaseException:
                os.close(use_handle)
                raise
            self._use_handle = use_handle
            _in_use.add(self)
        return self.conninfo()

    def stop(self) -> bool:
        """End the use by this process; the last user stops the server. True if this call stopped it."""
        handle, self._use_handle = self._use_handle, None
        if handle is None:
            return False
        _in_use.discard(self)
        try:
            with self._start_lock():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._stop_server()
                return True
        except (BlockingIOError, FileNotFoundError):
            # Other processes use the server, or the folder was removed.
            return False
        finally:
            # Unlock explicitly: a forked child may have a copy of the handle.
            fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)

    def conninfo(self, dbname: str = DATABASE_NAME, *, role: str | None = None) -> str:
        """The address for the role of a process; without one, for the owner."""
        if self._socket_dir is None:
            raise DatabaseUnavailable("the embedded server was not started", hint="call start() first")
        return make_conninfo(host=str(self._socket_dir), port=5432, user=role or ROLE_NAME, dbname=dbname)

    @property
    def postmaster_pid(self) -> int | None:
        """Process id of the running server; None if it does not run."""
        process = postmaster.find(self.cluster_dir)
        return None if process is None else process.pid

    def _forget_after_fork(self) -> None:
        """In a forked child: forget the use, which belongs to the parent."""
        if self._use_handle is not None:
            os.close(self._use_handle)
            self._use_handle = None

    def _make_data_dir(self) -> None:
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            os.close(_open_lock(self.data_dir / "start.lock"))
        except OSError as error:
            is_other = self.data_dir.exists() and not self.data_dir.is_dir()
            reason = "it is not a folder" if is_other else error.strerror
            raise DatabaseUnavailable(
                f"the data folder {self.data_dir} cannot be written: {reason}",
                hint="give yourself write permission, or choose another with --data-dir or STEPWELL_DATA_DIR",
            ) from error

    @contextmanager
    def _start_lock(self) -> Iterator[None]:
        path = self.data_dir / "start.lock"
        deadline = time.monotonic() + START_LIMIT_SECONDS
        while True:
            handle = _open_lock(path)
            try:
                _flock_until(handle, deadline, self.data_dir)
                # The folder may have been removed and made again while we waited.
                if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
                    yield
                    return
            finally:
                os.close(handle)

    def _ensure_running(self) -> Path:
        if embedded_cluster.check_folder(self.cluster_dir):
            # A running server says in its pid file whether it accepts connections; then nobody need try.
            socket_dir = postmaster.socket_dir(self.cluster_dir)
            if socket_dir is not None and postmaster.is_running(self.cluster_dir):
                return socket_dir
            process = postmaster.find(self.cluster_dir)
            if process is not None and (ready := self._await_ready(process)) is not None:
                return ready
            if (self.cluster_dir / "postmaster.pid").exists():
                postmaster.disarm_stale_pid(self.cluster_dir)
                postmaster.await_orphans(self.cluster_dir)
        account = embedded_account.choose(self.cluster_dir)
        self._prepare_paths(account)
        embedded_cluster.sweep(self.cluster_dir)
        if not (self.cluster_dir / "PG_VERSION").exists():
            _log.info("creating a PostgreSQL cluster in %s", self.cluster_dir)
            try:
                embedded_cluster.create(self.cluster_dir, account)
            except OSError as error:
                raise DatabaseUnavailable(
                    f"the data folder {self.data_dir} cannot be written: {error.strerror}",
                    hint="free space or give write permission, or choose another folder with --data-dir",
                ) from error
        return self._launch(account)

    def _prepare_paths(self, account: Account) -> None:
        install = embedded_cluster.install_dir()
        embedded_account.open_prefixes(install, account)
        embedded_account.open_tree(install, account)
        embedded_account.open_prefixes(self.cluster_dir, account)

    def _launch(self, account: Account) -> Path:
        socket_dir = _choose_socket_dir(self.data_dir, account)
        # PostgreSQL would trust the process id in an old lock file of the socket. No server uses this folder
        # now.
        for leftover in socket_dir.glob(".s.PGSQL.*"):
            leftover.unlink(missing_ok=True)
        embedded_cluster.write_settings(self.cluster_dir, socket_dir, account, self._settings)
        log_path = self.cluster_dir / "start.log"
        process = postmaster.spawn(self.cluster_dir, log_path, account)
        if process is not None and (ready := self._await_ready(process)) is not None:
            return ready
        raise DatabaseUnavailable(
            f"PostgreSQL in {self.cluster_dir} did not start: "
            f"{embedded_cluster.last_complaint(self.cluster_dir)}",
            hint=f"its logs are {log_path} and the files in {self.cluster_dir / 'log'}",
        )

    def _await_ready(self, process: psutil.Process) -> Path | None:
        """Wait until the server answers; None if it ends instead. Recovery after a crash may take long."""
        deadline = time.monotonic() + START_LIMIT_SECONDS
        while postmaster.is_alive(process):
            socket_dir = postmaster.socket_dir(self.cluster_dir)
            if socket_dir is not None:
                self._socket_dir = socket_dir
                try:
                    with psycopg.connect(self.conninfo("postgres"), connect_timeout=10):
                        return socket_dir
                except psycopg.OperationalError as error:
                    _log.debug("not ready yet: %s", error)
            if time.monotonic() > deadline:
                raise DatabaseUnavailable(
                    f"PostgreSQL in {self.cluster_dir} did not answer for {START_LIMIT_SECONDS:.0f} seconds",
                    hint=f"see the files in {self.cluster_dir / 'log'}",
                )
            time.sleep(0.02)
        return None

    def _ensure_database(self) -> None:
        made = self.cluster_dir / DATABASE_MADE
        # A folder of an earlier release has the database, but not the roles that log in.
        if made.exists() and made.read_text(encoding="utf-8") == ROLES_MADE:
            return
        with psycopg.connect(self.conninfo("postgres"), autocommit=True) as connection:
            if connection.execute(support_text("database_exists"), (DATABASE_NAME,)).fetchone() is None:
                # Under its name the database has its mark, also when this process is killed in between.
                connection.execute(f"drop database if exists {DATABASE_NAME}_new")
                connection.execute(f"create database {DATABASE_NAME}_new")
                mark_created(connection, f"{DATABASE_NAME}_new")
                connection.execute(f"alter database {DATABASE_NAME}_new rename to {DATABASE_NAME}")
            roles.let_log_in(connection)
        made.write_text(ROLES_MADE, encoding="utf-8")

    def _stop_server(self) -> None:
        process = postmaster.find(self.cluster_dir)
        if process is None:
            return
        process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + STOP_LIMIT_SECONDS
        while postmaster.is_alive(process):
            if time.monotonic() > deadline:
                _log.warning("PostgreSQL in %s is still writing; it will end by itself", self.cluster_dir)
                return
            time.sleep(0.02)
        if self._socket_dir is not None and self._socket_dir.parent != self.data_dir.resolve():
            with suppress(OSError):
                self._socket_dir.rmdir()


_in_use: set[EmbeddedServer] = set()


def _forget_all_after_fork() -> None:
    for server in _in_use:
        server._forget_after_fork()
    _in_use.clear()


def _stop_all_at_exit() -> None:
    for server in list(_in_use):
        server.stop()


os.register_at_fork(after_in_child=_forget_all_after_fork)
atexit.register(_stop_all_at_exit)


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _flock_until(handle: int, deadline: float, data_dir: Path) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise DatabaseUnavailable(
                    f"another process has been starting or stopping the server in {data_dir} for too long",
                    hint="end that process and try again",
                ) from None
            time.sleep(0.02)


def _choose_socket_dir(data_dir: Path, account: Account) -> Path:
    """`run` in the data folder; a short path elsewhere if libpq cannot use that (too long, or a comma)."""
    inside = data_dir.resolve() / "run"
    if len(os.fsencode(inside)) <= SOCKET_DIR_BYTES_LIMIT and not set(str(inside)) & set('",\\\n'):
        inside.mkdir(mode=0o700, exist_ok=True)
        account.own(inside, 0o700)
        return inside
    # Loaded here: a command that finds the server running needs neither.
    import hashlib
    import tempfile

    digest = hashlib.sha256(os.fsencode(data_dir.resolve())).hexdigest()[:16]
    runtime = "" if account.is_switched else os.environ.get("XDG_RUNTIME_DIR", "")
    base = Path(runtime if runtime and Path(runtime).is_dir() else tempfile.gettempdir())
    if len(os.fsencode(base)) + 27 > SOCKET_DIR_BYTES_LIMIT:
        base = Path("/tmp")
    chosen = base / f"stepwell-{digest}"
    chosen.mkdir(mode=0o700, exist_ok=True)
    status = chosen.lstat()
    if chosen.is_symlink() or status.st_uid not in (os.geteuid(), account.uid):
        raise DatabaseUnavailable(
            f"{chosen} belongs to another user", hint="remove it, or choose a shorter --data-dir"
        )
    account.own(chosen, 0o700)
    return chosen
