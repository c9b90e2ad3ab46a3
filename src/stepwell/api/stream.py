"""Stream changes to a page: receives topics and a position, returns what happens after it."""

from __future__ import annotations

import re
from typing import Annotated, Final

from fastapi import Header, Query, Request
from starlette.responses import StreamingResponse

from stepwell.api.caller import Caller
from stepwell.api.identity import identify
from stepwell.api.resource import Resource
from stepwell.api.serving import serving_of
from stepwell.api.stream_messages import Topics
from stepwell.api.stream_position import LENGTH_LIMIT, checked
from stepwell.errors import InvalidInput, NotFound
from stepwell.store.calls import live

TOPICS_LIMIT: Final = 16
NAMES: Final = ("problems", "inbox", "approvals", "workers")
_RUN: Final = re.compile(r"run:[1-9][0-9]{0,17}")

router = Resource("live")


class EventStream(StreamingResponse):
    """Messages that are written already: a route that yields would write each message again."""

    media_type = "text/event-stream"


@router.read(
    "/stream",
    summary="What happens from now on, or after a position: one stream for each page",
    problems=("not_found", "server_busy"),
    response_class=EventStream,
)
async def stream(
    request: Request,
    caller: Caller,
    topics: Annotated[
        str,
        Query(
            min_length=1,
            max_length=400,
            description=f"up to {TOPICS_LIMIT}, with commas: run:<number>, {', '.join(NAMES)}",
            examples=["run:1"],
        ),
    ],
    after: Annotated[
        str | None, Query(max_length=LENGTH_LIMIT, description="`position` of a snapshot or of a message")
    ] = None,
    last_event_id: Annotated[
        str | None, Header(max_length=LENGTH_LIMIT, description="sent by a browser that connects again")
    ] = None,
) -> EventStream:
    asked = _topics(topics)
    given = ("header.Last-Event-ID", last_event_id) if last_event_id else ("query.after", after)
    position = checked(given[1], given[0]) if given[1] else None
    found = await caller.perform(live.run_exists(caller.tenant_id, asked.run_ids))
    for run_id in asked.run_ids:
        if run_id not in found:
            raise NotFound(f"run {run_id} does not exist", field="query.topics")
    hub, token = serving_of(request).hub, identify(request).token
    reads = await caller.perform(live.reads())
    # Whoever does not see all steps shares a feed with nobody: others may not see other ones.
    key = caller.tenant_id, reads, token if reads & live.HIDES else ""
    hub.check_room(key, token)
    # The stream begins when the transaction of this request has ended, so that it holds no connection.
    return EventStream(hub.messages(key, token, asked, position), headers={"X-Accel-Buffering": "no"})


def _topics(text: str) -> Topics:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in NAMES and not _RUN.fullmatch(name):
            raise InvalidInput(
                f"{name[:60]!r} is not a topic",
                hint=f"accepted: run:<number>, {', '.join(NAMES)}",
                field="query.topics",
            )
    if not 1 <= len(names) <= TOPICS_LIMIT:
        raise InvalidInput(
            f"{len(names)} topics are given", hint=f"1 to {TOPICS_LIMIT} are accepted", field="query.topics"
        )
    return Topics(names)
