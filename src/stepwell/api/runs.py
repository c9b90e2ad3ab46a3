"""Start, list and show runs: receives a workflow and its input, filters or a number, returns runs.

What changes a run that exists stands in `run_control`.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from stepwell.api.accepted import Body, Moment
from stepwell.api.caller import NUMBER_LIMIT, BoundCaller, Caller, Number, RunNumber
from stepwell.api.pages import Cursor, Limit, Page, next_of, page_of, seek
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Shown, as_json
from stepwell.errors import InvalidInput, NotFound
from stepwell.store.calls import events, past, run_list, unblock, views
from stepwell.store.calls import runs as calls
from stepwell.store.calls.run_list import Colour, RunFilter, RunState

router = Resource("runs")

BATCH_LIMIT = 1_000

Name = Annotated[str, Field(min_length=1, max_length=200)]
Key = Annotated[str, Field(min_length=1, max_length=500)]
Label = Annotated[str, Field(pattern=r"^[^:]+:.+$", max_length=300, examples=["customer:Acme"])]


class RunView(Shown):
    """A run and its roll-up."""

    run_id: Id
    workflow: str = Field(examples=["order.process"])
    version_no: int
    state_code: str = Field(examples=["in_progress"])
    rollup_state_code: str = Field(description="gray, green, yellow or red")
    priority: int
    open_count: int = Field(description="steps that have not ended")
    mandatory_count: int
    completed_count: int
    skipped_count: int
    failed_count: int
    trigger_type: str = Field(description="the source of the start; the workflow itself if none was named")
    trigger_ref: str | None = Field(description="the key of the start")
    started_by: str
    parent_run_id: Id | None = Field(description="the run whose step is this sub-workflow")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    frozen_at: datetime | None = Field(description="since when a paused run keeps its colour")
    deadline_at: datetime | None
    input: dict[str, Any] | None = Field(description="null without the right to read payloads")
    labels: dict[str, str]


class RunStart(Body):
    """A run to start. A second start with the same key returns the first run."""

    workflow: Name = Field(examples=["order.process"])
    input: dict[str, Any] = Field(default_factory=dict, examples=[{"order_id": "A-1"}])
    key: Key | None = Field(default=None, examples=["A-1"])
    source: Name | None = Field(
        default=None,
        description="kind of source of the key, such as mail; without it the workflow",
        examples=["mail"],
    )
    version: int | None = Field(
        default=None, ge=1, le=2**31 - 1, description="without it the newest", examples=[3]
    )
    priority: int = Field(default=0, ge=-1000, le=1000, examples=[10])
    correlation_id: Key | None = Field(default=None, examples=["order-4711"])
    workspace: Name | None = Field(default=None, examples=["night"])
    labels: dict[str, str] = Field(default_factory=dict, max_length=16, examples=[{"customer": "Acme"}])


class BatchStart(Body):
    """Many runs of one workflow, started in one transaction."""

    workflow: Name = Field(examples=["order.process"])
    inputs: list[dict[str, Any]] = Field(
        min_length=1, max_length=BATCH_LIMIT, examples=[[{"order_id": "A-1"}, {"order_id": "A-2"}]]
    )
    keys: list[Key] | None = Field(
        default=None, max_length=BATCH_LIMIT, description="one for each input", examples=[["A-1", "A-2"]]
    )
    priority: int = Field(default=0, ge=-1000, le=1000, examples=[10])
    workspace: Name | None = Field(default=None, examples=["night"])
    labels: dict[str, str] = Field(
        default_factory=dict, max_length=16, description="of every new run", examples=[{"customer": "Acme"}]
    )


class StartedRun(Shown):
    run_id: Id
    is_new: bool = Field(description="false: a start with this key was made before")


class RunResult(BaseModel):
    state_code: str
    result: Any = Field(description="null until the run has completed, or without the right to read it")


class RunStepView(Shown):
    """A step of a run. `why_*`: why a step that has not ended is not running."""

    step_run_id: Id
    name: str = Field(
        description="id of the step; in a map with the number of the item", examples=["pack[3]"]
    )
    step_id: str
    step_kind: str
    item_no: int
    parent_id: Id | None
    state_code: str
    waiting_facet: str | None
    mandatory: bool
    operation: str | None
    role: str | None
    attempt: int = Field(description="the attempt under way, or the last one; 0 before the first")
    max_attempts: int
    next_eligible_at: datetime | None
    deadline_at: datetime | None
    last_error: dict[str, Any] | None
    progress: dict[str, Any] | None
    started_at: datetime | None
    completed_at: datetime | None
    child_run_id: Id | None
    why_code: str | None
    why_en: str | None
    why_vi: str | None
    who: str | None


class EventView(Shown):
    """One event of the log."""

    event_id: Id
    at: datetime
    unit_id: Id
    step_id: str | None = Field(description="null for an event of the run itself")
    event_type: str = Field(examples=["step.completed"])
    from_state: str | None
    to_state: str | None
    actor: str | None
    payload: Any


class WhyNotRunning(Shown):
    """The reason in two languages, and who can act."""

    unit_id: Id
    code: str = Field(description="stable name of the reason", examples=["dependency"])
    sentence_en: str
    sentence_vi: str
    who: str | None


class UnblockView(Shown):
    """One cause of a chain, what helps against it, and when it is expected to be over."""

    place: int = Field(description="1: the unit itself; the last one is the root")
    unit_id: Id
    unit_name: str = Field(examples=["sign-off"])
    code: str = Field(examples=["human"])
    sentence_en: str
    sentence_vi: str
    who: str | None = Field(examples=["role:clerk"])
    action: str | None = Field(description="the call that helps", examples=["claim"])
    target_id: Id | None = Field(description="the step, run or approval of the call")
    call_path: str | None = Field(description="path of the call under /api/v1")
    needs: list[str] | None = Field(description="fields that its body must have")
    command: str | None = Field(examples=["stepwell step claim 8.1"])
    expected_at: datetime | None = Field(description="a set time, or when the step ended in past runs")
    past_runs: int | None = Field(description="how many past runs expected_at is from")


class UnitThen(Shown):
    unit_id: Id
    scope: str
    name: str = Field(description="id of the step, in a map with the item", examples=["pack[3]"])
    state_code: str
    since_at: datetime
    event_id: Id | None = Field(description="its last event until then")


class RunThen(BaseModel):
    """A past state of a run."""

    run_id: Id
    at: str
    units: list[UnitThen]


@router.write(
    "/runs", verb="run.start", status=201, summary="Start a run", problems=("not_found", "conflict")
)
async def start_run(start: RunStart, caller: Caller) -> StartedRun:
    if start.source is not None and start.key is None:
        raise InvalidInput(
            "source needs a key", hint="give the key that the source has for this start", field="body.key"
        )
    asked = calls.run_start(
        caller.tenant_id, start.workflow, [start.input],
        trigger_refs=None if start.key is None else [start.key],
        trigger_type=start.source, actor=caller.actor, version_no=start.version, priority=start.priority,
        trace_id=caller.trace_id or None, correlation_id=start.correlation_id, workspace=start.workspace,
    )  # fmt: skip
    (started,) = await caller.perform(calls.start_runs(asked, start.labels))
    return StartedRun.model_validate(started)


@router.write(
    "/runs/batch",
    verb="run.start",
    status=201,
    summary="Start many runs in one transaction",
    problems=("not_found", "conflict"),
)
async def start_runs(start: BatchStart, caller: Caller) -> list[StartedRun]:
    if start.keys is not None and len(start.keys) != len(start.inputs):
        raise InvalidInput(
            f"{len(start.keys)} keys for {len(start.inputs)} inputs",
            hint="give one key for each input, or none",
            field="body.keys",
        )
    asked = calls.run_start(
        caller.tenant_id, start.workflow, start.inputs, trigger_refs=start.keys, actor=caller.actor,
        priority=start.priority, trace_id=caller.trace_id or None, workspace=start.workspace,
    )  # fmt: skip
    found = await caller.perform(calls.start_runs(asked, start.labels))
    return [StartedRun.model_validate(one) for one in found]


# A coroutine: FastAPI calls a plain function in another thread.
async def _filter(
    workflow: Annotated[str | None, Query(max_length=200)] = None,
    state: Annotated[RunState | None, Query()] = None,
    colour: Annotated[Colour | None, Query(description="colour of the roll-up")] = None,
    key: Annotated[str | None, Query(max_length=500, description="the key of the start")] = None,
    source: Annotated[str | None, Query(max_length=200, description="the source of the key")] = None,
    parent: Annotated[
        int | None, Query(ge=1, lt=NUMBER_LIMIT >> 20, description="sub-workflows of this run")
    ] = None,
    started_after: Annotated[Moment | None, Query(description="a time with a zone")] = None,
    started_before: Annotated[Moment | None, Query(description="a time with a zone")] = None,
    label: Annotated[
        list[Label] | None, Query(max_length=16, description="key:value; the run has all of them")
    ] = None,
) -> RunFilter:
    return RunFilter(
        workflow=workflow, state=state, colour=colour, key=key, source=source, parent=parent,
        started_after=started_after, started_before=started_before,
        labels=dict(one.split(":", 1) for one in label or ()),
    )  # fmt: skip


Filter = Annotated[RunFilter, Depends(_filter)]


@router.read("/runs", summary="Runs, the newest first", problems=(), response_model=Page[RunView])
async def list_runs(caller: Caller, only: Filter, limit: Limit = 50, cursor: Cursor = None) -> Response:
    after = seek(cursor, "runs", int)
    found = await caller.perform_only(
        run_list.run_texts(
            caller.tenant_id, after=None if after is None else after[0], limit=limit + 1, **only
        )
    )
    shown = found[:limit]
    more = next_of(found, limit, lambda run: [run.run_id], "runs")
    return as_json(f'{{"items":[{",".join(run.text for run in shown)}],"next":{json.dumps(more)}}}')


@router.read("/runs/{run_id}", summary="One run", response_model=RunView)
async def show_run(run_id: RunNumber, caller: Caller) -> Response:
    found = await caller.perform_only(run_list.run_text(caller.tenant_id, run_id))
    if found is None:
        raise _missing(run_id)
    return as_json(found.text)


@router.read("/runs/{run_id}/result", summary="State and result of a run")
async def show_result(run_id: RunNumber, caller: Caller) -> RunResult:
    found = await caller.perform(calls.run_outcome(caller.tenant_id, run_id))
    if found is None:
        raise _missing(run_id)
    return RunResult(state_code=found[0], result=found[1])


@router.read("/runs/{run_id}/steps", summary="The steps of a run, in the order of the graph")
async def list_steps(
    run_id: RunNumber,
    caller: Caller,
    reasons: Annotated[bool, Query(description="also why each open step is not running")] = False,
) -> list[RunStepView]:
    await _run(caller, run_id)
    found = await caller.perform(views.steps(caller.tenant_id, run_id, with_reasons=reasons))
    return [RunStepView.model_validate(step) for step in found]


@router.read("/runs/{run_id}/events", summary="The events of a run, the oldest first")
async def list_run_events(
    run_id: RunNumber, caller: Caller, limit: Limit = 100, cursor: Cursor = None
) -> Page[EventView]:
    await _run(caller, run_id)
    after = seek(cursor, "run_events", int)
    found = await caller.perform(
        events.run_events(caller.tenant_id, run_id, after=0 if after is None else after[0], limit=limit + 1)
    )
    return page_of(found, limit, EventView.model_validate, lambda event: [event.event_id], "run_events")


@router.read("/units/{unit_id}/why-not-running", summary="Why a step or job is not running")
async def why_not_running(unit_id: Number, caller: Caller) -> WhyNotRunning:
    why = await caller.perform(views.why(caller.tenant_id, unit_id))
    return WhyNotRunning(
        unit_id=str(unit_id),
        code=why.code,
        sentence_en=why.sentence_en,
        sentence_vi=why.sentence_vi,
        who=why.who,
    )


@router.read("/units/{unit_id}/unblock-path", summary="The causes from a unit to the root, and what helps")
async def unblock_path(unit_id: Number, caller: Caller) -> list[UnblockView]:
    found = await caller.perform(unblock.path(caller.tenant_id, unit_id))
    return [UnblockView.model_validate(cause) for cause in found]


@router.read("/runs/{run_id}/then", summary="A past state of a run")
async def run_then(
    run_id: RunNumber,
    caller: Caller,
    at: Annotated[
        str, Query(min_length=1, max_length=40, description="number of an event, or a time with a zone")
    ],
) -> RunThen:
    units = await caller.perform(past.state_at(caller.tenant_id, run_id, past.read_point(at)))
    return RunThen(run_id=str(run_id), at=at, units=[UnitThen.model_validate(unit) for unit in units])


async def _run(caller: BoundCaller, run_id: int) -> run_list.Run:
    found = await caller.perform(run_list.run(caller.tenant_id, run_id))
    if found is None:
        raise _missing(run_id)
    return found


def _missing(run_id: int) -> NotFound:
    return NotFound(f"run {run_id} does not exist", field="run_id")
