"""Check an installation: receives settings and a conninfo, returns findings.

A check is a function that receives a `Subject` and returns findings. `CHECKS` read by the one connection that
they are given, which may be one of a server's pool; `CONNECTING` open connections of their own.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from stepwell.config import Settings
from stepwell.errors import StepwellError, UnsupportedDatabase, from_database
from stepwell.sql import support_text
from stepwell.store.calls import mode, registry
from stepwell.store.connection.target import Place, Process
from stepwell.store.embedded import roles
from stepwell.store.health.finding import Connection, Finding, Level, Subject, connect, worded
from stepwell.store.health.in_the_way import check_sessions
from stepwell.store.schema import migrate
from stepwell.translations.health import say

SKEW_WARN_SECONDS = 1.0
CONNECTIONS_WARN_COUNT = 50
DISK_FAIL_BYTES = 512 * 1024**2
DISK_WARN_BYTES = 5 * 1024**3
NOTIFY_LIMIT_SECONDS = 5.0
DOUBT_LIMIT = 10_000
# The keeper makes a bundle at its next seal, and tries again after growing pauses.
EVIDENCE_LATE_SECONDS = 3600
# A warning if an event waits for its seal longer than so many intervals.
SEAL_WARN_INTERVALS = 10


Check = Callable[[Subject], Iterable[Finding]]


def examine(settings: Settings, conninfo: str) -> Iterator[Finding]:
    """Run every check; a check that fails is a finding too and does not stop the others."""
    try:
        connection = connect(conninfo)
    except psycopg.Error as error:
        yield unreachable(from_database(error))
        return
    with connection:
        yield from examine_on(Subject(settings, conninfo, connection), ALL)


def examine_on(subject: Subject, checks: Iterable[Check]) -> Iterator[Finding]:
    """Run these checks on a connection that is open."""
    try:
        migrate.check_version(subject.connection)
    except UnsupportedDatabase as error:
        yield unreachable(error)
        return
    for check in checks:
        try:
            yield from check(subject)
        except psycopg.Error as error:
            yield _broken(check, from_database(error))
        except (StepwellError, OSError) as error:
            yield _broken(check, error)


def connecting(settings: Settings, conninfo: str) -> list[Finding]:
    """The checks that open connections of their own; nothing if the database cannot be reached."""
    try:
        connection = connect(conninfo)
    except psycopg.Error:
        return []
    with connection:
        return list(examine_on(Subject(settings, conninfo, connection), CONNECTING))


def unreachable(error: StepwellError) -> Finding:
    remedy, remedy_vi = (error.hint, None) if error.hint else say("database.remedy")
    return Finding("database", Level.FAILED, error.message, remedy, remedy_vi=remedy_vi)


def _broken(check: Callable[..., object], error: Exception) -> Finding:
    remedy = getattr(error, "hint", None)
    return Finding(check.__name__.removeprefix("check_"), Level.FAILED, " ".join(str(error).split()), remedy)


def check_database(subject: Subject) -> Iterable[Finding]:
    version = subject.connection.info.parameter_status("server_version")
    where = "database.embedded" if subject.settings.is_embedded else "database.external"
    yield worded("database", Level.OK, where, version=version, folder=subject.settings.data_dir)


def check_settings(subject: Subject) -> Iterable[Finding]:
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        value = str(subject.value("select current_setting(%s)", name))
        level = Level.FAILED if value == "off" else Level.OK
        yield worded(name, level, "setting.value", f"{name}.remedy", value=value)
    count = int(str(subject.value("select current_setting('max_connections')")))
    level = Level.WARNING if count < CONNECTIONS_WARN_COUNT else Level.OK
    facts = {"value": count, "wanted": CONNECTIONS_WARN_COUNT}
    yield worded("max_connections", level, "setting.value", "max_connections.remedy", **facts)


def check_schema(subject: Subject) -> Iterable[Finding]:
    state = migrate.status_on(subject.connection)
    if state.is_current:
        yield worded("schema", Level.OK, "schema.current", count=len(state.applied))
        return
    what = "schema.pending" if state.pending else "schema.outdated"
    yield worded("schema", Level.FAILED, what, "schema.remedy", count=len(state.pending))


def check_partitions(subject: Subject) -> Iterable[Finding]:
    """Create missing partitions of the log; without the partition of this month nothing can be written."""
    if subject.value("select to_regproc('stepwell.fn_partitions_ensure')") is None:
        return
    with subject.keeping("fn_partitions_ensure(timestamptz, int)") as keeper:
        if keeper is not None:
            row = keeper.execute("select stepwell.fn_partitions_ensure()").fetchone()
            made = 0 if row is None else row[0]
            what = "partitions.made" if made else "partitions.ready"
            yield worded("partitions", Level.OK, what, count=made)
            return
    is_there = subject.value(
        "select to_regclass('stepwell.event_log_' || to_char(stepwell.now() at time zone 'UTC', 'YYYY_MM'))"
        " is not null"
    )
    level = Level.OK if is_there else Level.FAILED
    what = "partitions.ready" if is_there else "partitions.missing"
    yield worded("partitions", level, what, "partitions.remedy")


def check_clock(subject: Subject) -> Iterable[Finding]:
    before = time.time()
    server = float(str(subject.value("select date_part('epoch', clock_timestamp())")))
    after = time.time()
    # The server read its clock at some moment between `before` and `after`; count only a larger difference.
    skew = max(before - server, server - after, 0.0)
    level = Level.WARNING if skew > SKEW_WARN_SECONDS else Level.OK
    yield worded("clock", level, "clock.apart", "clock.remedy", seconds=f"{skew:.3f}")


def check_permissions(subject: Subject) -> Iterable[Finding]:
    """The owner may migrate; the role of a process may do what the process needs; others may do nothing."""
    role = str(subject.value("select current_user"))
    owns = subject.value(support_text("health_owner"))
    belongs = subject.value(support_text("health_process"), list(roles.ROLES))
    if owns:
        yield worded("permissions", Level.OK, "permissions.granted", role=role)
    elif belongs:
        yield worded("permissions", Level.OK, "permissions.process", role=role)
    else:
        facts = {"role": role, "rights": "create in the database nor use the schema stepwell"}
        yield worded("permissions", Level.FAILED, "permissions.missing", "permissions.remedy", **facts)


def check_roles(subject: Subject) -> Iterable[Finding]:
    """What the login roles of the processes lack."""
    may_look = "select has_function_privilege('stepwell.fn_rights_missing()', 'execute')"
    if subject.value("select to_regproc('stepwell.fn_rights_missing')") is None or not subject.value(
        may_look
    ):
        return
    found = subject.connection.execute(support_text("health_rights")).fetchall()
    lacking = [(role, right) for role, lacks, right in found if lacks == "right"]
    if lacking:
        facts = {"role": lacking[0][0], "right": lacking[0][1], "count": len(lacking) - 1}
        what = "roles.right" if len(lacking) == 1 else "roles.rights"
        yield worded("roles", Level.FAILED, what, "roles.right_remedy", **facts)
    elif absent := [role for role, lacks, _ in found if lacks == "role"]:
        names = ", ".join(absent)
        yield worded("roles", Level.WARNING, "roles.absent", "roles.absent_remedy", names=names)
    else:
        yield worded("roles", Level.OK, "roles.ready")


def check_keeper(subject: Subject) -> Iterable[Finding]:
    """Whether a worker at this address has a keeper."""
    if subject.value("select to_regproc('stepwell.fn_keeper_lead')") is None:
        return
    with subject.keeping("fn_keeper_lead(text, bigint, int)") as keeper:
        if keeper is None:
            address = Place.of(subject.settings, subject.conninfo, Process.KEEPER)
            facts = {"role": conninfo_to_dict(address).get("user", "?")}
            yield worded("keeper", Level.WARNING, "keeper.none", "keeper.remedy", **facts)


def check_disk(subject: Subject) -> Iterable[Finding]:
    if not subject.settings.is_embedded:
        size = subject.value("select pg_size_pretty(pg_database_size(current_database()))")
        yield worded("disk", Level.OK, "disk.database", size=size)
        return
    folder = subject.settings.data_dir
    free = shutil.disk_usage(folder).free
    level = (
        Level.OK if free >= DISK_WARN_BYTES else Level.WARNING if free >= DISK_FAIL_BYTES else Level.FAILED
    )
    yield worded("disk", level, "disk.free", "disk.remedy", gib=f"{free / 1024**3:.1f}", folder=folder)


def check_notify(subject: Subject) -> Iterable[Finding]:
    """Listen at the direct address, notify at the working address, and wait for the notification."""
    channel = f"stepwell_doctor_{secrets.token_hex(4)}"
    with connect(subject.listen_conninfo) as listener:
        listener.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
        started = time.monotonic()
        subject.value("select pg_notify(%s, 'ping')", channel)
        arrived = any(True for _ in listener.notifies(timeout=NOTIFY_LIMIT_SECONDS, stop_after=1))
        took_ms = (time.monotonic() - started) * 1000
    if arrived:
        yield worded("notify", Level.OK, "notify.arrived", milliseconds=f"{took_ms:.1f}")
    else:
        yield worded("notify", Level.WARNING, "notify.missing", "notify.remedy")


def check_pooler(subject: Subject) -> Iterable[Finding]:
    """Two connections share a backend, or a session loses its settings: it is a transaction pooler."""
    with _several(subject.conninfo, 2) as (first, second):
        mark = secrets.token_hex(4)
        first.execute("select set_config('stepwell.doctor_mark', %s, false)", (mark,))
        pids, marks = [], []
        for connection in (first, second, first, second):
            row = connection.execute(
                "select pg_backend_pid(), current_setting('stepwell.doctor_mark', true)"
            ).fetchone()
            assert row is not None
            pids.append(row[0])
            marks.append(row[1])
        is_shared = bool({pids[0], pids[2]} & {pids[1], pids[3]}) or marks[0] != mark or marks[1] == mark
        is_pooled = any(c.info.backend_pid not in pids for c in (first, second))
        first.execute("select set_config('stepwell.doctor_mark', '', false)")
    if is_shared and subject.settings.listen_url is None:
        yield worded("pooler", Level.WARNING, "pooler.transaction", "pooler.remedy")
    elif is_shared:
        yield worded("pooler", Level.OK, "pooler.with_listen")
    else:
        yield worded("pooler", Level.OK, "pooler.session" if is_pooled else "pooler.none")


@contextmanager
def _several(conninfo: str, count: int) -> Iterator[list[Connection]]:
    with ExitStack() as stack:
        yield [stack.enter_context(connect(conninfo)) for _ in range(count)]


def check_registry(subject: Subject) -> Iterable[Finding]:
    """The checks of the registry on its own rows."""
    if not subject.value(
        "select has_function_privilege('stepwell.fn_registry_check()', 'execute')"
        " where to_regprocedure('stepwell.fn_registry_check()') is not null"
    ):
        return
    check = registry.check()
    for name, is_ok, detail in check.decode(subject.connection.execute(check.text.encode()).fetchall()):
        remedy, remedy_vi = (None, None) if is_ok else say("registry.remedy")
        level = Level.OK if is_ok else Level.FAILED
        yield Finding(f"registry {name}", level, detail or "", remedy, remedy_vi=remedy_vi)


def check_work(subject: Subject) -> Iterable[Finding]:
    """The seal of the log, effects that only a person can settle, bundles that are late; of all tenants."""
    with subject.keeping("fn_health_read(int, int)") as keeper:
        if keeper is None:
            return
        row = keeper.execute(support_text("health_work"), (EVIDENCE_LATE_SECONDS, DOUBT_LIMIT)).fetchone()
    assert row is not None, "aggregates have one row"
    block_count, lag_seconds, anchor_error, interval_seconds, doubts, late, late_error = row
    if anchor_error is not None:
        yield worded("seal", Level.WARNING, "seal.anchor", "seal.anchor_remedy", error=anchor_error)
    if interval_seconds == 0:
        yield worded("seal", Level.OK, "seal.off")
    elif lag_seconds > interval_seconds * SEAL_WARN_INTERVALS:
        yield worded("seal", Level.WARNING, "seal.behind", "seal.remedy", minutes=round(lag_seconds / 60))
    else:
        yield worded("seal", Level.OK, "seal.current", count=block_count)
    if doubts:
        yield worded("receipts", Level.WARNING, "receipts.doubt", "receipts.remedy", count=doubts)
    else:
        yield worded("receipts", Level.OK, "receipts.settled")
    if late:
        facts = {"count": late, "error": late_error or "–"}
        yield worded("evidence", Level.WARNING, "evidence.late", "evidence.remedy", **facts)
    else:
        yield worded("evidence", Level.OK, "evidence.made")


def check_names(subject: Subject) -> Iterable[Finding]:
    """Who cannot act because the name is not accepted any more; of all tenants."""
    if subject.value("select to_regprocedure('stepwell.fn_names_refused()')::oid") is None:
        return
    with subject.keeping("fn_names_refused()") as keeper:
        if keeper is None:
            return
        found = keeper.execute(support_text("names_refused")).fetchall()
    if not found:
        yield worded("names", Level.OK, "names.accepted")
    for row in found:
        facts = dict(zip(("tenant", "number", "name", "reason"), row, strict=True))
        yield worded("names", Level.WARNING, "names.refused", "names.remedy", **facts)


def check_mode(subject: Subject) -> Iterable[Finding]:
    """Development mode is no problem, but everybody must know of it."""
    if subject.value("select to_regprocedure('stepwell.fn_mode_read()')::oid") is None:
        return
    call = mode.read()
    found = call.decode(subject.connection.execute(call.text.encode()).fetchall())
    yield worded("mode", Level.OK, f"mode.{found.mode}", person=found.person)


ALL: Final[tuple[Check, ...]] = (
    check_database,
    check_settings,
    check_schema,
    check_partitions,
    check_clock,
    check_permissions,
    check_roles,
    check_keeper,
    check_disk,
    check_notify,
    check_pooler,
    check_registry,
    check_work,
    check_sessions,
    check_names,
    check_mode,
)
CONNECTING: Final = (
    check_partitions,
    check_keeper,
    check_notify,
    check_pooler,
    check_work,
    check_sessions,
    check_names,
)
CHECKS: Final[tuple[Check, ...]] = tuple(check for check in ALL if check not in CONNECTING)
