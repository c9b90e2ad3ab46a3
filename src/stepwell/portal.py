"""Call async methods from ordinary code: receives an object, hands on a view of it whose methods block.

One event loop in one thread serves all callers; there is one implementation of everything.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any


class Portal:
    """`portal.method(…)` runs `await target.method(…)` on the portal's loop and returns its result."""

    def __init__(self, target: object) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stepwell-portal", daemon=True)
        self._thread.start()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not inspect.iscoroutinefunction(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            result = asyncio.run_coroutine_threadsafe(found(*args, **kwargs), self._loop).result()
            return self._wrap(result)

        return call

    def _wrap(self, result: Any) -> Any:
        """Handles come back with blocking methods too."""
        if isinstance(result, list):
            return [self._wrap(item) for item in result]
        if getattr(type(result), "is_handle", False):
            return _Blocking(result, self._loop)
        return result


class _Blocking:
    def __init__(self, target: object, loop: asyncio.AbstractEventLoop) -> None:
        self._target = target
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not inspect.iscoroutinefunction(found):
            return found
        return lambda *args, **kwargs: asyncio.run_coroutine_threadsafe(
            found(*args, **kwargs), self._loop
        ).result()
