"""The log of a tenant, and who sealed it: receives filters, returns events from the newest to the oldest.

There is no raw stream: a page is filtered, and the way from an event to more of them is its run.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import AwareDatetime, Field

from stepwell.api.caller import Caller
from stepwell.api.pages import Cursor, Limit, Page, seek
from stepwell.api.pages import cursor as cursor_of
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Shown
from stepwell.store.calls import events

router = Resource("log")


class LogEventView(Shown):
    """One event of the log; `audit_ref` names who answers for it."""

    event_id: Id
    at: datetime
    run_id: Id
    unit_id: Id
    event_type: str = Field(examples=["approval.granted"])
    from_state: str | None
    to_state: str | None
    actor_class: str
    actor: str | None
    audit_ref: str | None
    payload: Any


@router.read("/events", summary="Events, the newest first", problems=())
async def list_events(
    caller: Caller,
    type: Annotated[
        list[Annotated[str, Field(max_length=200)]] | None,
        Query(max_length=50, description="types of events"),
    ] = None,
    actor: Annotated[str | None, Query(max_length=200)] = None,
    from_at: Annotated[AwareDatetime | None, Query()] = None,
    until_at: Annotated[AwareDatetime | None, Query()] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[LogEventView]:
    """A page may be short, or empty, and have a next page: a search reads so many events at most."""
    before = seek(cursor, "events", int, int)
    found = await caller.perform(
        events.recent_events(
            caller.tenant_id,
            types=type,
            actor=actor,
            from_at=from_at,
            until_at=until_at,
            before=None if before is None else (before[0], before[1]),
            limit=limit,
        )
    )
    return Page(
        items=[LogEventView.model_validate(one) for one in found.events],
        next=None if found.before is None else cursor_of("events", found.before),
    )
