"""Run coroutines for blocking code: receives a coroutine, blocks until it has ended, returns its result.

It uses one event loop in one thread, which is started on demand; `close` cancels and awaits all open tasks.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Portal:
    """A separate event loop in a separate thread, from the first coroutine until `close`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_open(self) -> bool:
        return self._loop is not None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return run_on(self._opened(), coroutine)

    def close(self) -> None:
        """End the loop and its thread. Tasks that still run are cancelled and awaited."""
        with self._lock:
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        if loop is None or thread is None:
            return
        run_on(loop, _settle())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def _opened(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon, because a program may end without `close`; then `SyncApp` closes it at exit.
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="stepwell-portal", daemon=True
                )
                self._thread.start()
            return self._loop


def run_on(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of another thread; an interrupt in this thread cancels it."""
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def _settle() -> None:
    loop = asyncio.get_running_loop()
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_asyncgens()
