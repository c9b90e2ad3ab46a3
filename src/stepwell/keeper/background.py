"""Keep in a thread beside other work: receives a conninfo, keeps until it is closed.

Every worker has one, on a connection of its own, so that no worker is ever without a keeper.
`stepwell keeper` is one alone.
"""

from __future__ import annotations

import logging
import threading

from stepwell.keeper.keeper import Keeper

# A duty may finish; then its statement is ended.
FINISH_SECONDS = 1.0
END_SECONDS = 5.0

_log = logging.getLogger(__name__)


class BackgroundKeeper:
    """A keeper and its thread, begun when it is made."""

    def __init__(self, conninfo: str, *, poll_seconds: float = 1.0, anchor: str | None = None) -> None:
        self._keeper = Keeper(conninfo, poll_seconds=poll_seconds, anchor=anchor)
        self._thread = threading.Thread(target=self._keeper.run, name="stepwell-keeper", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Gives the lead back; blocks until the thread has ended, for a few seconds at most."""
        self._keeper.stop()
        self._thread.join(FINISH_SECONDS)
        if self._thread.is_alive():
            self._keeper.cancel()
            self._thread.join(END_SECONDS)
        if self._thread.is_alive():
            _log.warning("the keeper did not end within %g s; it ends with this process", END_SECONDS)
