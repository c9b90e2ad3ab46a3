"""How long work takes: receives seconds of work, returns when they are over.

In the history of the demo no real time passes: the handlers wait for its clock. Afterwards work takes a
fraction of its time, slow enough to watch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

# A minute of work takes so many seconds when somebody watches.
WATCHED_SECONDS_PER_MINUTE: Final = 1.5
WATCHED_LIMIT_SECONDS: Final = 40.0

Pause = Callable[[float], Awaitable[None]]


async def _watched(seconds: float) -> None:
    await asyncio.sleep(watched_seconds(seconds))


_pause: Pause = _watched


def watched_seconds(seconds: float, limit: float = WATCHED_LIMIT_SECONDS) -> float:
    return min(seconds / 60 * WATCHED_SECONDS_PER_MINUTE, limit)


def set_pause(pause: Pause | None) -> None:
    """Let another clock say how long work takes; None: real time."""
    global _pause
    _pause = pause or _watched


async def work(minutes: float) -> None:
    """Work for so many minutes."""
    await _pause(minutes * 60)
