"""Pace a duty that is never urgent: receives how long its parts took, returns how long to pause.

While it is not behind, the duty has a quarter of the time. A part takes longer on a busy machine, and so does
the pause after it. A duty that stays behind for `BEHIND_SECONDS` makes no more pauses until it has caught up:
so its backlog has a limit even under a load that never ends.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

# Short passes make no pause at all.
SLICE_SECONDS = 0.2
PAUSE_FACTOR = 3
# One pause, so that a part that took very long does not stop the duty.
PAUSE_MAX_SECONDS = 10.0
BEHIND_SECONDS = 60.0


class Pace:
    """The pauses of one duty in one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._worked_seconds = 0.0
        self._behind_since: float | None = None

    def begin(self) -> None:
        """A pass starts; the duty is behind since the first pass that left something."""
        if self._behind_since is None:
            self._behind_since = self._clock()

    def caught_up(self) -> None:
        """A pass left nothing."""
        self._behind_since = None

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """The time of one part counts, whether it succeeds or not."""
        begun = self._clock()
        try:
            yield
        finally:
            self._worked_seconds += self._clock() - begun

    def pause_seconds(self) -> float:
        """How long to pause before the next part."""
        if self._worked_seconds < SLICE_SECONDS:
            return 0.0
        worked, self._worked_seconds = self._worked_seconds, 0.0
        if self._behind_since is not None and self._clock() - self._behind_since >= BEHIND_SECONDS:
            return 0.0
        return min(worked * PAUSE_FACTOR, PAUSE_MAX_SECONDS)
