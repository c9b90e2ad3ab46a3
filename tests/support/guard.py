"""Waits until a test run ends, then ends its processes: `python -m tests.support.guard PID RUN_ID`."""

from __future__ import annotations

import contextlib
import os
import select
import sys

import psutil

from tests.support import run


def main(pid: int, run_id: str) -> None:
    await_end(pid)
    run.end(run_id)


def await_end(pid: int) -> None:
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            select.select([handle], [], [])
            os.close(handle)
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
