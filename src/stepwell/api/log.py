"""The log of a tenant: receives a trace, a run or another filter, returns events, the newest first.

There is no raw stream: a call without a filter is refused, and the way from an event to more of them is its
trace.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from stepwell.api.accepted import Moment
from stepwell.api.caller import NUMBER_LIMIT, Caller
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
    workflow: str | None
    step_id: str | None
    trace_id: str | None
    correlation_id: str | None


@router.read("/events", summary="Events of a trace, a run, a unit or an actor, the newest first", problems=())
async def list_events(
    caller: Caller,
    trace: Annotated[
        str | None, Query(pattern=r"^[0-9a-f]{32}$", description="events of its runs and jobs, and its own")
    ] = None,
    run: Annotated[int | None, Query(ge=1, lt=NUMBER_LIMIT >> 20)] = None,
    unit: Annotated[int | None, Query(ge=1, lt=NUMBER_LIMIT)] = None,
    type: Annotated[
        list[Annotated[str, Field(max_length=200)]] | None,
        Query(max_length=50, description="types of events"),
    ] = None,
    actor: Annotated[str | None, Query(max_length=200)] = None,
    from_at: Annotated[Moment | None, Query()] = None,
    until_at: Annotated[Moment | None, Query()] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[LogEventView]:
    """One of trace, run, unit, actor or types that not every step writes is required.

    A page may be short, or empty, and have a next page: a search reads so many events at most.
    """
    before = seek(cursor, "events", int, int)
    found = await caller.perform(
        events.find_events(
            caller.tenant_id,
            trace=trace,
            run_id=run,
            unit_id=unit,
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
