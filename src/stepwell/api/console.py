"""What the console shows beside its lists: receives a filter or numbers, returns counts, places and reach."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from stepwell.api.caller import NUMBER_LIMIT, Caller
from stepwell.api.pages import cursor
from stepwell.api.resource import Resource
from stepwell.api.runs import Filter
from stepwell.api.workflows import VersionNo, WorkflowName
from stepwell.store.calls import console as calls
from stepwell.store.calls import run_list

router = Resource("console")

REACH_LIMIT = 200
Change = Literal["added", "removed", "changed"]


class NavigationCounts(BaseModel):
    """How much waits for the caller; each is counted up to 1,000."""

    approvals: int = Field(description="not decided")
    inbox: int = Field(description="steps of the caller, and those that the caller may claim")
    problems: int = Field(description="open")


class RunPlaces(BaseModel):
    """Where the pages of a long list begin, so that a reader jumps to any of them."""

    count: int
    is_at_least: bool = Field(description="counting stopped at a limit: there may be more")
    every: int = Field(description="rows between two cursors")
    cursors: list[str] = Field(description="cursors[n] begins after row (n + 1) × every")


class FinalEffect(BaseModel):
    connector: str
    operation: str
    target: str
    at: datetime


class EffectReach(BaseModel):
    reversible: int
    final: int = Field(description="cannot be reversed")
    newest_final: list[FinalEffect] = Field(max_length=3)


class RefusedRun(BaseModel):
    """A run that would refuse the act now."""

    run_id: str
    kind: str = Field(description="rights, state, person or approval")
    en: str
    vi: str


class Reach(BaseModel):
    """What an act on runs would reach, at this position of the log. Nothing was written."""

    act: str
    position: str
    last_event_id: int | None
    refused: list[RefusedRun]
    runs: int
    missing: int = Field(description="numbers of no run")
    sub_runs: int = Field(description="open runs below them")
    open_steps: int
    dead_steps: int
    handlers: int = Field(description="steps that a worker carries out now")
    approvals: int = Field(description="approvals about them that are not decided")
    people: list[str] = Field(description="who is in charge of open steps")
    effects: EffectReach


class FieldChange(BaseModel):
    field: str
    before: Any
    after: Any


class StepChange(BaseModel):
    id: str
    change: Change
    no_from: int | None = Field(description="its number in the older version")
    no_to: int | None = Field(description="its number in the newer version")
    title: str | None
    kind: str
    fields: list[FieldChange]


class EdgeChange(BaseModel):
    from_: str = Field(alias="from")
    to: str
    change: Change
    before: str | None = Field(description="label of the branch")
    after: str | None


class VersionDiff(BaseModel):
    """What differs between two versions."""

    from_: int = Field(alias="from")
    to: int
    steps: list[StepChange]
    edges: list[EdgeChange]
    fields: list[FieldChange] = Field(description="of the workflow itself")


class VersionOpen(BaseModel):
    version_no: int
    open: int


class StepPlace(BaseModel):
    no: int
    state: str
    count: int


class Running(BaseModel):
    """Where the open runs of a workflow are."""

    open: int
    is_at_least: bool
    colours: dict[str, int]
    versions: list[VersionOpen]
    steps: list[StepPlace] = Field(description="of the version: steps that have begun and not ended")


@router.read("/counts", summary="How much waits for the caller", problems=())
async def read_counts(caller: Caller) -> NavigationCounts:
    return NavigationCounts.model_validate(
        await caller.perform(calls.navigation_counts(caller.tenant_id, caller.name))
    )


@router.read("/runs/places", summary="Where the pages of a list of runs begin", problems=())
async def list_run_places(
    caller: Caller, only: Filter, every: Annotated[int, Query(ge=10, le=200)] = 100
) -> RunPlaces:
    """For the same filters and order as the list of runs."""
    found = await caller.perform(run_list.places(caller.tenant_id, every=every, **only))
    return RunPlaces(
        count=found.count,
        is_at_least=found.is_at_least,
        every=every,
        cursors=[cursor("runs", [run_id]) for run_id in found.run_ids],
    )


@router.read("/runs/reach", summary="What an act on runs would reach", problems=())
async def preview_reach(
    caller: Caller,
    act: Annotated[Literal["pause", "resume", "cancel", "retry"], Query()],
    run: Annotated[
        list[Annotated[int, Field(ge=1, lt=NUMBER_LIMIT >> 20)]],
        Query(min_length=1, max_length=REACH_LIMIT, description="numbers of runs"),
    ],
) -> Reach:
    return Reach.model_validate(await caller.perform(calls.reach(caller.tenant_id, act, run)))


@router.read("/workflows/{name}/versions/{version_no}/diff", summary="What differs from another version")
async def compare_versions(
    name: WorkflowName,
    version_no: VersionNo,
    caller: Caller,
    before: Annotated[int, Query(ge=1, lt=2**31 - 1, description="the other version")],
) -> VersionDiff:
    return VersionDiff.model_validate(
        await caller.perform(calls.version_diff(caller.tenant_id, name, before, version_no))
    )


@router.read("/workflows/{name}/versions/{version_no}/running", summary="Where its open runs are")
async def read_running(name: WorkflowName, version_no: VersionNo, caller: Caller) -> Running:
    return Running.model_validate(await caller.perform(calls.running(caller.tenant_id, name, version_no)))
