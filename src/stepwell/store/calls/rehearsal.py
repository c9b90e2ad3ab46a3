"""Set the clock of a test's own database: receives times, returns what is in flight, due, or asked of people.

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
from datetime import datetime

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
    """One look at a database: what can be claimed, what is leased, what happens next when time passes.

    `next_due_at` is the next timer, rate limit or schedule; at `next_expiry_at` an open approval expires.
    """

    ready_count: int
    leased_count: int
    next_due_at: datetime | None
    next_expiry_at: datetime | None
    now_at: datetime

    @property
    def is_idle(self) -> bool:
        return self.ready_count == 0 and self.leased_count == 0

    @property
    def is_due(self) -> bool:
        return self.next_due_at is not None and self.next_due_at <= self.now_at


@dataclass(frozen=True, slots=True)
class Open:
    """Work or a decision that a person is asked for, or a unit that stands still, with the reason."""

    run_id: int | None
    name: str
    state_code: str
    why: str


# Far in the future: a schedule that never fires again.
_NEVER = "'9999-01-01'::timestamptz"


def look(executors: Sequence[str], operations: Sequence[str]) -> Call[Flight]:
    """One statement, so one snapshot: a unit that moves on between two tables is seen in one of them.

    Units of operations that the app does not have count as neither ready nor leased: nobody works on them.
    """
    known = (
        " inner join stepwell.operation as o on u.tenant_id = o.tenant_id and u.operation_id = o.operation_id"
        " where o.operation_name = any (%s)"
    )
    return Call(
        "select (select count(*) from stepwell.job_ready as r"
        " inner join stepwell.executor_class as c on r.executor_class_id = c.executor_class_id"
        " and c.class_name = any (%s)"
        " inner join stepwell.work_unit as u on r.tenant_id = u.tenant_id and r.unit_id = u.unit_id"
        f"{known}),"
        f" (select count(*) from stepwell.work_unit as u{known} and u.lease_session_id is not null"
        " and u.state_code in ('in_progress', 'overdue')),"
        " least((select min(t.due_at) from stepwell.timer as t),"
        " (select min(k.back_at) from stepwell.rate_token as k),"
        " (select min(coalesce(s.next_at, stepwell.now())) from stepwell.workflow_schedule as s"
        f" where not s.is_paused and (s.next_at is null or s.next_at < {_NEVER}))),"
        " (select min(t.due_at) from stepwell.timer as t where t.timer_kind = 'approval_expiry'),"
        " stepwell.now()",
        (list(executors), list(operations), list(operations)),
        lambda rows: Flight(*rows[0]),
    )


def prepare_months(at: datetime) -> Call[int]:
    """Partitions of the log for the month the clock is about to reach."""
    return Call("select stepwell.fn_partitions_ensure(%s)", (at,), lambda rows: int(rows[0][0]))


def stop_clock(at: datetime | None) -> Call[datetime]:
    """From now on no time passes but by `move_clock`. Stands at the present time, or where it is set."""
    return Call(
        "insert into stepwell.clock_shift (shift, stopped_at) values ('0', coalesce(%s, stepwell.now()))"
        " on conflict (only_one) do update set shift = excluded.shift, stopped_at = excluded.stopped_at"
        " returning stopped_at",
        (at,),
        lambda rows: rows[0][0],
    )


def release_clock() -> Call[None]:
    """The clock runs again, from where it stands."""
    return Call(
        "update stepwell.clock_shift set shift = stepwell.now() - clock_timestamp(), stopped_at = null"
        " returning shift",
        (),
        lambda rows: None,
    )


def move_clock(at: datetime) -> Call[datetime]:
    """Time passes for everybody; sessions of workers pass it alive, as they would with their heartbeats."""
    return Call(
        "with moved as (select greatest(%s - stepwell.now(), '0') as by),"
        " alive as (update stepwell.worker_session as s set expires_at = s.expires_at + m.by,"
        " last_tick_at = s.last_tick_at + m.by from moved as m where s.closed_at is null)"
        " update stepwell.clock_shift as c set shift = c.shift + m.by from moved as m"
        " returning c.stopped_at + c.shift",
        (at,),
        lambda rows: rows[0][0],
    )


def asked(tenant: int, run_id: int | None) -> Call[list[Open]]:
    """Open human steps, tasks and approvals: of a run and the runs inside it, or of all runs.

    A step that waits for an event or a time asks nobody.
    """
    return Call(
        "with recursive tree as (select %s::bigint as run_id union all"
        " select c.unit_id >> 20 from tree as t"
        " inner join stepwell.work_unit as p on p.tenant_id = %s"
        " and p.unit_id between (t.run_id << 20) + 1 and ((t.run_id + 1) << 20) - 1"
        " inner join stepwell.work_unit as c on c.tenant_id = p.tenant_id and c.parent_id = p.unit_id"
        " and c.scope = 'workflow_run')"
        " select h.run_id, concat_ws('/', h.parent_step_id, h.step_id"
        " || coalesce('[' || h.item_no || ']', '')), h.state_code,"
        " (select w.sentence_en from stepwell.fn_why_not_running(h.step_run_id, h.tenant_id) as w)"
        " from stepwell.v_inbox as h where h.tenant_id = %s and h.state_code <> 'waiting'"
        " and (%s::bigint is null or h.run_id in (select t.run_id from tree as t))"
        " union all select a.run_id, 'approval ' || a.approval_id, a.state_code,"
        " format('%%s of %%s waits for a decision (%%s of %%s)%%s', a.action,"
        " stepwell._unit_name(s), a.approve_count, a.quorum,"
        " coalesce(', until ' || to_char(a.expires_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI \"UTC\"'), ''))"
        " from stepwell.v_approval as a"
        " inner join stepwell.work_unit as s on a.tenant_id = s.tenant_id and a.subject_unit_id = s.unit_id"
        " where a.tenant_id = %s and a.state_code = 'requested'"
        " and (%s::bigint is null or a.run_id in (select t.run_id from tree as t)) order by 1, 2 limit 100",
        (run_id, tenant, tenant, run_id, tenant, run_id),
        lambda rows: [Open(*row) for row in rows],
    )


def standing(tenant: int) -> Call[list[Open]]:
    """Units that are leased or can be claimed, with what is known of them; for a message."""
    return Call(
        "select case when u.scope <> 'job' then u.unit_id >> 20 end,"
        " stepwell._unit_name(u), u.state_code,"
        " (select w.sentence_en from stepwell.fn_why_not_running(u.unit_id, u.tenant_id) as w)"
        " from stepwell.work_unit as u where u.tenant_id = %s and u.executor_class_id is not null"
        " and u.state_code in ('ready', 'in_progress', 'overdue') order by u.unit_id limit 20",
        (tenant,),
        lambda rows: [Open(*row) for row in rows],
    )


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
