"""The loop of a keeper: receives a conninfo, runs until `stop`.

Several keepers may run, one in each worker. One of them has the lead and acts; the others try to get the
lead, which a keeper loses when its connection ends or when it does not renew it. Each duty is one
transaction, so a keeper that dies leaves nothing half done, and a duty that fails does not stop the others.
Partitions come first: without the partition of the present month nothing can be written.
"""

from __future__ import annotations

import logging
import math
import threading
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from stepwell.define import cron
from stepwell.errors import DatabaseUnavailable, InvalidInput, PermissionDenied, StepwellError
from stepwell.keeper.duties import Duties
from stepwell.keeper.period import Period
from stepwell.keeper.sealing import Sealing
from stepwell.store.calls import keep, schedules
from stepwell.store.calls.keep import LEAD_SECONDS, KeeperConnection, keeper_connection
from stepwell.store.connection.call import Call

TIMER_LIMIT = 500
SESSION_LIMIT = 10
SCHEDULE_LIMIT = 100
RECEIPT_LIMIT = 100
REPLAY_LIMIT = 500
HOLD_LIMIT = 500
# Dead letters that one pass begins to replay; the outcomes of a part are seen before the next.
PLAN_LIMIT = 100
PROBLEM_LIMIT = 500
ROUTE_LIMIT = 1_000
# In one tick, full batches are followed by more, at most so often; then stop and lead are checked again.
ROUND_LIMIT = 50
HOUSEKEEPING_PERIOD = timedelta(hours=1)
# How often problems are checked, and a part of the units is searched for leases of lost sessions.
LOOK_PERIOD = timedelta(seconds=1)
# While nothing happens, only time makes something wrong: then problems are looked for less often.
IDLE_PERIOD = timedelta(seconds=10)
INTEGRITY_PERIOD = timedelta(seconds=2)
REFRESH_PERIOD = timedelta(seconds=15)
# How often the lag of the queue and of the seal is sampled.
LAG_PERIOD = timedelta(seconds=5)
SUMMARY_PERIOD = timedelta(seconds=15)
SUMMARY_TENANTS = 50
PAUSE_MIN_SECONDS = 0.005
# Short, so that a database that is back, or has room on its disk again, is kept at once.
RECONNECT_MAX_SECONDS = 2.0
# The owner may grant the rights of a keeper later.
REFUSED_SECONDS = 30.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tick:
    """What one pass did. `acted` is false if another keeper has the lead."""

    acted: bool
    recovered_count: int = 0
    fired_count: int = 0
    started_count: int = 0
    sealed_count: int = 0
    due_in_seconds: float | None = None


