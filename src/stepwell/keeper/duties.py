"""Run the duties of a keeper independently of each other: receives a duty, returns its result or a default.

Each duty is one transaction and has its own error and pause. A duty that fails is tried again after growing
pauses; the others continue.
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
    # On the clock of this process.
    not_before: float


class Duties:
    """Which duties failed, how often, and when each may be tried again."""

    def __init__(self, is_stopping: Callable[[], bool]) -> None:
        self._is_stopping = is_stopping
        self._failed: dict[str, _Failures] = {}

    def perform(self, connection: KeeperConnection, what: str, act: Callable[[], T], otherwise: T) -> T:
        """Returns `otherwise` if the duty fails or waits after a failure; a lost connection ends the tick."""
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
        # A lock of another session may be free soon; for other errors the pause grows.
        doublings = 0 if error.is_transient else min(failures.count - 1, 10)
        pause = min(PAUSE_FIRST_SECONDS * 2.0**doublings, PAUSE_MAX_SECONDS) * random.uniform(0.5, 1.0)
        failures.not_before = time.monotonic() + pause
        _log.warning("the keeper could not %s; it tries again in %.1f s: %s", what, pause, error)
