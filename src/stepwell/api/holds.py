"""Incident holds over HTTP: receives what is held, returns holds, reach and evidence; opens and releases."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from stepwell.api.accepted import Body
from stepwell.api.caller import BoundCaller, Caller, RunNumber
from stepwell.api.pages import Cursor, Limit, Page, page_of, seek
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Shown
from stepwell.errors import NotFound
from stepwell.store.calls import holds as calls

router = Resource("holds")

Kind = Literal["operation", "connector", "workflow", "tenant", "person"]
Value = Annotated[str, Field(min_length=1, max_length=500)]
Reason = Annotated[str, Field(min_length=1, max_length=2000)]


class Reach(BaseModel):
    """What a hold stops, counted when it was asked for."""

    runs: int
    steps: int
    jobs: int
    working: int = Field(description="handlers that work now: they go on until they act or end")
    people: int = Field(description="steps that people could do now")
    clocks: int = Field(description="open deadlines")
    is_more: bool = Field(description="there is more than was counted")
    operations: list[str] = Field(default=[], description="that the hold names")


class HoldOutcome(BaseModel):
    held_seconds: float
    clocks: int
    denied: int = Field(description="actions that it denied")


class HoldView(Shown):
    """Work that stands still. Open while `released_at` is null."""

    hold_id: Id
    scope_kind: str = Field(description="operation, connector, workflow, tenant or person")
    scope_value: str
    reason: str
    share: int = Field(description="so many of a hundred runs go on: 0, 10, 50 or 100")
    hold_state: str = Field(description="open, released or ended")
    opened_at: datetime
    opened_by: str
    opened_event_id: Id
    graded_at: datetime | None
    graded_by: str | None
    released_at: datetime | None
    released_by: str | None
    released_event_id: Id | None
    ended_at: datetime | None = Field(description="when everything went on and every clock was moved")
    reach: Reach
    outcome: HoldOutcome | None
    held_count: int = Field(description="units that wait beside the queue now")
    stopped_count: int = Field(description="clocks that stand still now")
    moved_count: int = Field(description="clocks that go on again")
    has_evidence: bool = Field(description="its evidence file was made")


class HoldWish(Body):
    scope_kind: Kind
    scope_value: Value = Field(examples=["bank"])
    reason: Reason = Field(examples=["the bank answers with errors"])


class OpenedHold(BaseModel):
    hold_id: str
    is_new: bool = Field(description="false: this hold was open already")


class ReleaseWish(Body):
    share: Literal[10, 50, 100] = Field(description="so many of a hundred runs go on; 100 releases the hold")
    reason: Reason = Field(examples=["the bank is back"])


@router.read("/holds", summary="Incident holds, the newest first", problems=())
async def list_holds(
    caller: Caller,
    ended: Annotated[bool, Query(description="also those that were released")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[HoldView]:
    after = seek(cursor, "holds", int)
    found = await caller.perform(
        calls.holds(
            caller.tenant_id, with_ended=ended, limit=limit + 1, after=None if after is None else after[0]
        )
    )
    return page_of(found, limit, HoldView.model_validate, lambda one: [one.hold_id], "holds")


@router.read("/holds/reach", summary="What a hold would stop now")
async def show_hold_reach(
    caller: Caller,
    scope_kind: Kind,
    scope_value: Annotated[str, Query(min_length=1, max_length=500)],
) -> Reach:
    return Reach.model_validate(await caller.perform(calls.reach(caller.tenant_id, scope_kind, scope_value)))


@router.write(
    "/holds",
    verb="hold.open",
    status=201,
    summary="Open a hold: matching work stands still",
    problems=("not_found", "limit_exceeded"),
)
async def open_hold(wish: HoldWish, caller: Caller) -> OpenedHold:
    call = calls.open_hold(caller.tenant_id, wish.scope_kind, wish.scope_value, wish.reason, caller.actor)
    return OpenedHold.model_validate(await caller.perform(call))


@router.read("/holds/{hold_id}", summary="One hold, and what it stops now")
async def show_hold(hold_id: RunNumber, caller: Caller) -> HoldView:
    return HoldView.model_validate(await _hold(caller, hold_id))


@router.write(
    "/holds/{hold_id}/release",
    verb="hold.release",
    summary="Let a share of what a hold stops go on",
    problems=("not_found", "conflict"),
)
async def release_hold(hold_id: RunNumber, wish: ReleaseWish, caller: Caller) -> HoldView:
    await caller.perform(calls.release(caller.tenant_id, hold_id, wish.share, wish.reason, caller.actor))
    return HoldView.model_validate(await _hold(caller, hold_id))


@router.read("/holds/{hold_id}/evidence", summary="The evidence file of a hold, or what there is so far")
async def show_hold_evidence(hold_id: RunNumber, caller: Caller) -> dict[str, Any]:
    return await caller.perform(calls.evidence(caller.tenant_id, hold_id))


async def _hold(caller: BoundCaller, hold_id: int) -> calls.Hold:
    found = await caller.perform(calls.hold(caller.tenant_id, hold_id))
    if found is None:
        raise NotFound(f"hold {hold_id} does not exist", field="hold_id")
    return found
