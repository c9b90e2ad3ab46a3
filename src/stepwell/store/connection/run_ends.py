"""Hear that runs ended: receives run numbers, returns a word per waiter. One connection for all of them.

A word may get lost (a cut connection, a pooler that cannot LISTEN): whoever waits asks again now and then. A
worker of the same process says more, and sooner: it knows the outcome of the run that its report ended.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from stepwell.store.connection.listen import Listener, WakeReason

CHANNEL = "stepwell_ended"
LISTEN_SECONDS = 3600.0
# Words that came before anybody here waited for them: a run may be over before its start has come back.
EARLY_LIMIT = 1000


class RunEnd:
    """What one waiter is told: that the run has ended or may have, and perhaps how."""

    def __init__(self) -> None:
        self._told = asyncio.Event()
        self.outcome: tuple[str, Any] | None = None

    def say(self, outcome: tuple[str, Any] | None) -> None:
        self.outcome = outcome or self.outcome
        self._told.set()

    async def wait(self, limit_seconds: float) -> bool:
        """Until the word comes, or the limit is reached; says whether it came."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_seconds):
                await self._told.wait()
        was_told = self._told.is_set()
        self._told.clear()
        return was_told


class RunEnds:
    """Listens from the first waiter on until it is closed."""

    def __init__(self, conninfo: str) -> None:
        self._listener = Listener(conninfo, [CHANNEL])
        self._waiting: defaultdict[int, set[RunEnd]] = defaultdict(set)
        # In the order they came; the oldest goes first.
        self._early: dict[int, None] = {}
        self._beginning = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._has_heard = False

    @property
    def is_heard(self) -> bool:
        """Words do arrive here: one did, and the connection still stands."""
        return self._has_heard and self._listener.is_connected

    async def begin(self) -> None:
        async with self._beginning:
            if self._task is None:
                await self._listener.__aenter__()
                self._task = asyncio.create_task(self._listen())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._listener.close()

    @contextmanager
    def expecting(self, run_id: int) -> Iterator[RunEnd]:
        """The word comes when the run has ended, or may have."""
        end = RunEnd()
        if run_id in self._early:
            end.say(None)
        self._waiting[run_id].add(end)
        try:
            yield end
        finally:
            waiting = self._waiting[run_id]
            waiting.discard(end)
            if not waiting:
                del self._waiting[run_id]

    def tell(self, run_id: int, outcome: tuple[str, Any] | None = None) -> None:
        """The run has ended, as `outcome` (state and result) says if it is known."""
        waiting = self._waiting.get(run_id)
        if waiting is None:
            # Without the outcome: results may be large, and most of these words are never asked for.
            self._early[run_id] = None
            if len(self._early) > EARLY_LIMIT:
                del self._early[next(iter(self._early))]
            return
        for end in waiting:
            end.say(outcome)

    async def _listen(self) -> None:
        while True:
            wake = await self._listener.wait(LISTEN_SECONDS)
            if wake.reason is WakeReason.CONNECTED:
                ended = list(self._waiting)
            else:
                ended = [int(payload) for _, payload in wake.payloads]
                self._has_heard = self._has_heard or bool(ended)
            for run_id in ended:
                self.tell(run_id)
