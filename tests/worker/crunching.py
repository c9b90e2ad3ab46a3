"""Functions that run in another process: importable by name, as the process executor requires."""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path
from typing import Any

import stepwell as sw
from tests.support.wait import until


def add_slowly(a: int, b: int) -> dict[str, Any]:
    return {"sum": a + b, "pid": os.getpid()}


def die(a: int = 0) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def logs_a_line() -> None:
    logging.getLogger(__name__).info("from a process")


def count_to_the_end(gate: str) -> str:
    """Reports progress, then ends when the file exists."""
    sw.progress(3, 4, "counting")
    until(Path(gate).exists)
    return "ended"


def store_zeros(size: int) -> sw.Ref:
    return sw.Ref.put_sync(bytes(size))
