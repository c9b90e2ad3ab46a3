"""Decide when to claim: receives answers and hints, returns whether a claim may find work."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

REST_FIRST_SECONDS = 0.1
REST_LIMIT_SECONDS = 10.0


class Demand:
    """While no loop has a report, one loop claims for all of them; a full answer wakes the others."""

    def __init__(self) -> None:
        self.is_asking = False
        # The last answer had fewer leases than asked for, and no hint came since.
        self.is_dry = False
        self._was_full = True
        self.hint_count = 0
        # A claim failed; no claim is made before the pause is over, even after hints.
        self.is_resting = False
        self._failure_count = 0

    def hint(self) -> None:
        """Something may have become claimable."""
        self.hint_count += 1
        self.is_dry = False

    def note_answer(self, got: int, asked: int) -> None:
        self.is_dry = got < asked and not self._was_full
        # The database sends hints only to an idle worker, and from this call on it counts this worker as
        # idle. Work that became ready just before sent no hint, so one more claim follows a full answer.
        self._was_full = got >= asked > 0

    def note_hints_since(self, hint_count: int) -> None:
        """A hint that came while a call was under way may be about work that the call did not see."""
        if self.hint_count != hint_count:
            self.is_dry = False

    def rest(self, on_end: Callable[[], None]) -> None:
        """Pause after a failed claim; each pause is longer. `on_end` is called when the pause is over."""
        self._failure_count += 1
        pause = min(REST_FIRST_SECONDS * 2.0 ** min(self._failure_count, 20), REST_LIMIT_SECONDS)
        self.is_resting = True
        asyncio.get_running_loop().call_later(pause * random.uniform(0.5, 1.0), self._end_rest, on_end)

    def note_success(self) -> None:
        self._failure_count = 0

    def _end_rest(self, on_end: Callable[[], None]) -> None:
        self.is_resting = False
        on_end()