class Keeper:
    """A keeper of one database.

    `poll_seconds`: longest pause; `anchor`: where block headers are written; `key_file`: the key that signs;
    `evidence`: where bundles are written, without it in the database.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        poll_seconds: float = 1.0,
        anchor: str | None = None,
        key_file: str | None = None,
        evidence: str | None = None,
    ) -> None:
        if not 0.01 <= poll_seconds <= 60:
            raise InvalidInput(f"poll_seconds is {poll_seconds}; accepted: 0.01 to 60", field="poll_seconds")
        self._conninfo = conninfo
        self._poll_seconds = poll_seconds
        # The lead is renewed at each pass.
        self._lead_seconds = max(LEAD_SECONDS, math.ceil(3 * poll_seconds))
        self._stop = threading.Event()
        self._connection: KeeperConnection | None = None
        self._duties = Duties(self._stop.is_set)
        self._partition_period = Period(HOUSEKEEPING_PERIOD)
        self._sweep_period = Period(HOUSEKEEPING_PERIOD)
        self._look_period = Period(LOOK_PERIOD)
        self._idle_period = Period(IDLE_PERIOD)
        self._watch_mark = -1
        self._integrity_period = Period(INTEGRITY_PERIOD, waits_first=True)
        self._refresh_period = Period(REFRESH_PERIOD)
        self._lag_period = Period(LAG_PERIOD, waits_first=True)
        self._summary_period = Period(SUMMARY_PERIOD, waits_first=True)
        self._search_page = 0
        self._has_passed = False
        self._sealing = Sealing(conninfo, anchor, key_file, evidence)

    def stop(self) -> None:
        """End `run` soon; call it from another thread, never from a signal handler in the same thread."""
        self._stop.set()

    def cancel(self) -> None:
        """Cancel the current statement. Its transaction is rolled back; a later pass repeats it."""
        connection = self._connection
        if connection is not None:
            connection.cancel()
        self._sealing.cancel()

    def run(self) -> None:
        """Work until stopped. If the database is unavailable it waits; other errors are logged."""
        delay_seconds, refused = self._poll_seconds, ""
        while not self._stop.is_set():
            try:
                with keeper_connection(self._conninfo) as connection:
                    delay_seconds = self._poll_seconds
                    self._connection = connection
                    self._keep(connection)
            except DatabaseUnavailable as error:
                _log.warning("the keeper lost its database: %s", error)
            except PermissionDenied as error:
                # Said once: a worker whose role is not that of a keeper works on, and another keeper keeps.
                if error.message != refused:
                    _log.error("no keeper runs here: %s", _with_remedy(error))
                refused, delay_seconds = error.message, REFUSED_SECONDS
            except StepwellError as error:
                _log.error("the keeper cannot work: %s", error.sentence())
            except Exception:
                _log.exception("the keeper failed and restarts")
            finally:
                self._connection = None
            self._stop.wait(delay_seconds)
            delay_seconds = min(delay_seconds * 2, RECONNECT_MAX_SECONDS)
        self._sealing.close()

    def run_once(self) -> Tick:
        """Make one pass on a new connection; for tests and for cron."""
        with keeper_connection(self._conninfo) as connection:
            tick = Tick(acted=False)
            if connection.try_lead(self._lead_seconds):
                tick = self._tick(connection, is_asked_for=True)
            return replace(tick, sealed_count=self._sealing.wait())

    def _keep(self, connection: KeeperConnection) -> None:
        while not self._stop.is_set():
            pause_seconds = self._poll_seconds
            if connection.try_lead(self._lead_seconds):
                tick = self._tick(connection)
                if tick.due_in_seconds is not None:
                    pause_seconds = min(pause_seconds, max(tick.due_in_seconds, PAUSE_MIN_SECONDS))
            self._stop.wait(pause_seconds)

    def _tick(self, connection: KeeperConnection, *, is_asked_for: bool = False) -> Tick:
        """One pass. The first one leaves out what nobody waits for, unless the pass is asked for."""
        duties = self._duties
        now = connection.perform(keep.database_now())
        self._make_partitions(connection, now)
        self._sealing.look(now, is_asked_for=is_asked_for)
        tick = Tick(acted=True)
        for _ in range(ROUND_LIMIT):
            if not connection.try_lead(self._lead_seconds):
                return tick
            recovered = duties.perform(connection, "recover leases", lambda: self._recover(connection), 0)
            timers = duties.perform(
                connection, "fire timers", lambda: connection.perform(keep.fire_timers(TIMER_LIMIT)), None
            )
            tick = replace(tick, recovered_count=tick.recovered_count + recovered)
            if timers is None:
                break
            tick = replace(
                tick,
                fired_count=tick.fired_count + timers.fired_count,
                due_in_seconds=timers.due_in_seconds,
            )
            if timers.fired_count < TIMER_LIMIT:
                break
        duties.perform(
            connection, "settle replays", lambda: connection.perform(keep.settle_replays(REPLAY_LIMIT)), 0
        )
        duties.perform(
            connection, "replay plans", lambda: connection.perform(keep.carry_replay_plans(PLAN_LIMIT)), 0
        )
        duties.perform(connection, "carry holds", lambda: connection.perform(keep.carry_holds(HOLD_LIMIT)), 0)
        duties.perform(
            connection,
            "recover receipts",
            lambda: connection.perform(keep.recover_receipts(RECEIPT_LIMIT)),
            0,
        )
        started = self._fire_schedules(connection)
        if self._has_passed or is_asked_for:
            duties.perform(connection, "route events", lambda: self._route(connection), 0)
            self._look(connection, now, is_asked_for=is_asked_for)
            self._check(connection, now)
            self._refresh(connection, now)
            self._sample_lag(connection, now)
            self._summarize(connection, now)
            self._sweep(connection, now)
        self._has_passed = True
        return replace(tick, started_count=started)

    def _recover(self, connection: KeeperConnection) -> int:
        count = connection.perform(keep.recover_leases(SESSION_LIMIT))
        if count:
            # Their workers are gone and can log nothing.
            _log.warning("attempts ended without a report, because their worker was silent: %d", count)
        return count

    def _fire_schedules(self, connection: KeeperConnection) -> int:
        """Each schedule has its own error and pause: one that cannot fire now stops no other."""
        started = 0
        due = self._duties.perform(
            connection,
            "read schedules",
            lambda: connection.perform(schedules.due_schedules(SCHEDULE_LIMIT)),
            list[schedules.DueSchedule](),
        )
        for each in due:
            if self._stop.is_set():
                break
            what = f"fire schedule {each.name} of tenant {each.tenant_id}"
            started += self._duties.perform(connection, what, partial(self._fire, connection, each), 0)
        return started

    def _fire(self, connection: KeeperConnection, due: schedules.DueSchedule) -> int:
        try:
            return len(connection.perform(firing(due)))
        except StepwellError as error:
            if error.is_transient or connection.is_broken:
                raise
            _log.warning("the keeper postponed schedule %s: %s", due.name, error)
            connection.perform(keep.set_aside(due.tenant_id, "schedule", due.name, error))
            return 0

    def _make_partitions(self, connection: KeeperConnection, now: datetime) -> None:
        """Every hour of the database clock, and when this keeper gets the lead."""
        if self._partition_period.is_due(now):
            made = self._duties.perform(
                connection, "make partitions", lambda: connection.perform(keep.ensure_partitions()), None
            )
            if made is not None:
                self._partition_period.begin(now)

    def _look(self, connection: KeeperConnection, now: datetime, *, is_asked_for: bool) -> None:
        """Open and close problems, and search a part of the units for lost leases."""
        if not self._look_period.passes(now):
            return
        mark = self._duties.perform(
            connection, "read the watch mark", lambda: connection.perform(keep.watch_mark()), -1
        )
        is_quiet = mark == self._watch_mark and not is_asked_for
        self._watch_mark = mark
        if is_quiet and not self._idle_period.is_due(now):
            return
        self._idle_period.begin(now)
        self._duties.perform(
            connection, "settle problems", lambda: connection.perform(keep.settle_problems(PROBLEM_LIMIT)), 0
        )
        self._duties.perform(
            connection, "watch problems", lambda: connection.perform(keep.watch_problems(PROBLEM_LIMIT)), 0
        )
        self._search_page = self._duties.perform(
            connection,
            "search lost leases",
            lambda: connection.perform(keep.find_leases(self._search_page)),
            self._search_page,
        )

    def _check(self, connection: KeeperConnection, now: datetime) -> None:
        """Check the invariants of the next rows."""
        if not self._integrity_period.passes(now):
            return
        self._duties.perform(
            connection, "check invariants", lambda: connection.perform(keep.watch_integrity()), 0
        )

    def _route(self, connection: KeeperConnection) -> int:
        """Route what is in the log, in parts: nobody waits long for the locks of one."""
        job_count = 0
        for _ in range(ROUND_LIMIT):
            count, is_full = connection.perform(keep.follow_routes(ROUTE_LIMIT))
            job_count += count
            if not is_full:
                break
        return job_count

    def _refresh(self, connection: KeeperConnection, now: datetime) -> None:
        """Enqueue the jobs that refresh job workflows."""
        if not self._refresh_period.passes(now):
            return
        self._duties.perform(
            connection, "refresh job workflows", lambda: connection.perform(keep.enqueue_refreshes()), 0
        )

    def _sample_lag(self, connection: KeeperConnection, now: datetime) -> None:
        """Note how long ready work and events waited."""
        if not self._lag_period.passes(now):
            return
        self._duties.perform(connection, "sample the lag", lambda: connection.perform(keep.sample_lag()), 0)

    def _summarize(self, connection: KeeperConnection, now: datetime) -> None:
        """Say in one sentence how each worker is."""
        if not self._summary_period.passes(now):
            return
        self._duties.perform(
            connection,
            "write summaries",
            lambda: connection.perform(keep.write_summaries(SUMMARY_TENANTS)),
            0,
        )

    def _sweep(self, connection: KeeperConnection, now: datetime) -> None:
        """Every hour of the database clock, and soon after this keeper gets the lead."""
        if not self._sweep_period.passes(now):
            return
        removed = self._duties.perform(
            connection, "sweep", lambda: connection.perform(keep.sweep_retention()), dict[str, int]()
        )
        if any(removed.values()):
            _log.info("removed rows older than their retention: %s", removed)


def _with_remedy(error: PermissionDenied) -> str:
    return f"{error.message}; run 'stepwell keeper' with the role stepwell_keeper, or set STEPWELL_KEEPER_URL"


def firing(due: schedules.DueSchedule) -> Call[list[tuple[int, datetime]]]:
    """The call that starts the runs of a due schedule and sets its next time."""
    found = cron.plan(due.cron, due.time_zone, due.misfire, due.backfill_limit, due.next_at, due.now_at)
    return schedules.fire_schedule(due, found.fire_ats, found.next_at)
