"""One loop over everything that is due: receives a conninfo, runs until it is told to stop.

Any number of keepers may run, one in each worker: one leads, the others stand by and ask for the lead, which
a keeper loses when its connection ends. Each duty is one transaction in the database; a keeper that dies
leaves nothing half done.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from stepwell.define import cron
from stepwell.errors import DatabaseUnavailable, InvalidInput, StepwellError
from stepwell.keeper.sealing import Sealing
from stepwell.store.calls import keep, schedules
from stepwell.store.calls.keep import KeeperConnection, keeper_connection
from stepwell.store.connection.call import Call

TIMER_LIMIT = 500
SESSION_LIMIT = 10
SCHEDULE_LIMIT = 100
RECEIPT_LIMIT = 100
REPLAY_LIMIT = 500
# Rounds of one tick in which full batches are followed by more, before stop and lead are looked at again.
ROUND_LIMIT = 50
HOUSEKEEPING_PERIOD = timedelta(hours=1)
PAUSE_MIN_SECONDS = 0.005
RECONNECT_MAX_SECONDS = 10.0

T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tick:
    """What one look did. `acted` is false when another keeper leads."""

    acted: bool
    recovered_count: int = 0
    fired_count: int = 0
    started_count: int = 0
    sealed_count: int = 0
    due_in_seconds: float | None = None


class Keeper:
    """Keeps one database. `poll_seconds` bounds how late anything due is seen; `anchor` is told of seals."""

    def __init__(self, conninfo: str, *, poll_seconds: float = 1.0, anchor: str | None = None) -> None:
        if not 0.01 <= poll_seconds <= 60:
            raise InvalidInput("poll_seconds: must be between 0.01 and 60", field="poll_seconds")
        self._conninfo = conninfo
        self._poll_seconds = poll_seconds
        self._stop = threading.Event()
        self._connection: KeeperConnection | None = None
        self._housekeeping_at: datetime | None = None
        self._sealing = Sealing(conninfo, anchor)

    def stop(self) -> None:
        """End `run` soon; from another thread, never from a signal handler in its own."""
        self._stop.set()

    def cancel(self) -> None:
        """End the statement that runs now. Its transaction leaves nothing; a later look does it again."""
        connection = self._connection
        if connection is not None:
            connection.cancel()
        self._sealing.cancel()

    def run(self) -> None:
        """Work until stopped. Nothing else ends it: a lost database is waited for, a fault is logged."""
        delay_seconds = self._poll_seconds
        while not self._stop.is_set():
            try:
                with keeper_connection(self._conninfo) as connection:
                    delay_seconds = self._poll_seconds
                    self._connection = connection
                    self._keep(connection)
            except DatabaseUnavailable as error:
                _log.warning("the keeper lost its database: %s", error)
            except StepwellError as error:
                _log.error("the keeper cannot work: %s", error.sentence())
            except Exception:
                _log.exception("the keeper failed and begins again")
            finally:
                self._connection = None
            self._stop.wait(delay_seconds)
            delay_seconds = min(delay_seconds * 2, RECONNECT_MAX_SECONDS)
        self._sealing.close()

    def run_once(self) -> Tick:
        """Look once, on a connection of its own; for tests and for cron-like use."""
        with keeper_connection(self._conninfo) as connection:
            tick = self._tick(connection) if connection.try_lead() else Tick(acted=False)
            return replace(tick, sealed_count=self._sealing.wait())

    def _keep(self, connection: KeeperConnection) -> None:
        while not self._stop.is_set():
            pause_seconds = self._poll_seconds
            if connection.try_lead():
                tick = self._tick(connection)
                if tick.due_in_seconds is not None:
                    pause_seconds = min(pause_seconds, max(tick.due_in_seconds, PAUSE_MIN_SECONDS))
            self._stop.wait(pause_seconds)

    def _tick(self, connection: KeeperConnection) -> Tick:
        tick = Tick(acted=True)
        for _ in range(ROUND_LIMIT):
            recovered = self._duty(connection, "recover leases", lambda: self._recover(connection), 0)
            timers = self._duty(
                connection, "fire timers", lambda: connection.perform(keep.fire_timers(TIMER_LIMIT)), None
            )
            tick = replace(tick, recovered_count=tick.recovered_count + recovered)
            if timers is not None:
                tick = replace(
                    tick,
                    fired_count=tick.fired_count + timers.fired_count,
                    due_in_seconds=timers.due_in_seconds,
                )
                self._sealing.look(timers.now_at)
                self._keep_house(connection, timers.now_at)
            if timers is None or timers.fired_count < TIMER_LIMIT:
                break
        self._duty(
            connection, "settle replays", lambda: connection.perform(keep.settle_replays(REPLAY_LIMIT)), 0
        )
        self._duty(
            connection,
            "recover receipts",
            lambda: connection.perform(keep.recover_receipts(RECEIPT_LIMIT)),
            0,
        )
        started = self._duty(connection, "fire schedules", lambda: self._fire_schedules(connection), 0)
        return replace(tick, started_count=started)

    def _recover(self, connection: KeeperConnection) -> int:
        return connection.perform(keep.recover_leases(SESSION_LIMIT))

    def _fire_schedules(self, connection: KeeperConnection) -> int:
        started = 0
        for due in connection.perform(schedules.due_schedules(SCHEDULE_LIMIT)):

            def fire(due: schedules.DueSchedule = due) -> int:
                return len(connection.perform(firing(due)))

            # One schedule that cannot be fired must not hold back the others.
            started += self._duty(connection, f"fire schedule {due.name}", fire, 0)
        return started

    def _keep_house(self, connection: KeeperConnection, now: datetime) -> None:
        """Hourly by the database's clock, and when this keeper takes the lead."""
        if self._housekeeping_at is not None and now < self._housekeeping_at:
            return
        self._housekeeping_at = now + HOUSEKEEPING_PERIOD
        self._duty(connection, "make partitions", lambda: connection.perform(keep.ensure_partitions()), 0)
        removed = self._duty(
            connection, "sweep", lambda: connection.perform(keep.sweep_retention()), dict[str, int]()
        )
        if any(removed.values()):
            _log.info("removed what is older than its retention: %s", removed)

    def _duty(self, connection: KeeperConnection, what: str, act: Callable[[], T], otherwise: T) -> T:
        """A duty that fails is logged and tried again at the next tick; a lost connection ends the tick."""
        try:
            return act()
        except DatabaseUnavailable:
            raise
        except StepwellError as error:
            if connection.is_broken:
                raise DatabaseUnavailable(error.message) from error
            if not self._stop.is_set():
                _log.warning("the keeper could not %s: %s", what, error)
            return otherwise


def firing(due: schedules.DueSchedule) -> Call[list[tuple[int, datetime]]]:
    """The call that starts what a due schedule owes, and sets its next time."""
    found = cron.plan(due.cron, due.time_zone, due.misfire, due.backfill_limit, due.next_at, due.now_at)
    return schedules.fire_schedule(due, found.fire_ats, found.next_at)
