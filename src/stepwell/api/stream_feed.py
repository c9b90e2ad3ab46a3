"""Read the log for the open streams of this process: receives topics, returns messages to each stream.

One feed for each tenant reads what is new, a few times a second, whatever the number of streams. A message
is written once for all streams with the same topics. Nothing is notified: writers pay nothing for streams.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

from fastapi.sse import format_sse_event

from stepwell.api.stream_messages import (
    RIGHTS_TYPES,
    Message,
    Page,
    Topics,
    as_text,
    asked_by,
    changed_units,
    messages,
    reset,
)
from stepwell.api.stream_position import Seen, last_seen
from stepwell.store.calls import live, requests
from stepwell.store.calls.live import Asked, NewEvents
from stepwell.store.connection.bound import BoundTransaction
from stepwell.store.connection.call import Call

if TYPE_CHECKING:
    from stepwell.api.serving import Serving

T = TypeVar("T")

TICK_SECONDS = 0.2
# Reading takes at most so much of the time, as long as the streams are not later than this.
READING_SHARE = 0.04
TICK_SECONDS_LIMIT = 2.0
RIGHTS_SECONDS = 5.0
WORKERS_SECONDS = 2.0
# A stream that is so far behind is closed; it continues from its last position.
MESSAGES_LIMIT = 1_000
BYTES_LIMIT = 4_000_000
# So many answers to streams that begin are kept for others that begin at the same position.
CAUGHT_UP_LIMIT = 4
STREAMS_LIMIT = 4_000
STREAMS_PER_CALLER = 64

ONE_SNAPSHOT: Final = "begin isolation level repeatable read read only"


@dataclass(eq=False)
class Subscriber:
    """One open stream: its messages that are not sent yet."""

    token: str
    topics: Topics
    # Everything up to here is sent or waits.
    position: str
    # Everything up to here is sent.
    sent: str
    # What happened before the stream began; how much that is has a limit of its own (limits.events_behind).
    first: deque[Message] = field(default_factory=deque)
    messages: deque[Message] = field(default_factory=deque)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    waiting_bytes: int = 0
    # Why the stream ends; None while it is open.
    end: str | None = None
    # What happened before the stream began is being read, and is not in `first` yet.
    is_behind: bool = True

    @property
    def waits(self) -> bool:
        return bool(self.first or self.messages)

    def put(self, message: Message) -> None:
        if self.end is not None:
            return
        self.messages.append(message)
        self.waiting_bytes += len(message.data)
        if len(self.messages) > MESSAGES_LIMIT or self.waiting_bytes > BYTES_LIMIT:
            self.close("slow_reader")
        self.changed.set()

    def take(self) -> bytes:
        """The next message."""
        if self.first:
            found = self.first.popleft()
        else:
            found = self.messages.popleft()
            self.waiting_bytes -= len(found.data)
        if found.position is not None:
            self.sent = found.position
        return found.data

    def close(self, reason: str) -> None:
        """End the stream. What waits is not sent; the stream can continue after what was sent."""
        if self.end is None:
            self.end = reason
            if not self.waits and not self.is_behind:
                self.sent = self.position
            self.first.clear()
            self.messages.clear()
            self.waiting_bytes = 0
        self.changed.set()


def pause(spent: float) -> float:
    """Seconds until the next read: the more there is to read, the more is read together."""
    return min(max(spent / READING_SHARE, TICK_SECONDS), TICK_SECONDS_LIMIT)


class Feed:
    """The streams of one tenant that may see the same, and the one reader for all of them."""

    def __init__(self, serving: Serving, tenant_id: int, reads: int) -> None:
        self._serving = serving
        self.tenant_id, self._reads = tenant_id, reads
        self.subscribers: set[Subscriber] = set()
        self._position: str | None = None
        self._reading = asyncio.Lock()
        # The tokens of streams that are about to join; the feed stays for them.
        self.joining: Counter[str] = Counter()
        # Set when the last stream has left.
        self.left = asyncio.Event()
        self._catching = asyncio.Lock()
        self._caught_up: dict[tuple[Topics, str, str], Sequence[Message]] = {}
        self._told: WeakKeyDictionary[Subscriber, tuple[int, int, int]] = WeakKeyDictionary()

    @property
    def is_empty(self) -> bool:
        return not self.subscribers and not self.joining

    def count(self, token: str) -> int:
        """The streams of a caller, also those that are about to join."""
        return self.joining[token] + sum(one.token == token for one in self.subscribers)

    def join(self, token: str, topics: Topics, after: str | None) -> Coroutine[Any, Any, Subscriber]:
        """A new stream. Its first messages are what happened between its position and that of the feed.

        It is counted before anything is awaited, so that many at the same time do not pass the limits.
        """
        self.joining[token] += 1
        return self._join(token, topics, after)

    async def _join(self, token: str, topics: Topics, after: str | None) -> Subscriber:
        try:
            subscriber, reached, is_ahead = await self._register(token, topics, after)
        finally:
            self.joining[token] -= 1
            self.joining += Counter()
        try:
            await self._catch_up(subscriber, after, reached, is_ahead=is_ahead)
        except BaseException:
            self.subscribers.discard(subscriber)
            raise
        return subscriber

    async def _register(self, token: str, topics: Topics, after: str | None) -> tuple[Subscriber, str, bool]:
        """The stream, the position from which the feed reads for it, and whether its own is after that."""
        async with self._reading:
            if self._position is None:
                self._position = await self._perform(live.position(), token)
            elif after is not None and not Seen.of(self._position).covers(last_seen(after)):
                await self._read(token)
            reached = self._position
            # A position that nobody has reached is of another database, or of this one before a restore.
            is_ahead = after is not None and not Seen.of(reached).covers(last_seen(after))
            # No await between this position and the registration: the next read is for this stream too.
            subscriber = Subscriber(token, topics, reached, reached if is_ahead else after or reached)
            self.subscribers.add(subscriber)
            return subscriber, reached, is_ahead

    async def _catch_up(
        self, subscriber: Subscriber, after: str | None, reached: str, *, is_ahead: bool
    ) -> None:
        """Puts what is missing before the messages that have come meanwhile."""
        opening = format_sse_event(event="open", retry=2_000, data_str=as_text(
            {"position": subscriber.sent, "topics": list(subscriber.topics.names)}))  # fmt: skip
        missed: Sequence[Message] = ()
        if is_ahead:
            missed = [reset(reached, "unknown_position")]
        elif after is not None and after != reached:
            missed = await self._missed(subscriber, after, reached)
        subscriber.is_behind = False
        if subscriber.end is None:
            subscriber.first.extend([Message(opening), *missed])
        subscriber.changed.set()

    async def _missed(self, subscriber: Subscriber, after: str, reached: str) -> Sequence[Message]:
        """What happened between two positions. Streams that begin together share it: they are often many."""
        key = subscriber.topics, after, reached
        async with self._catching:
            if key not in self._caught_up:
                found, runs = await self._fetch(after, subscriber.topics.asked(), subscriber.token, reached)
                topics = subscriber.topics
                self._caught_up[key] = (
                    [reset(reached)] if found.is_behind else messages(topics, Page(found), after, runs)
                )
            while len(self._caught_up) > CAUGHT_UP_LIMIT:
                del self._caught_up[next(iter(self._caught_up))]
            return self._caught_up[key]

    async def tick(self) -> None:
        async with self._reading:
            if self.subscribers:
                await self._read(next(iter(self.subscribers)).token)

    async def _read(self, token: str) -> None:
        """Read what is new, and give it to the streams."""
        assert self._position is not None
        before, subscribers = self._position, list(self.subscribers)
        asked = asked_by(one.topics for one in subscribers)
        found, runs = await self._fetch(before, asked, token)
        self._position = found.reached
        if found.is_behind:
            for one in subscribers:
                one.position = found.reached
                one.put(reset(found.reached))
            return
        if not found.events:
            return
        if any(event.event_type in RIGHTS_TYPES for event in found.events):
            await self.check_rights()
        page = Page(found)
        written: dict[Topics, list[Message]] = {}
        for one in subscribers:
            if one.topics not in written:
                written[one.topics] = messages(one.topics, page, before, runs)
            for message in written[one.topics]:
                one.put(message)
            one.position = found.reached

    async def _fetch(
        self, after: str, asked: Asked, token: str, until: str | None = None
    ) -> tuple[NewEvents, dict[int, str]]:
        """New events, and the runs of them that are asked for, as they are in the same snapshot."""
        async with self._bound(token) as bound:
            found = await bound.perform(live.events_after(self.tenant_id, after, asked, until))
            units = changed_units(found.events, frozenset(asked.run_ids))
            runs = await bound.perform(live.run_changes(self.tenant_id, units)) if units else {}
        return found, runs

    async def check_rights(self) -> None:
        """Close the streams of those who may not read any more, or who see more or less now."""
        by_token: dict[str, list[Subscriber]] = {}
        for one in self.subscribers:
            by_token.setdefault(one.token, []).append(one)
        if not by_token:
            return
        tokens = list(by_token)
        found = await self._serving.perform_unbound(live.tokens_reads(tokens))
        for token, reads in zip(tokens, found, strict=True):
            for one in () if reads == self._reads else by_token[token]:
                one.close("rights_changed" if reads else "not_allowed")
                self.subscribers.discard(one)

    async def tell_workers(self) -> None:
        watching = [one for one in self.subscribers if "workers" in one.topics.names]
        if not watching:
            return
        counts = await self._perform(live.worker_counts(), watching[0].token)
        message = Message(format_sse_event(event="workers", data_str=as_text(
            dict(zip(("open", "idle", "slots"), counts, strict=True)))))  # fmt: skip
        for one in watching:
            if self._told.get(one) != counts:
                self._told[one] = counts
                one.put(message)

    async def _perform(self, call: Call[T], token: str) -> T:
        async with self._bound(token) as bound:
            return await bound.perform(call)

    @asynccontextmanager
    async def _bound(self, token: str) -> AsyncIterator[BoundTransaction[requests.Opened]]:
        """A transaction of the owner of the token. It is read only: a stream is no use of a session."""
        opening = requests.open_request(requests.Opening(token, "read"))
        async with (
            self._serving.feeding,
            BoundTransaction(self._serving.pool, opening, begin=ONE_SNAPSHOT) as bound,
        ):
            yield bound
