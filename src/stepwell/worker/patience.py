"""Decide how a call meets others: receives collisions, says how long to pause and in which order to lock.

A report locks its own runs and asks for those above without waiting, which is the cheapest way while nobody
else is there. After a collision the next calls lock from the top and wait in order, so that many children
of one run do not roll each other back.
"""

from __future__ import annotations

import random

from stepwell.errors import StepwellError

# So many calls after a collision lock from the top.
CALLS_AFTER_COLLISION = 64
# So often one call is tried; then it is left to the second tries, or to a pause.
ATTEMPT_LIMIT = 3
PAUSE_FIRST_SECONDS = 0.01


class Patience:
    """Counts the calls since the last collision."""

    def __init__(self) -> None:
        self._left = 0

    def locks_up(self) -> bool:
        """Whether the next call locks from the top."""
        if self._left == 0:
            return False
        self._left -= 1
        return True

    def note(self, error: StepwellError) -> None:
        if error.is_transient:
            self._left = CALLS_AFTER_COLLISION

    @staticmethod
    def pause_seconds(attempt: int) -> float:
        """Back-off with full jitter."""
        return random.uniform(0.0, PAUSE_FIRST_SECONDS * 2.0**attempt)
