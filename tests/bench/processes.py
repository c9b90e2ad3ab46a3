"""Whether a process that is not a child of this one still runs."""

from __future__ import annotations

import psutil


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
