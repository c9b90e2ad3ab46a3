"""Notify waiters in this process that runs ended or changed: receives run numbers, wakes each waiter.

One connection listens for all waiters. A notification may be lost (a lost connection, a pooler without
LISTEN), so each waiter also polls. A worker in the same process notifies earlier and with the outcome,
because it knows the outcome of a run that its report ended.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from stepwell.store.connection.listen import Listener, WakeReason

ENDED = "stepwell_ended"
CHANGED = "stepwell_changed"
LISTEN_SECONDS = 3600.0
# How many ended runs are remembered that had no waiter: a run may end before the answer to its start arrives.
EARLY_LIMIT = 1000


Outcome = tuple[str, Any]


class RunEnd:
    """One waiter: which of its runs have ended or may have ended, and the outcome if it is known."""

    def __init__(self) -> None:
        self._told = asyncio.Event()
        self._outcomes: dict[int, Outcome | None] = {}

    def say(self, run_id: int, outcome: Outcome | None) -> None:
        self._outcomes[run_id] = outcome or self._outcomes.get(run_id)
        self._told.set()

    def outcome(self, run_id: int) -> Outcome | None:
        return self._outcomes.get(run_id)

    def take(self) -> dict[int, Outcome | None]:
        """Run → outcome or None, since the last call."""
        told, self._outcomes = self._outcomes, {}
        return told

    async def wait(self, limit_seconds: float) -> bool:
        """Wait for a notification or the limit; true if a notification came."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_seconds):
                await self._told.wait()
        was_told = self._told.is_set()
        self._told.clear()
        return was_told


class RunEnds:
    """All waiters. It listens from the first waiter until `close`."""

    def __init__(self, conninfo: str) -> None:
        self._listener = Listener(conninfo, [ENDED, CHANGED])
        self._waiting: defaultdict[int, set[RunEnd]] = defaultdict(set)
        self._following: defaultdict[int, set[RunEnd]] = defaultdict(set)
        # Ended runs without a waiter, in order of arrival; the oldest is removed first.
        self._early: dict[int, None] = {}
        self._beginning = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._has_heard = False

    @property
    def is_heard(self) -> bool:
        """True if notifications arrive: one has arrived, and the connection is open."""
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
    def expecting(self, *run_ids: int) -> Iterator[RunEnd]:
        """A waiter that is woken when one of the runs has ended or may have ended."""
        end = RunEnd()
        for run_id in self._early.keys() & set(run_ids):
            end.say(run_id, None)
        with _registered(self._waiting, run_ids, end):
            yield end

    @contextmanager
    def following(self, run_id: int) -> Iterator[RunEnd]:
        """A waiter that is woken when the run has changed or may have changed."""
        with _registered(self._following, (run_id,), RunEnd()) as end:
            yield end

    def tell(self, run_id: int, outcome: Outcome | None = None) -> None:
        """Wake the waiters of an ended run; `outcome` is state and result, if known."""
        self._tell_followers(run_id)
        waiting = self._waiting.get(run_id)
        if waiting is None:
            # Do not store the outcome: results may be large, and most of these runs get no waiter.
            self._early[run_id] = None
            if len(self._early) > EARLY_LIMIT:
                del self._early[next(iter(self._early))]
            return
        for end in waiting:
            end.say(run_id, outcome)

    def _tell_followers(self, run_id: int) -> None:
        for end in self._following.get(run_id, ()):
            end.say(run_id, None)

    async def _listen(self) -> None:
        while True:
            wake = await self._listener.wait(LISTEN_SECONDS)
            if wake.reason is WakeReason.CONNECTED:
                ended, changed = list(self._waiting), list(self._following)
            else:
                ended = [int(payload) for channel, payload in wake.payloads if channel == ENDED]
                changed = [int(payload) for channel, payload in wake.payloads if channel == CHANGED]
                self._has_heard = self._has_heard or bool(ended)
            for run_id in ended:
                self.tell(run_id)
            for run_id in changed:
                self._tell_followers(run_id)


@contextmanager
def _registered(
    registry: defaultdict[int, set[RunEnd]], run_ids: Sequence[int], end: RunEnd
) -> Iterator[RunEnd]:
    for run_id in run_ids:
        registry[run_id].add(end)
    try:
        yield end
    finally:
        for run_id in run_ids:
            registry[run_id].discard(end)
            if not registry[run_id]:
                del registry[run_id]
