"""Seal the log when it is time and have the anchor told: receives the keeper's connection, hands on counts.

The anchor is a place outside that may be slow or gone, so a thread with a connection of its own tells it:
timers and leases never wait for it.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta

from stepwell.errors import StepwellError
from stepwell.govern.anchor import tell
from stepwell.store import audit
from stepwell.store.keep import KeeperConnection, keeper_connection

TENANT_LIMIT = 1000
# Blocks of one tenant in one look; the next look goes on.
ROUND_LIMIT = 20
OFF_PERIOD = timedelta(minutes=1)

_log = logging.getLogger(__name__)


class Sealing:
    """Remembers when to look again; tells one anchor at a time."""

    def __init__(self, conninfo: str, anchor: str | None) -> None:
        self._conninfo = conninfo
        self._anchor = anchor
        self._due_at: datetime | None = None
        self._closed = False
        self._telling: Future[None] | None = None
        self._thread = ThreadPoolExecutor(1, "stepwell-anchor") if anchor is not None else None

    def due(self, connection: KeeperConnection, now: datetime) -> list[int]:
        """Tenants to seal now; none until the interval has passed."""
        if self._due_at is not None and now < self._due_at:
            return []
        found = connection.perform(audit.due(TENANT_LIMIT))
        period = timedelta(seconds=found.interval_seconds) if found.interval_seconds > 0 else OFF_PERIOD
        self._due_at = now + period
        if not found.tenant_ids:
            self._tell()
        return found.tenant_ids

    def seal(self, connection: KeeperConnection, tenant_id: int) -> int:
        """How many blocks were sealed; a log that has more is gone on with at the next look, at once."""
        count = 0
        for _ in range(ROUND_LIMIT):
            block = connection.perform(audit.seal(tenant_id))
            if block is None:
                break
            count += 1
            if not block.is_full:
                break
        else:
            self._due_at = None
        self._tell()
        return count

    def wait(self) -> None:
        """Until the anchor has been told, or could not be."""
        if self._telling is not None:
            self._telling.result()

    def close(self) -> None:
        self._closed = True
        if self._thread is not None:
            self._thread.shutdown()

    def _tell(self) -> None:
        if self._thread is None or self._closed or not (self._telling is None or self._telling.done()):
            return
        self._telling = self._thread.submit(self._tell_all)

    def _tell_all(self) -> None:
        assert self._anchor is not None, "the thread exists only with an anchor"
        try:
            with keeper_connection(self._conninfo) as connection:
                tell(connection, self._anchor, lambda: self._closed)
        except StepwellError as error:
            _log.warning("the anchor could not be told, the next seal tries again: %s", error)
