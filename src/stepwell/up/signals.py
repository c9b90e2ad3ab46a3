"""Make the signals that end a process unwind it, or wait for one: receives SIGINT, SIGTERM and SIGHUP."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

STOP_SIGNALS: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Without it SIGTERM ends Python on the spot, and the database it holds is not given back."""

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
    """Yields a call that returns when the process is told to stop; threads begun inside do the work.

    An exception out of a signal handler can be lost: it may come where the interpreter has nobody to give it
    to. A signal that is waited for cannot, not even one that comes before anybody waits.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield lambda: signal.sigwait(STOP_SIGNALS)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
