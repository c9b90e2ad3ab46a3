"""Hear that runs ended: receives run numbers, hands on an event per waiter. One connection for all of them.

A word may get lost (a cut connection, a pooler that cannot LISTEN): whoever waits asks again now and then.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from stepwell.store.listen import Listener, WakeReason

CHANNEL = "stepwell_ended"
LISTEN_SECONDS = 3600.0
# Words that came before anybody here waited for them: a run may be over before its start has come back.
EARLY_LIMIT = 1000


class Ends:
    """Listens from the first waiter on until it is closed."""

    def __init__(self, conninfo: str) -> None:
        self._listener = Listener(conninfo, [CHANNEL])
        self._waiting: defaultdict[int, set[asyncio.Event]] = defaultdict(set)
        self._early: deque[int] = deque(maxlen=EARLY_LIMIT)
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
    def expecting(self, run_id: int) -> Iterator[asyncio.Event]:
        """The event is set when the run has ended, or may have."""
        told = asyncio.Event()
        if run_id in self._early:
            told.set()
        self._waiting[run_id].add(told)
        try:
            yield told
        finally:
            waiting = self._waiting[run_id]
            waiting.discard(told)
            if not waiting:
                del self._waiting[run_id]

    async def _listen(self) -> None:
        while True:
            wake = await self._listener.wait(LISTEN_SECONDS)
            if wake.reason is WakeReason.CONNECTED:
                ended = list(self._waiting)
            else:
                ended = [int(payload) for _, payload in wake.payloads]
                self._has_heard = self._has_heard or bool(ended)
            for run_id in ended:
                if run_id not in self._waiting:
                    self._early.append(run_id)
                for told in self._waiting.get(run_id, ()):
                    told.set()
