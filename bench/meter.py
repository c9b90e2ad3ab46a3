"""Measure: what a piece of work costs in the server and in the worker.

Receives a database URL; returns CPU seconds of Postgres and of this process, bytes of WAL and the number of
transactions that wrote. A worker in a process of its own is added to this process; a server that is not
Postgres takes its place. Runs in every contestant's environment, so it needs psycopg and Linux's /proc only.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

_PROC = Path("/proc")
# See clock_getcpuclockid(3): the number of the clock of a process is made of its pid and this.
_CPUCLOCK_SCHED = 2


@dataclass(frozen=True)
class Reading:
    """The values of all counters at one time; only the difference of two readings has a meaning."""

    at_seconds: float
    python_cpu_seconds: float
    postgres_cpu_seconds: float | None
    wal_bytes: int
    xid: int
    # Another server does not write the two numbers above.
    is_of_postgres: bool = True


class Meter:
    """Reads the counters over its own connection, which does nothing between two readings."""

    def __init__(self, database_url: str) -> None:
        self._connection = psycopg.connect(database_url, autocommit=True)
        self._postmaster_pid = _parent_pid(self._connection.info.backend_pid)
        self._worker_pids: list[int] = []
        self._server_pid: int | None = None

    def count_worker(self, pid: int) -> None:
        """The process of a worker that is not this one: from now on its CPU time counts too."""
        self._worker_pids.append(pid)

    def count_server(self, pid: int) -> None:
        """The process of a server with a log of its own: its CPU time counts in place of that of Postgres."""
        self._server_pid = pid

    def scalar(self, query: str) -> Any:
        row = self._connection.execute(query).fetchone()
        return None if row is None else row[0]

    def read(self) -> Reading:
        row = self._connection.execute(
            "select (pg_current_wal_insert_lsn() - '0/0')::bigint,"
            " pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
        ).fetchone()
        assert row is not None
        return Reading(
            at_seconds=time.perf_counter(),
            python_cpu_seconds=time.process_time() + sum(map(process_cpu_seconds, self._worker_pids)),
            postgres_cpu_seconds=(
                self._postgres_cpu_seconds()
                if self._server_pid is None
                else process_cpu_seconds(self._server_pid)
            ),
            wal_bytes=row[0],
            xid=row[1],
            is_of_postgres=self._server_pid is None,
        )

    def close(self) -> None:
        self._connection.close()

    def _postgres_cpu_seconds(self) -> float | None:
        """On-CPU time of the postmaster and all its children, ended ones too; None for a distant server.

        A keeper's seal or a vacuum may end between two readings: its time must not vanish with its process.
        """
        if self._postmaster_pid is None:
            return None
        children = _PROC / str(self._postmaster_pid) / "task" / str(self._postmaster_pid) / "children"
        try:
            pids = [self._postmaster_pid, *map(int, children.read_text().split())]
        except OSError:
            return None
        return _ended_cpu_seconds(self._postmaster_pid) + sum(map(_on_cpu_seconds, pids))


def postgres_cpu_between(before: Reading, after: Reading) -> float | None:
    if before.postgres_cpu_seconds is None or after.postgres_cpu_seconds is None:
        return None
    return after.postgres_cpu_seconds - before.postgres_cpu_seconds


def cost_between(before: Reading, after: Reading, units: int) -> dict[str, float | None]:
    """The cost of one unit (a step, a job), in microseconds and bytes."""
    postgres_seconds = postgres_cpu_between(before, after)
    postgres_us = None if postgres_seconds is None else postgres_seconds * 1e6 / units
    return {
        "postgres_cpu_us": postgres_us,
        "python_cpu_us": (after.python_cpu_seconds - before.python_cpu_seconds) * 1e6 / units,
        "wal_bytes": (after.wal_bytes - before.wal_bytes) / units if after.is_of_postgres else None,
        # Transaction ids, not pg_stat_database.xact_commit: those counters arrive up to a second late,
        # and only a transaction that wrote waits for the disk.
        "commits": (after.xid - before.xid) / units if after.is_of_postgres else None,
    }


def process_cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process, ended ones too: the clock that the kernel has for it."""
    return time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED)


def _parent_pid(backend_pid: int) -> int | None:
    try:
        stat = (_PROC / str(backend_pid) / "stat").read_text()
    except OSError:
        return None
    name, _, rest = stat.partition("(")[2].rpartition(")")
    # The pid of a server in another namespace may belong to another process here, which must not be counted.
    return int(rest.split()[1]) if name.startswith("postgres") else None


def _ended_cpu_seconds(pid: int) -> float:
    """What the ended children of a process took, as the kernel adds it up when the parent collects them."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def _on_cpu_seconds(pid: int) -> float:
    """schedstat counts in nanoseconds; stat only in ticks of 10 ms, too coarse for a run of 150 ms."""
    try:
        return int((_PROC / str(pid) / "schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
