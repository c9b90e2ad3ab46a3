"""Keep the requests to start a run until a loop takes them: receives a start, returns the started run."""

from __future__ import annotations

import asyncio
from collections import deque

from stepwell.errors import StepwellError
from stepwell.store.calls.runs import RunStart, Started


class StartRequest:
    """A run to start, and the future that the caller awaits."""

    def __init__(self, start: RunStart) -> None:
        self.start = start
        self.answer: asyncio.Future[Started | None] = asyncio.get_running_loop().create_future()

    def succeed(self, started: Started | None) -> None:
        """None: nothing was started, and the caller may start the run in another way."""
        # The caller may have been cancelled in the meantime.
        if not self.answer.done():
            self.answer.set_result(started)

    def fail(self, error: StepwellError) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class StartRequests:
    """The requests in the order of their arrival."""

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
