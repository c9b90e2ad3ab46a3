"""Keep requests to start a run until a loop takes one: receives a start, answers with the started run."""

from __future__ import annotations

import asyncio
from collections import deque

from stepwell.errors import StepwellError
from stepwell.store.calls.runs import RunStart, Started


class StartRequest:
    """A run to be started here, and the caller who waits for it."""

    def __init__(self, start: RunStart) -> None:
        self.start = start
        self.answer: asyncio.Future[Started | None] = asyncio.get_running_loop().create_future()

    def succeed(self, started: Started | None) -> None:
        """None: nothing was started, and the caller may start the run another way."""
        # The caller may have gone in the meantime.
        if not self.answer.done():
            self.answer.set_result(started)

    def fail(self, error: StepwellError) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class StartRequests:
    """In the order they came."""

    def __init__(self) -> None:
        self._waiting: deque[StartRequest] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, start: RunStart) -> StartRequest:
        request = StartRequest(start)
        self._waiting.append(request)
        return request

    def take(self) -> StartRequest:
        return self._waiting.popleft()

    def close(self) -> None:
        while self._waiting:
            self.take().succeed(None)
