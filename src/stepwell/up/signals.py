"""Handle SIGINT, SIGTERM and SIGHUP: raise KeyboardInterrupt, so that `finally` blocks run, or wait."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

STOP_SIGNALS: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Without it SIGTERM ends Python immediately, and the embedded database keeps running."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def signals_awaited() -> Iterator[Callable[[], object]]:
    """Yield a function that waits for a stop signal; threads started inside the block do the work.

    An exception raised in a signal handler can be lost, because Python may be in a place that ignores it. A
    blocked signal is never lost, even if it comes before the wait.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield lambda: signal.sigwait(STOP_SIGNALS)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
