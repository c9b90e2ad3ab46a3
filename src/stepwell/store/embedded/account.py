"""Choose the operating-system account of the embedded server; give it access to the paths that it needs.

PostgreSQL refuses to run as root. If root starts it, it runs as an unprivileged account; otherwise it runs as
the user who starts it.
"""

from __future__ import annotations

import logging
import os
import pwd
import shutil
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stepwell.errors import DatabaseUnavailable

ACCOUNT_NAME = "stepwell-pg"
COMMAND_LIMIT_SECONDS = 300.0

_log = logging.getLogger("stepwell.embedded")


@dataclass(frozen=True, slots=True)
class Account:
    """The account of the server's processes and files. `is_switched`: it is not the caller's account."""

    uid: int
    gid: int
    is_switched: bool

    def run(self, command: Sequence[str | Path], *, env: dict[str, str] | None = None) -> str:
        """Run a short PostgreSQL tool under this account; return its output. An error names the tool."""
        done = subprocess.run(
            [str(part) for part in command],
            env=env or tool_environment(),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=COMMAND_LIMIT_SECONDS,
            check=False,
            start_new_session=True,
            user=self.uid if self.is_switched else None,
            group=self.gid if self.is_switched else None,
            extra_groups=[] if self.is_switched else None,
        )
        if done.returncode != 0:
            last = [line for line in done.stdout.splitlines() if line.strip()][-3:]
            raise DatabaseUnavailable(f"{Path(command[0]).name} failed: {' '.join(last)}")
        return done.stdout

    def own(self, path: Path, mode: int) -> None:
        if self.is_switched:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)
        path.chmod(mode)


def tool_environment() -> dict[str, str]:
    """A minimal environment: no PG* variable of the caller affects the tools, no locale changes messages."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def choose(cluster_dir: Path) -> Account:
    """The caller; if the caller is root: the owner of an existing cluster, else an unprivileged account."""
    caller = os.geteuid()
    if caller != 0:
        return Account(caller, os.getegid(), is_switched=False)
    if cluster_dir.exists():
        owner = cluster_dir.stat()
        if owner.st_uid != 0:
            return Account(owner.st_uid, owner.st_gid, is_switched=True)
    entry = _unprivileged_entry()
    if (cluster_dir / "PG_VERSION").exists():
        # A copy made by root: the server could not read it.
        raise DatabaseUnavailable(
            f"the data folder {cluster_dir} belongs to root, and PostgreSQL does not run as root",
            hint=f"change its owner: chown -R {entry.pw_name}: {cluster_dir}",
        )
    return Account(entry.pw_uid, entry.pw_gid, is_switched=True)


def _unprivileged_entry() -> pwd.struct_passwd:
    if (found := _entry(ACCOUNT_NAME)) is not None:
        return found
    useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if useradd is not None:
        nologin = shutil.which("nologin", path="/usr/sbin:/sbin:/usr/bin") or "/bin/false"
        subprocess.run(
            [useradd, "--system", "--user-group", "--no-create-home", "--shell", nologin, ACCOUNT_NAME],
            capture_output=True,
            timeout=COMMAND_LIMIT_SECONDS,
            check=False,
        )
        # Check the account, not the exit code: two processes may add it at the same time.
        if (found := _entry(ACCOUNT_NAME)) is not None:
            _log.info("added system account %s: PostgreSQL does not run as root", ACCOUNT_NAME)
            return found
    if (found := _entry("nobody")) is not None:
        _log.warning("no account %s could be added; the embedded server runs as nobody", ACCOUNT_NAME)
        return found
    raise DatabaseUnavailable(
        "PostgreSQL does not run as root and no unprivileged account was found",
        hint=f"add one with 'useradd --system {ACCOUNT_NAME}', or run stepwell as an ordinary user",
    )


def _entry(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def open_prefixes(path: Path, account: Account) -> None:
    """Give the account search permission (only o+x) on the parent folders of `path`."""
    if not account.is_switched:
        return
    for folder in reversed(path.resolve().parents):
        if not _may(folder.stat(), account, stat.S_IXUSR):
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) | stat.S_IXOTH)
            _log.warning("gave others search permission (o+x) on %s: PostgreSQL must reach its files", folder)


def open_tree(root: Path, account: Account) -> None:
    """Let the account read and run the binaries, if they were installed with a strict umask."""
    if not account.is_switched:
        return
    if _may((root / "bin" / "postgres").stat(), account, stat.S_IXUSR | stat.S_IRUSR):
        return
    for path in (root, *root.rglob("*")):
        if path.is_symlink():
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode | stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0))
    _log.warning("gave others read permission on %s so that PostgreSQL can run", root)


def _may(status: os.stat_result, account: Account, wanted: int) -> bool:
    """`wanted` are owner bits (S_IXUSR, S_IRUSR); they are compared with the bits for this account."""
    if status.st_uid == account.uid:
        granted = status.st_mode
    elif status.st_gid == account.gid:
        granted = status.st_mode << 3
    else:
        granted = status.st_mode << 6
    return granted & wanted == wanted
