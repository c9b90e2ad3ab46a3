"""What handlers ask about their actions: receives calls, sends those that wait together in one round trip.

Each call stays a transaction of its own; a round trip waits for the disk once. A call that fails is asked
again by itself, where its error is told apart and its patience is its own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from stepwell.errors import StepwellError
from stepwell.store.connection.call import Call
from stepwell.store.connection.together import Failed, Together

T = TypeVar("T")

# Connections that are open at most; each has one round trip under way.
LINE_LIMIT: Final = 4
# Calls of one round trip: a slow one among them delays so many others.
TOGETHER_LIMIT: Final = 16

Alone = Callable[[Call[Any], bool], Awaitable[Any]]


@dataclass(eq=False, slots=True)
class _Waiting:
    call: Call[Any]
    is_limited: bool
    # None as answer: it has to be asked alone.
    answered: asyncio.Future[tuple[Any] | None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def settle(self, answer: Any) -> None:
        if not self.answered.done():
            self.answered.set_result((answer,))

    def leave(self) -> None:
        if not self.answered.done():
            self.answered.set_result(None)


class ActionCalls:
    """`alone` performs one call by itself."""

    def __init__(self, conninfo: str, alone: Alone) -> None:
        self._conninfo = conninfo
        self._alone = alone
        self._waiting: deque[_Waiting] = deque()
        self._idle: list[Together] = []
        self._trips: set[asyncio.Task[None]] = set()

    async def perform(self, call: Call[T], *, is_limited: bool) -> T:
        mine = _Waiting(call, is_limited)
        self._waiting.append(mine)
        if len(self._trips) < LINE_LIMIT:
            self._trips.add(asyncio.create_task(self._travel()))
        answer = await mine.answered
        found: T = await self._alone(call, is_limited) if answer is None else answer[0]
        return found

    async def close(self) -> None:
        trips = list(self._trips)
        for trip in trips:
            trip.cancel()
        await asyncio.gather(*trips, return_exceptions=True)
        for one in self._waiting:
            one.leave()
        for line in self._idle:
            await line.close()
        self._idle.clear()

    async def _travel(self) -> None:
        """Round trips on one connection, until nothing waits."""
        line: Together | None = None
        together: list[_Waiting] = []
        try:
            while together := self._next():
                try:
                    line = line or (self._idle.pop() if self._idle else await Together.open(self._conninfo))
                    answers = await line.each([(one.call, one.is_limited) for one in together])
                except StepwellError:
                    # Nobody knows what of it was done; each of these calls may be repeated.
                    lost, line = line, None
                    if lost is not None:
                        await lost.close()
                    answers = []
                for one, answer in zip(together, answers, strict=False):
                    if not isinstance(answer, Failed):
                        one.settle(answer)
                for one in together:
                    one.leave()
            if line is not None:
                self._idle.append(line)
                line = None
        finally:
            for one in together:
                one.leave()
            if line is not None:
                await line.close()
            task = asyncio.current_task()
            assert task is not None
            self._trips.discard(task)

    def _next(self) -> list[_Waiting]:
        together: list[_Waiting] = []
        while self._waiting and len(together) < TOGETHER_LIMIT:
            one = self._waiting.popleft()
            # A handler that was ended does not wait any more.
            if not one.answered.done():
                together.append(one)
        return together
