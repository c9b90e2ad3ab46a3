"""Functions for a process of their own: importable by name, as the process executor needs them."""

from __future__ import annotations

import logging
import os
import signal
from typing import Any


def add_slowly(a: int, b: int) -> dict[str, Any]:
    return {"sum": a + b, "pid": os.getpid()}


def die(a: int = 0) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def logs_a_line() -> None:
    logging.getLogger(__name__).info("from a process")
