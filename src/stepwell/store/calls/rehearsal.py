"""Turn the clock of a test's own database: receives jumps, hands on what is in flight and what is due next.

Everything here is for databases that hold nothing but a test; `stepwell.testing` is its only caller.
"""

from __future__ import annotations

import atexit
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from stepwell.errors import UsageError, from_database
from stepwell.store.connection.call import Call
from stepwell.store.embedded.server import EmbeddedServer
from stepwell.store.schema import migrate

# A test's data need not survive a power cut.
FAST_SETTINGS = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off", "shared_buffers": "64MB"}
TEMPLATE_NAME = "stepwell_test_template"


@dataclass(frozen=True, slots=True)
class Flight:
    """One look at a database: what can be claimed, what is leased, when the next timer is due."""

    ready_count: int
    leased_count: int
    next_due_at: datetime | None
    now_at: datetime

    @property
    def is_idle(self) -> bool:
        return self.ready_count == 0 and self.leased_count == 0


def look(executors: Sequence[str]) -> Call[Flight]:
    """One statement, so one snapshot: a unit that moves on between two tables is seen in one of them."""
    return Call(
        "select (select count(*) from stepwell.job_ready as r"
        " inner join stepwell.executor_class as c on r.executor_class_id = c.executor_class_id"
        " where c.class_name = any (%s)),"
        " (select count(*) from stepwell.work_unit as u where u.lease_session_id is not null"
        " and u.state_code in ('in_progress', 'overdue')),"
        " (select min(t.due_at) from stepwell.timer as t), stepwell.now()",
        (list(executors),),
        lambda rows: Flight(*rows[0]),
    )


def prepare_months(delta: timedelta) -> Call[int]:
    """Partitions of the log for the month the clock is about to reach."""
    return Call(
        "select stepwell.fn_partitions_ensure(stepwell.now() + %s)", (delta,), lambda rows: int(rows[0][0])
    )


def shift_clock(delta: timedelta) -> Call[datetime]:
    """Time passes for everybody; sessions of workers pass it alive, as they would with their heartbeats."""
    return Call(
        "with alive as (update stepwell.worker_session as s"
        " set expires_at = s.expires_at + %s, last_tick_at = s.last_tick_at + %s where s.closed_at is null)"
        " insert into stepwell.clock_shift (shift) values (%s)"
        " on conflict (only_one) do update set shift = stepwell.clock_shift.shift + excluded.shift"
        " returning stepwell.now()",
        (delta, delta, delta),
        lambda rows: rows[0][0],
    )


def fire_timers() -> Call[int]:
    """How many were due."""
    return Call("select f.fired_count from stepwell.fn_timers_fire() as f", (), lambda rows: int(rows[0][0]))


def run_count() -> Call[int]:
    return Call("select count(*) from stepwell.run_detail", (), lambda rows: int(rows[0][0]))


def broken_invariants(conninfo: str) -> list[str]:
    """What the database's own check finds wrong; nothing when all holds."""
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            rows = connection.execute(
                "select i.invariant, i.detail from stepwell.fn_invariants_check() as i where not i.ok"
            ).fetchall()
    except psycopg.Error as error:
        raise from_database(error) from error
    return [f"{name}: {detail}" for name, detail in rows]


@contextmanager
def throwaway_database() -> Iterator[str]:
    """A migrated database on a server that all harnesses of this process share; dropped at the end."""
    server = _shared.start()
    name = f"stepwell_test_{secrets.token_hex(6)}"
    admin_conninfo = server.conninfo("postgres")
    _execute(admin_conninfo, "create database {} template {}", name, TEMPLATE_NAME)
    try:
        yield make_conninfo(admin_conninfo, dbname=name)
    finally:
        _execute(admin_conninfo, "drop database if exists {} with (force)", name)


def require_empty(run_total: int) -> None:
    if run_total:
        raise UsageError(
            f"the database of the harness holds {run_total} runs already",
            hint="give it a database of its own: the harness turns the clock for all of it",
            field="dsn",
        )


class _Shared:
    """One embedded server for the process, in a folder that goes with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: EmbeddedServer | None = None

    def start(self) -> EmbeddedServer:
        with self._lock:
            if self._server is None:
                folder = tempfile.mkdtemp(prefix="stepwell-test-")
                server = EmbeddedServer(folder, settings=FAST_SETTINGS)
                atexit.register(self._end, server, folder)
                server.start()
                _execute(server.conninfo("postgres"), "create database {} template template0", TEMPLATE_NAME)
                migrate.migrate(server.conninfo(TEMPLATE_NAME))
                self._server = server
            return self._server

    @staticmethod
    def _end(server: EmbeddedServer, folder: str) -> None:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


_shared = _Shared()


def _execute(conninfo: str, statement: str, *names: str) -> None:
    text = sql.SQL(statement).format(*map(sql.Identifier, names))
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(text)
