"""Seal the log at intervals, write to the anchor and make bundles: receives the time of the database.

It runs in a separate thread with its own connection: hashing takes time and an anchor may be slow, but timers
and leases must not wait for them. An evidence bundle is made after the seal that it needs. A seal is never
urgent, so a pass pauses between blocks and leaves the processors to the work itself; see `pace.py`.
"""

from __future__ import annotations

import logging
import threading
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta

from stepwell.errors import StepwellError
from stepwell.govern.anchor import tell
from stepwell.keeper.bundles import RUN_LIMIT, make_bundles
from stepwell.keeper.pace import Pace
from stepwell.store.calls import keep, sealing
from stepwell.store.calls.keep import KeeperConnection, keeper_connection

TENANT_LIMIT = 1000
# Most blocks of one tenant in one pass, so that other tenants do not wait; the next pass starts immediately.
ROUND_LIMIT = 100
# The interval until it was read from the database, and while sealing is switched off.
LOOK_PERIOD = timedelta(minutes=1)
CLOSE_SECONDS = 2.0

_log = logging.getLogger(__name__)


class Sealing:
    """Makes a pass when it is due, one at a time.

    The first pass waits until the oldest unsealed event has the age of an interval: workers that start often
    make no small blocks, and the work that they find comes first.
    """

    def __init__(
        self, conninfo: str, anchor: str | None, key_file: str | None, evidence: str | None = None
    ) -> None:
        self._conninfo = conninfo
        self._anchor = anchor
        self._key_file = key_file
        self._evidence = evidence
        self._due_at: datetime | None = None
        self._has_more = False
        self._is_first_pass = True
        self._period = LOOK_PERIOD
        self._closed = threading.Event()
        self._pace = Pace()
        self._looking: Future[int] | None = None
        self._connection: KeeperConnection | None = None
        self._thread: ThreadPoolExecutor | None = None

    def look(self, now: datetime, *, is_asked_for: bool = False) -> None:
        """Start a pass if it is due and the last one has ended; returns immediately.

        A pass that is asked for seals what there is, however new it is.
        """
        is_due = self._due_at is None or now >= self._due_at
        if self._closed.is_set() or not is_due or not (self._looking is None or self._looking.done()):
            return
        self._due_at = now + self._period
        self._thread = self._thread or ThreadPoolExecutor(1, "stepwell-seal")
        waits, self._is_first_pass = self._is_first_pass and not is_asked_for, False
        self._looking = self._thread.submit(self._look, now if waits else None)

    def wait(self) -> int:
        """Wait until the current pass has ended; return how many blocks it sealed."""
        looking, self._looking = self._looking, None
        return 0 if looking is None else looking.result()

    def cancel(self) -> None:
        """Close, and cancel the current statement; the pass of the next keeper repeats it."""
        self._closed.set()
        connection = self._connection
        if connection is not None:
            connection.cancel()

    def close(self) -> None:
        """Close: a pass ends after its current block. It does not wait long for a slow anchor."""
        self._closed.set()
        if self._thread is not None:
            if self._looking is not None:
                futures.wait([self._looking], CLOSE_SECONDS)
            self._thread.shutdown(wait=False)

    def _look(self, waiting_since: datetime | None) -> int:
        count = 0
        try:
            with keeper_connection(self._conninfo) as connection:
                self._connection = connection
                due = connection.perform(sealing.due(TENANT_LIMIT))
                if waiting_since is not None and due.due_in_seconds:
                    self._due_at = waiting_since + timedelta(seconds=due.due_in_seconds)
                    return 0
                count = self._seal_all(connection, due)
                if self._anchor is not None:
                    tell(connection, self._anchor, self._key_file, self._closed.is_set)
                self._make_bundles(connection)
        except StepwellError as error:
            if not self._closed.is_set():
                _log.warning("sealing or anchoring failed; the next pass continues: %s", error)
        finally:
            self._connection = None
        return count

    def _make_bundles(self, connection: KeeperConnection) -> None:
        """Make the bundles that wait, as many at once as share their reads; pause as between blocks."""
        for _ in range(ROUND_LIMIT):
            with self._pace.working():
                made = make_bundles(connection, self._conninfo, self._evidence, self._closed.is_set)
            if made < RUN_LIMIT or self._closed.wait(self._pace.pause_seconds()):
                return

    def _seal_all(self, connection: KeeperConnection, due: sealing.Due) -> int:
        self._period = timedelta(seconds=due.interval_seconds) if due.interval_seconds > 0 else LOOK_PERIOD
        count, self._has_more = 0, False
        self._pace.begin()
        for tenant_id in due.tenant_ids:
            try:
                count += self._seal(connection, tenant_id)
            except StepwellError as error:
                if self._closed.is_set() or error.is_transient or connection.is_broken:
                    raise
                # A log that cannot be sealed does not stop the others.
                _log.warning("the seal of tenant %s was set aside: %s", tenant_id, error)
                connection.perform(keep.set_aside(tenant_id, "seal", str(tenant_id), error))
        if self._has_more:
            self._due_at = None
        else:
            self._pace.caught_up()
        return count

    def _seal(self, connection: KeeperConnection, tenant_id: int) -> int:
        for count in range(ROUND_LIMIT):
            if self._closed.wait(self._pace.pause_seconds()):
                return count
            with self._pace.working():
                block = connection.perform(sealing.seal(tenant_id))
            if block is None or not block.is_full:
                return count + (block is not None)
        self._has_more = True
        return ROUND_LIMIT
