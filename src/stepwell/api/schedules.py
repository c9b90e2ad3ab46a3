"""Schedules: receives a name, a workflow and cron, returns schedules and their next times."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import Field

from stepwell.api.accepted import Body
from stepwell.api.caller import Caller
from stepwell.api.calls import calls_of
from stepwell.api.resource import Resource
from stepwell.api.shown import Shown
from stepwell.schedules import TIMES_LIMIT, Misfire

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


class ScheduleChange(Body):
    workflow: str = Field(min_length=1, max_length=200, examples=["order.process"])
    cron: str = Field(min_length=1, max_length=200, examples=["0 3 * * *"])
    time_zone: str = Field(default="UTC", max_length=100, examples=["Asia/Ho_Chi_Minh"])
    input: dict[str, Any] = Field(default_factory=dict, examples=[{"region": "north"}])
    misfire: Misfire = Field(default="latest", description="which missed times start a run")
    backfill_limit: int = Field(default=100, ge=1, le=10_000, examples=[100])


@router.read("/schedules", summary="Schedules, by name", problems=())
async def list_schedules(caller: Caller) -> list[ScheduleView]:
    return [ScheduleView.model_validate(one) for one in await calls_of(caller).schedules()]


@router.read("/schedules/{name}", summary="One schedule")
async def show_schedule(name: ScheduleName, caller: Caller) -> ScheduleView:
    return ScheduleView.model_validate(await calls_of(caller).schedule(name))


@router.read("/schedules/{name}/times", summary="The next times of a schedule")
async def list_times(
    name: ScheduleName, caller: Caller, count: Annotated[int, Query(ge=1, le=TIMES_LIMIT)] = 5
) -> list[datetime]:
    return await calls_of(caller).schedule_times(name, count)


@router.write(
    "/schedules/{name}", method="PUT", verb="workflow.publish", summary="Create or change a schedule"
)
async def set_schedule(name: ScheduleName, change: ScheduleChange, caller: Caller) -> ScheduleView:
    made = await calls_of(caller).schedule_set(
        name, change.workflow, change.cron, time_zone=change.time_zone, input=change.input,
        misfire=change.misfire, backfill_limit=change.backfill_limit,
    )  # fmt: skip
    return ScheduleView.model_validate(made)


@router.write("/schedules/{name}/pause", verb="workflow.publish", summary="Start no runs until it is resumed")
async def pause_schedule(name: ScheduleName, caller: Caller) -> ScheduleView:
    await calls_of(caller).schedule_pause(name)
    return await show_schedule(name, caller)


@router.write("/schedules/{name}/resume", verb="workflow.publish", summary="Continue from the next time")
async def resume_schedule(name: ScheduleName, caller: Caller) -> ScheduleView:
    await calls_of(caller).schedule_resume(name)
    return await show_schedule(name, caller)


@router.write(
    "/schedules/{name}", method="DELETE", status=204, verb="workflow.publish", summary="Delete a schedule"
)
async def delete_schedule(name: ScheduleName, caller: Caller) -> None:
    await calls_of(caller).schedule_delete(name)
