"""Carry out duties apart from each other: receives what to do, returns its result or what stands for it.

Each duty is a transaction of its own, with its own error and its own pause: one that fails is tried again
later and later, and the others go on.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from stepwell.errors import DatabaseUnavailable, StepwellError
from stepwell.store.calls.keep import KeeperConnection

PAUSE_FIRST_SECONDS = 0.5
PAUSE_MAX_SECONDS = 60.0

T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Failures:
    count: int
    # On this process's clock.
    not_before: float


class Duties:
    """What failed, how often, and when it may be tried again."""

    def __init__(self, is_stopping: Callable[[], bool]) -> None:
        self._is_stopping = is_stopping
        self._failed: dict[str, _Failures] = {}

    def perform(self, connection: KeeperConnection, what: str, act: Callable[[], T], otherwise: T) -> T:
        """`otherwise` when the duty fails or rests after a failure; a lost connection ends the tick."""
        failures = self._failed.get(what)
        if failures is not None and time.monotonic() < failures.not_before:
            return otherwise
        try:
            done = act()
        except DatabaseUnavailable:
            raise
        except StepwellError as error:
            if connection.is_broken:
                raise DatabaseUnavailable(error.message) from error
            if not self._is_stopping():
                self._note(what, error)
            return otherwise
        self._failed.pop(what, None)
        return done

    def _note(self, what: str, error: StepwellError) -> None:
        failures = self._failed.setdefault(what, _Failures(0, 0.0))
        failures.count += 1
        # What somebody else has locked may be free soon; anything else is not mended by haste.
        doublings = 0 if error.is_transient else min(failures.count - 1, 10)
        pause = min(PAUSE_FIRST_SECONDS * 2.0**doublings, PAUSE_MAX_SECONDS) * random.uniform(0.5, 1.0)
        failures.not_before = time.monotonic() + pause
        _log.warning("the keeper could not %s, and tries again in %.1f s: %s", what, pause, error)
