"""The log of a run as an iterator: receives a run, returns its events, and with `follow` waits for more.

Events are read in the order of their numbers. A transaction that commits late can add an event with a lower
number than events that were read before. So a follower knows a number below which no event can be added,
reads again from there, and remembers what it has returned after it. No event is missed, and an open
transaction delays no other event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from stepwell.errors import NotFound
from stepwell.store.calls import events as calls
from stepwell.store.calls.events import Following, RunEvent
from stepwell.store.calls.runs import RUN_ENDS

if TYPE_CHECKING:
    from stepwell.client import Client

__all__ = ["RunEvent", "follow_events", "read_events"]

# The longest time between two reads; a notification starts the next read earlier.
LOOK_SECONDS = 1.0
# Limit of the marks that are kept while a transaction stays open.
MARK_LIMIT = 1_000


async def read_events(client: Client, run_id: int, after: int = 0) -> AsyncGenerator[RunEvent, None]:
    """The events that are in the log now, in the order of their numbers."""
    await client.run_outcome(run_id)
    async for event in _pages(client, run_id, after):
        yield event


async def follow_events(client: Client, run_id: int, after: int = 0) -> AsyncGenerator[RunEvent, None]:
    """The events in the log, then new events as they come, until the run has ended."""
    tail = _Tail(after)
    await client.hear_ends()
    with client.run_ends.following(run_id) as changed:
        while True:
            standing = await client.perform(calls.follow_run(client.tenant_id, run_id))
            if standing is None:
                raise NotFound(f"run {run_id} does not exist", field="run")
            async for event in _pages(client, run_id, tail.complete_id):
                if tail.is_new(event.event_id):
                    yield event
            tail.move(standing)
            if standing.state in RUN_ENDS:
                return
            await changed.wait(LOOK_SECONDS)


async def _pages(client: Client, run_id: int, after: int) -> AsyncGenerator[RunEvent, None]:
    while True:
        call = calls.run_events(client.tenant_id, run_id, after=after, limit=calls.READ_LIMIT)
        page = await client.perform(call)
        for event in page:
            yield event
        if len(page) < calls.READ_LIMIT:
            return
        after = page[-1].event_id


class _Tail:
    """Up to which number the log is complete, and which events after it were returned."""

    def __init__(self, after: int) -> None:
        self.complete_id = after
        self._returned: set[int] = set()
        # (number, transaction): the log is complete up to the number when all older transactions have ended.
        self._marks: deque[tuple[int, int]] = deque()

    def is_new(self, event_id: int) -> bool:
        if event_id in self._returned:
            return False
        self._returned.add(event_id)
        return True

    def move(self, standing: Following) -> None:
        """Call it after reading all events that were in the log when `standing` was read."""
        moved = False
        while self._marks and self._marks[0][1] <= standing.oldest_tx:
            self.complete_id, moved = max(self._marks.popleft()[0], self.complete_id), True
        if moved:
            self._returned = {event_id for event_id in self._returned if event_id > self.complete_id}
        if len(self._marks) < MARK_LIMIT and (not self._marks or self._marks[-1][0] < standing.last_event_id):
            self._marks.append((standing.last_event_id, standing.before_tx))
