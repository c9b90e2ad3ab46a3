"""Limit how often one caller comes: receives a name, returns how long it must wait. In this process only."""

from __future__ import annotations

import time
from collections import OrderedDict

# A burst may have so many times the requests of one second.
BURST = 4
# So many callers are remembered; the one that came least recently is forgotten.
CALLERS_LIMIT = 10_000


class Buckets:
    """One token bucket for each caller: `rate` a second, and a burst."""

    def __init__(self, rate: float, burst: float | None = None) -> None:
        self.rate = rate
        self.burst = rate * BURST if burst is None else burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> float:
        """0.0 if the caller may come now; otherwise the seconds until it may."""
        now = time.monotonic()
        left, at = self._left.pop(caller, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.rate)
        wait = 0.0 if left >= 1 else (1 - left) / self.rate
        self._left[caller] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > CALLERS_LIMIT:
            self._left.popitem(last=False)
        return wait
