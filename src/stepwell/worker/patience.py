"""React to collisions: receives collisions, returns how long to pause and in which order to lock.

A report locks its own runs, and the runs above without waiting; this is the cheapest way without collisions.
After a collision the next calls lock from the top and wait in order, so that many sub-runs of one run do not
roll each other back.
"""

from __future__ import annotations

import random

from stepwell.errors import StepwellError
from stepwell.store.connection.wire import LOCK_LIMIT_SECONDS

# The number of calls after a collision that lock from the top.
CALLS_AFTER_COLLISION = 64
# The attempts of one call; then `second_tries` or a pause follows.
ATTEMPT_LIMIT = 3
PAUSE_FIRST_SECONDS = 0.01


class Patience:
    """Counts the calls since the last collision."""

    def __init__(self) -> None:
        self._left = 0

    def locks_up(self) -> bool:
        """True if the next call locks from the top."""
        if self._left == 0:
            return False
        self._left -= 1
        return True

    def note(self, error: StepwellError) -> None:
        if error.is_transient:
            self._left = CALLS_AFTER_COLLISION

    @staticmethod
    def may_repeat(error: StepwellError, attempt: int, seconds: float) -> bool:
        """True if the same call is made again. A call that waited for a lock until the limit is not:
        the reports of its batch whose runs are free would wait with it."""
        return error.is_transient and attempt < ATTEMPT_LIMIT and seconds < LOCK_LIMIT_SECONDS

    @staticmethod
    def pause_seconds(attempt: int) -> float:
        """Back-off with full jitter."""
        return random.uniform(0.0, PAUSE_FIRST_SECONDS * 2.0**attempt)
