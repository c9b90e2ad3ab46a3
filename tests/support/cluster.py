"""Runs a PostgreSQL of any version for tests: receives the folder of its programs, returns conninfos.

The first process that starts it creates it; the others find it running. It stops with the test run.
"""

from __future__ import annotations

import contextlib
import fcntl
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import make_conninfo

from stepwell.store.embedded import account as accounts
from stepwell.store.embedded.account import Account

ROLE_NAME = "stepwell"
START_LIMIT_SECONDS = 120


class Cluster:
    """A server in `folder`, reached through a socket there; nothing it writes is synced to disk."""

    def __init__(
        self, folder: Path, bin_dir: Path, settings: Mapping[str, str], copy_of: Path | None = None
    ) -> None:
        """`copy_of` is the folder of a stopped cluster of the same programs; this one gets its databases."""
        self._folder = folder
        self._data = folder / "data"
        self._copy_of = copy_of
        self._bin = bin_dir
        self._settings = {"listen_addresses": "", "unix_socket_directories": str(folder), **settings}

    def start(self) -> None:
        self._folder.mkdir(mode=0o711, exist_ok=True)
        with self._lock():
            if self._is_running():
                return
            account = accounts.choose(self._data)
            accounts.open_prefixes(self._data, account)
            accounts.open_tree(self._bin.parent, account)
            account.own(self._folder, 0o711)
            self._create(account)
            log = self._folder / "log"
            log.touch()
            account.own(log, 0o600)
            start = [self._bin / "pg_ctl", "-D", self._data, "-l", log, "-w", "-t", str(START_LIMIT_SECONDS)]
            account.run([*start, "start"])

    def stop(self, *, mode: str = "immediate") -> None:
        with self._lock():
            if self._is_running():
                stop = [self._bin / "pg_ctl", "-D", self._data, "-m", mode, "-w", "stop"]
                accounts.choose(self._data).run(stop)

    def conninfo(self, dbname: str) -> str:
        return make_conninfo(host=str(self._folder), user=ROLE_NAME, dbname=dbname)

    def _is_running(self) -> bool:
        with contextlib.suppress(FileNotFoundError):
            lines = (self._data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
            return len(lines) > 7 and lines[7].strip() == "ready"
        return False

    def _create(self, account: Account) -> None:
        if (self._data / "PG_VERSION").exists():
            return
        if self._copy_of is None:
            self._init(account)
        else:
            subprocess.run(["cp", "-a", str(self._copy_of / "data"), str(self._data)], check=True)
        # The last line of a setting holds: those of this cluster come after those of the copied one.
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as config:
            config.writelines(f"{name} = '{value}'\n" for name, value in self._settings.items())

    def _init(self, account: Account) -> None:
        command = [self._bin / "initdb", "-D", self._data, f"--username={ROLE_NAME}", "--encoding=UTF8"]
        command += ["--auth-local=trust", "--auth-host=reject", "--no-sync", "--no-instructions"]
        account.run([*command, *_locale(major_version(self._bin))])

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with (self._folder / "start.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def major_version(bin_dir: Path) -> int:
    """The version of the programs in a folder: 15, 18, …"""
    said = subprocess.run(
        [bin_dir / "postgres", "--version"], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"\d+", said)
    assert found is not None, said
    return int(found.group())


def _locale(version: int) -> list[str]:
    """The locale of the embedded server: sorted by code point, with the letters of every language."""
    if version >= 17:
        return ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    return ["--locale=C.UTF-8" if sys.platform == "linux" else "--locale=C"]
