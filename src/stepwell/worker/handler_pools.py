"""Call a function in a thread or a process: receives its arguments, returns its result.

A thread cannot be stopped. A call that is abandoned while it runs keeps its slot until it returns. So there
are never more calls than slots, even if handlers ignore their time limits.
"""

from __future__ import annotations

import asyncio
import contextvars
import fcntl
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import Any, Protocol

from stepwell import logs, present_handler
from stepwell.worker.process_progress import ProcessHandler, ProcessProgress


class SlotCalls(Protocol):
    """Take and free a slot of the worker."""

    def hold(self) -> None: ...
    def free_slot(self) -> None: ...


class HandlerPools:
    """A pool of threads and a pool of processes, each made on demand."""

    def __init__(self, slot_count: int, slots: SlotCalls) -> None:
        self._slot_count = slot_count
        self._slots = slots
        self._threads: ThreadPoolExecutor | None = None
        self._processes: ProcessPoolExecutor | None = None
        self._progress: ProcessProgress | None = None
        # Abandoned calls that still run.
        self.abandoned_count = 0

    async def in_thread(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._slot_count, thread_name_prefix="stepwell-handler")
        # Run it in a copy of the context, so that its log lines have the run too.
        context = contextvars.copy_context()
        return await self._result(self._threads.submit(context.run, call_by_name, function, arguments))

    async def in_process(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        if self._progress is None:
            self._progress = ProcessProgress(asyncio.get_running_loop())
        if self._processes is None:
            # Spawn, not fork: a fork copies locks that other threads hold, and nothing would release them.
            self._processes = ProcessPoolExecutor(
                max_workers=min(self._slot_count, os.cpu_count() or 1),
                mp_context=multiprocessing.get_context("spawn"),
                initializer=prepare_process,
                initargs=(logs.choice(), self._progress.sender),
            )
        pool = self._processes
        number = self._progress.begin(present_handler.get())
        try:
            fields = dict(logs.handler_fields())
            return await self._result(pool.submit(call_in_process, function, arguments, fields, number))
        except BrokenProcessPool:
            # A handler ended its process. The next call gets a new pool.
            if self._processes is pool:
                self._processes = None
            raise
        finally:
            self._progress.end(number)

    async def _result(self, future: Future[Any]) -> Any:
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if not future.cancel() and not future.done():
                self._abandon(future)
            raise

    def _abandon(self, future: Future[Any]) -> None:
        loop = asyncio.get_running_loop()

        def ended() -> None:
            self.abandoned_count -= 1
            self._slots.free_slot()

        def tell(_: Future[Any]) -> None:
            # This runs in the thread of the call; the worker and its loop may have ended in the meantime.
            if not loop.is_closed():
                loop.call_soon_threadsafe(ended)

        self.abandoned_count += 1
        self._slots.hold()
        future.add_done_callback(tell)

    def close(self) -> None:
        """Does not wait: it terminates the processes; a busy thread ends with this process."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        if self._processes is not None:
            children = list((getattr(self._processes, "_processes", None) or {}).values())
            self._processes.shutdown(wait=False, cancel_futures=True)
            for child in children:
                child.terminate()
        if self._progress is not None:
            self._progress.close()


def call_by_name(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    return function(**arguments)


def call_in_process(
    function: Callable[..., Any], arguments: dict[str, Any], log_fields: dict[str, Any], number: int
) -> Any:
    present_handler.enter(ProcessHandler(log_fields, _sender, number))
    return call_by_name(function, arguments)


def end_with_parent() -> None:
    """End with the worker: after a kill of the worker its processes would wait for calls for ever.

    A thread waits for the end of the pipe to the worker. While a handler computes in C without releasing the
    interpreter, no thread runs: Linux itself sends the signal then.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None, "the process of a pool has a parent"
    sentinel = parent.sentinel
    if sys.platform == "linux":
        fcntl.fcntl(sentinel, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(sentinel, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(sentinel, fcntl.F_SETFL, fcntl.fcntl(sentinel, fcntl.F_GETFL) | os.O_ASYNC)
    threading.Thread(target=_end_after, args=(sentinel,), name="stepwell-parent", daemon=True).start()


def _end_after(sentinel: int) -> None:
    connection.wait([sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


# In a process of handlers: the socket to its worker.
_sender: socket.socket | None = None


def prepare_process(log_choice: tuple[str, str] | None, sender: socket.socket) -> None:
    """Ignore Ctrl-C, which reaches the whole process group: the worker ends its processes itself."""
    global _sender
    _sender = sender
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    if log_choice is not None:
        logs.configure(*log_choice, is_service=True)
