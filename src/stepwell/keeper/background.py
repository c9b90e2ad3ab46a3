"""Run a keeper in a thread: receives a conninfo, runs until it is closed.

Every worker has one with its own connection, so that a database with a worker always has a keeper.
`stepwell keeper` is one alone.
"""

from __future__ import annotations

import logging
import threading

from stepwell.keeper.keeper import Keeper

# A duty has so long to finish; then its statement is cancelled.
FINISH_SECONDS = 1.0
END_SECONDS = 5.0

_log = logging.getLogger(__name__)


class BackgroundKeeper:
    """A keeper and its thread, which starts immediately."""

    def __init__(
        self,
        conninfo: str,
        *,
        poll_seconds: float = 1.0,
        anchor: str | None = None,
        key_file: str | None = None,
        evidence: str | None = None,
    ) -> None:
        self._keeper = Keeper(
            conninfo, poll_seconds=poll_seconds, anchor=anchor, key_file=key_file, evidence=evidence
        )
        self._thread = threading.Thread(target=self._keeper.run, name="stepwell-keeper", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the keeper; blocks until its thread has ended, at most a few seconds."""
        self._keeper.stop()
        self._thread.join(FINISH_SECONDS)
        if self._thread.is_alive():
            self._keeper.cancel()
            self._thread.join(END_SECONDS)
        if self._thread.is_alive():
            _log.warning("the keeper did not end within %g s; it ends with this process", END_SECONDS)
