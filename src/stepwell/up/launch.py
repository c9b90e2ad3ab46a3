"""Run one stepwell command as a supervised child: `python -m stepwell.up.launch <pid> <fd> <command> …`.

The child must end when its parent ends, also after SIGKILL. Linux sends the child a signal when the parent
ends. On other systems, and if the child ignores the signal, the child notices that the parent's pipe closed.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
import threading
from typing import Final

# Time for a child that lost its parent to end by itself before its whole process group is killed.
ORPHAN_GRACE_SECONDS: Final = 5.0

_PR_SET_PDEATHSIG: Final = 1


def main(arguments: list[str]) -> None:
    parent_pid, pipe_handle, *command = arguments
    os.set_inheritable(int(pipe_handle), False)
    is_signalled = _ask_for_signal()
    if os.getppid() != int(parent_pid):
        # The parent died before prctl was called.
        raise SystemExit(1)
    watch = threading.Thread(
        target=_watch, args=(int(pipe_handle), is_signalled), name="parent-watch", daemon=True
    )
    watch.start()
    sys.argv = ["stepwell", *command]
    runpy.run_module("stepwell", run_name="__main__", alter_sys=True)


def _ask_for_signal() -> bool:
    """Ask the kernel for SIGTERM when the parent's thread ends. False if the kernel cannot do it."""
    if sys.platform != "linux":
        return False
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def _watch(pipe_handle: int, is_signalled: bool) -> None:
    """Wait until the parent's end of the pipe closes, which happens only when the parent dies."""
    while os.read(pipe_handle, 1):
        pass
    if not is_signalled:
        os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(ORPHAN_GRACE_SECONDS)
    # This process leads its own process group, so this kills everything that it started too.
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
