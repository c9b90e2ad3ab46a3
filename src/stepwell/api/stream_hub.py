"""Keep the open streams of this server process: receives callers and topics, returns their messages.

Each tenant with open streams has a feed, one for those who see the events of handlers and one for the others,
one for each reader from whom steps are hidden, and one task that reads for it; without streams nothing is
read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from typing import TYPE_CHECKING, Any, Final

from fastapi.sse import format_sse_event

from stepwell import logs
from stepwell.api import stream_feed
from stepwell.api.problems import ProblemError
from stepwell.api.stream_feed import Feed, Subscriber
from stepwell.api.stream_messages import Topics, ended
from stepwell.errors import PermissionDenied, ServerBusy, StepwellError

if TYPE_CHECKING:
    from stepwell.api.serving import Serving

BEAT_SECONDS = 15.0
_BEAT: Final = format_sse_event(comment="beat")

_log = logs.get_logger("stepwell.api")


# The tenant, what its readers may see, and the token of a reader that does not see all steps.
FeedKey = tuple[int, int, str]


class Hub:
    """The feeds of a process. `stop` ends all streams."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._feeds: dict[FeedKey, tuple[Feed, asyncio.Task[None]]] = {}
        self._is_stopping = False

    @property
    def stream_count(self) -> int:
        return sum(len(feed.subscribers) for feed, _ in self._feeds.values())

    def check_room(self, key: FeedKey, token: str) -> None:
        """Refuse one stream too many of the process, or of a caller."""
        joining = sum(feed.joining.total() for feed, _ in self._feeds.values())
        if self._is_stopping or self.stream_count + joining >= stream_feed.STREAMS_LIMIT:
            raise ServerBusy("this server process has too many open streams")
        feed, _ = self._feeds.get(key, (None, None))
        open_count = feed.count(token) if feed is not None else 0
        if open_count >= stream_feed.STREAMS_PER_CALLER:
            raise ProblemError(
                "too_many_requests",
                f"this caller has {open_count} open streams",
                hint="close one first; a page needs one stream for all its topics",
                retry_after_seconds=5,
            )

    async def messages(
        self, key: FeedKey, token: str, topics: Topics, after: str | None
    ) -> AsyncIterator[bytes]:
        """What the stream sends until it ends. However it ends, the stream is forgotten."""
        feed = self._feed(key)
        subscriber = None
        try:
            try:
                self.check_room(key, token)
                subscriber = await _whole(feed, feed.join(token, topics, after))
            except (StepwellError, ProblemError) as error:
                _log.warning("a stream could not begin", tenant=key[0], error=str(error))
                yield ended(after or "", "not_now")
                return
            while True:
                if subscriber.waits:
                    yield subscriber.take()
                elif subscriber.end is not None:
                    yield ended(subscriber.sent, subscriber.end)
                    return
                elif not await _changes(subscriber):
                    yield _BEAT
        finally:
            self._forget(key, subscriber)

    def stop(self) -> None:
        self._is_stopping = True
        for feed, _ in self._feeds.values():
            for one in list(feed.subscribers):
                one.close("server_stops")

    async def close(self) -> None:
        self.stop()
        for feed, _ in self._feeds.values():
            feed.left.set()
        await asyncio.gather(*(task for _, task in self._feeds.values()), return_exceptions=True)
        self._feeds.clear()

    def _feed(self, key: FeedKey) -> Feed:
        if key not in self._feeds:
            feed = Feed(self._serving, *key[:2])
            self._feeds[key] = feed, asyncio.create_task(self._run(feed))
        return self._feeds[key][0]

    def _forget(self, key: FeedKey, subscriber: Subscriber | None) -> None:
        if key not in self._feeds:
            return
        feed, _ = self._feeds[key]
        if subscriber is not None:
            feed.subscribers.discard(subscriber)
        if feed.is_empty:
            del self._feeds[key]
            # It ends by itself: a statement that is cut would cost its connection.
            feed.left.set()

    async def _run(self, feed: Feed) -> None:
        """Read for one tenant until its last stream ends. A failure delays the streams, and loses nothing."""
        rights_at = workers_at = now = time.monotonic()
        while not await _is_set(feed.left, stream_feed.pause(time.monotonic() - now)):
            now = time.monotonic()
            try:
                if now >= rights_at:
                    rights_at = now + stream_feed.RIGHTS_SECONDS
                    await feed.check_rights()
                await feed.tick()
                if now >= workers_at:
                    workers_at = now + stream_feed.WORKERS_SECONDS
                    await feed.tell_workers()
            except PermissionDenied:
                # The token that was read with has ended just now.
                rights_at = now
            except StepwellError as error:
                _log.warning("a stream could not be read", tenant=feed.tenant_id, error=error.sentence())


async def _whole(feed: Feed, joining: Coroutine[Any, Any, Subscriber]) -> Subscriber:
    """Join to the end, also if the page is gone meanwhile: a statement is not cut."""
    task = asyncio.create_task(joining)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(lambda done: _drop(feed, done))
        raise


def _drop(feed: Feed, done: asyncio.Task[Subscriber]) -> None:
    if not done.cancelled() and done.exception() is None:
        feed.subscribers.discard(done.result())


async def _changes(subscriber: Subscriber) -> bool:
    """Wait for something to send; False after a time of silence."""
    subscriber.changed.clear()
    return await _is_set(subscriber.changed, BEAT_SECONDS)


async def _is_set(event: asyncio.Event, limit_seconds: float) -> bool:
    try:
        async with asyncio.timeout(limit_seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
