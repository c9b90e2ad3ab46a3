"""Schedules: receives a name, a workflow and cron, returns schedules and their next times."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, Field

from stepwell.api.caller import BoundCaller, Caller
from stepwell.api.resource import Resource
from stepwell.api.shown import Shown
from stepwell.define import cron as reading
from stepwell.errors import NotFound
from stepwell.schedules import TIMES_LIMIT, Misfire
from stepwell.store.calls import keep, words
from stepwell.store.calls import schedules as calls

router = Resource("schedules")

ScheduleName = Annotated[str, Path(min_length=1, max_length=200)]


class ScheduleView(Shown):
    name: str
    workflow: str
    cron: str = Field(examples=["0 3 * * *"])
    time_zone: str
    input: dict[str, Any] | None = Field(description="null without the right to read payloads")
    misfire: str
    backfill_limit: int
    is_paused: bool
    next_at: datetime | None
    last_at: datetime | None
    created_at: datetime
    created_by: str


class ScheduleChange(BaseModel):
    workflow: str = Field(min_length=1, max_length=200)
    cron: str = Field(min_length=1, max_length=200, examples=["0 3 * * *"])
    time_zone: str = Field(default="UTC", max_length=100, examples=["Asia/Ho_Chi_Minh"])
    input: dict[str, Any] = Field(default_factory=dict)
    misfire: Misfire = Field(default="latest", description="which missed times start a run")
    backfill_limit: int = Field(default=100, ge=1, le=10_000)


@router.read("/schedules", summary="Schedules, by name", problems=())
async def list_schedules(caller: Caller) -> list[ScheduleView]:
    found = await caller.perform(calls.list_schedules(caller.tenant_id))
    return [ScheduleView.model_validate(one) for one in found]


@router.read("/schedules/{name}", summary="One schedule")
async def show_schedule(name: ScheduleName, caller: Caller) -> ScheduleView:
    return ScheduleView.model_validate(await _schedule(caller, name))


@router.read("/schedules/{name}/times", summary="The next times of a schedule")
async def list_times(
    name: ScheduleName, caller: Caller, count: Annotated[int, Query(ge=1, le=TIMES_LIMIT)] = 5
) -> list[datetime]:
    found = await _schedule(caller, name)
    now = await caller.perform(keep.database_now())
    return reading.next_times(found.cron, found.time_zone, now, count)


@router.write(
    "/schedules/{name}", method="PUT", verb="workflow.publish", summary="Create or change a schedule"
)
async def set_schedule(name: ScheduleName, change: ScheduleChange, caller: Caller) -> ScheduleView:
    reading.check(change.cron, change.time_zone)
    now = await caller.perform(keep.database_now())
    ahead = reading.next_times(change.cron, change.time_zone, now, 1)
    await caller.perform(
        calls.set_schedule(
            caller.tenant_id, name, change.workflow, cron=change.cron, time_zone=change.time_zone,
            input=change.input, misfire=change.misfire, backfill_limit=change.backfill_limit,
            next_at=ahead[0] if ahead else reading.NEVER, actor=caller.actor,
        )  # fmt: skip
    )
    return await show_schedule(name, caller)


@router.write("/schedules/{name}/pause", verb="workflow.publish", summary="Start no runs until it is resumed")
async def pause_schedule(name: ScheduleName, caller: Caller) -> ScheduleView:
    await caller.perform(calls.pause_schedule(caller.tenant_id, name, is_paused=True))
    return await show_schedule(name, caller)


@router.write("/schedules/{name}/resume", verb="workflow.publish", summary="Continue from the next time")
async def resume_schedule(name: ScheduleName, caller: Caller) -> ScheduleView:
    await caller.perform(calls.pause_schedule(caller.tenant_id, name, is_paused=False))
    return await show_schedule(name, caller)


@router.write(
    "/schedules/{name}", method="DELETE", status=204, verb="workflow.publish", summary="Delete a schedule"
)
async def delete_schedule(name: ScheduleName, caller: Caller) -> None:
    await caller.perform(calls.delete_schedule(caller.tenant_id, name))


async def _schedule(caller: BoundCaller, name: str) -> calls.Schedule:
    found = await caller.perform(calls.list_schedules(caller.tenant_id, name))
    if not found:
        hint = await caller.perform(words.suggestion(caller.tenant_id, "schedule", name))
        raise NotFound(f"schedule {name} does not exist", hint=hint, field="name")
    return found[0]
