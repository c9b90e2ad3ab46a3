"""Dead letters and their replay: receives a filter or a number, returns letters, rehearsals and plans."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from stepwell.api.accepted import Body
from stepwell.api.caller import BoundCaller, Caller, Number
from stepwell.api.pages import Cursor, Limit, Page, moment, page_of, seek
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Shown
from stepwell.errors import NotFound
from stepwell.store.calls import dead_letters as calls
from stepwell.unit_numbers import short

router = Resource("dead letters")

Name = Annotated[str | None, Query(min_length=1, max_length=500)]
Text = Annotated[str, Field(min_length=1, max_length=500)]
UNIT = r"^[0-9]{1,18}$"
Answer = Literal["cached", "doubt", "new", "needs_approval", "deny", "unjudged"]


class DeadLetterView(Shown):
    """A unit without attempts left, and how each attempt failed."""

    job_id: Id
    operation: str | None
    run_id: Id | None
    step_id: str | None
    workflow: str | None
    trigger_ref: str | None = Field(description="the key of its run")
    died_at: datetime
    failure_class: str
    cause: str = Field(description="what many letters share; numbers are #", examples=["order # is closed"])
    error: dict[str, Any]
    attempt: int
    max_attempts: int
    resolved_at: datetime | None
    resolution: str | None
    replay_state: str | None = Field(description="of the newest request to replay it")
    is_asked: bool = Field(description="a request to replay it waits for its approval, or for its stage")
    failures: list[dict[str, Any]]


class DeadLetterBody(DeadLetterView):
    payload: Any = Field(description="what it was given; null for who may not read payloads")


class CauseView(Shown):
    """Open dead letters with the same operation, class of failure and cause."""

    operation: str | None
    failure_class: str
    cause: str
    letter_count: int
    run_count: int
    oldest_at: datetime
    newest_at: datetime


class LetterFilter(Body):
    """Which open dead letters; without a field all of them."""

    operation: Text | None = Field(default=None, examples=["send_mail"])
    workflow: Text | None = Field(default=None, examples=["order.process"])
    failure_class: Text | None = Field(default=None, examples=["timeout"])
    cause: Text | None = Field(default=None, examples=["order # is closed"])
    units: list[Annotated[str, Field(pattern=UNIT)]] | None = Field(
        default=None, min_length=1, max_length=1000, examples=[["7340033"]]
    )

    def chosen(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


class EffectCounts(BaseModel):
    cached: int = Field(description="a receipt answers; nothing is sent")
    doubt: int = Field(description="nobody knows whether it happened; the next attempt asks first")
    new: int
    needs_approval: int
    deny: int
    unjudged: int = Field(description="too many to judge now")
    irreversible: int = Field(description="would be made, and cannot be undone")


class EffectRow(BaseModel):
    """Effects of one kind in all chosen letters."""

    step: str | None
    connector: str
    operation: str
    answer: Answer
    writes: bool
    reversible: bool
    count: int
    target: str = Field(description="of one of them")
    receipt_id: str | None
    reason: str | None
    rule: str | None
    is_expected: bool = Field(description="known from the newest success of the same operation")


class Rehearsal(BaseModel):
    """What a replay would do now. Nothing was written, and nothing was sent."""

    position: int | None
    letters: int
    runs: int
    tenants: int
    steps_behind: int = Field(description="steps that wait behind the letters")
    effects: EffectCounts
    rows: list[EffectRow]
    stages: list[int] = Field(description="how many letters each stage has, the first one first")
    quorum: int = Field(description="how many people must agree")
    is_waived: bool = Field(description="nobody is asked: the mode of the database or a setting grants it")


class ReplayWish(Body):
    filter: LetterFilter = Field(default_factory=LetterFilter)
    reason: str = Field(min_length=1, max_length=2000, examples=["the mail server is back"])
    stages: list[Annotated[int, Field(ge=1, le=10_000)]] | None = Field(
        default=None, max_length=5, examples=[[1, 10]]
    )


class ProposedPlan(BaseModel):
    plan_id: str
    approval_id: str
    letters: int
    quorum: int
    state: str
    is_waiting: bool = Field(description="for its approval")


class StageProgress(BaseModel):
    stage: int
    count: int
    submitted: int
    scheduled: int
    completed: int
    failed: int
    left_out: int


class ReplayPlanView(Shown):
    plan_id: Id
    approval_id: Id
    approval_state: str
    plan_state: str = Field(description="submitted, running, stopped, completed or rejected")
    letter_filter: dict[str, Any]
    letter_count: int
    stages: list[int]
    stage_no: int
    progress: list[StageProgress]
    reach: Rehearsal
    requested_by: str
    reason: str | None
    requested_at: datetime
    stage_at: datetime | None
    ended_at: datetime | None
    ended_because: str | None
    is_waiting: bool = Field(description="for its approval")
    is_running: bool


class ReplayRequestView(Shown):
    replay_request_id: Id
    unit_id: Id
    run_id: Id | None
    approval_id: Id
    stage_no: int | None
    proposal_state: str = Field(description="submitted, approved, merged or rejected, as of every proposal")
    replay_state: str | None = Field(description="what became of it: scheduled, completed or failed")
    idempotency_key: str
    requested_by: str
    requested_at: datetime
    scheduled_at: datetime | None
    outcome_at: datetime | None
    outcome: dict[str, Any] | None = Field(validation_alias="outcome_jsonb")


class StopWish(Body):
    reason: str = Field(min_length=1, max_length=2000, examples=["too many of them fail"])


@router.read("/dead-letters", summary="What has no attempts left, the newest first", problems=())
async def list_dead_letters(
    caller: Caller,
    resolved: Annotated[bool, Query(description="also those that were resolved")] = False,
    operation: Name = None,
    workflow: Name = None,
    failure_class: Name = None,
    cause: Name = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[DeadLetterView]:
    seen = seek(cursor, "dead_letters", str, int)
    given = {"operation": operation, "workflow": workflow, "failure_class": failure_class, "cause": cause}
    found = await caller.perform(
        calls.dead_letters(
            caller.tenant_id,
            with_resolved=resolved,
            chosen={name: text for name, text in given.items() if text is not None},
            before=None if seen is None else (moment(seen[0]), seen[1]),
            limit=limit + 1,
        )
    )
    return page_of(
        found,
        limit,
        DeadLetterView.model_validate,
        lambda one: [one.died_at.isoformat(), one.job_id],
        "dead_letters",
    )


@router.read("/dead-letters/causes", summary="Open dead letters by cause, the most first", problems=())
async def list_causes(caller: Caller) -> list[CauseView]:
    return [CauseView.model_validate(one) for one in await caller.perform(calls.causes(caller.tenant_id))]


@router.read("/dead-letters/rehearsal", summary="What a replay of dead letters would do", problems=())
async def rehearse_replay(
    caller: Caller,
    operation: Name = None,
    workflow: Name = None,
    failure_class: Name = None,
    cause: Name = None,
    unit: Annotated[
        list[Annotated[str, Query(pattern=UNIT)]] | None, Query(max_length=200, description="these letters")
    ] = None,
) -> Rehearsal:
    chosen = LetterFilter(
        operation=operation, workflow=workflow, failure_class=failure_class, cause=cause, units=unit or None
    )
    return Rehearsal.model_validate(await caller.perform(calls.rehearse(caller.tenant_id, chosen.chosen())))


@router.read("/dead-letters/{job_id}", summary="The newest dead letter of a job or a step")
async def show_dead_letter(job_id: Number, caller: Caller) -> DeadLetterBody:
    found = await caller.perform(calls.dead_letter(caller.tenant_id, job_id))
    if found is None:
        raise NotFound(f"{short(job_id)} has no dead letter", field="job_id")
    shown = DeadLetterView.model_validate(found)
    payload = await caller.perform(calls.payload(caller.tenant_id, job_id))
    return DeadLetterBody(**shown.model_dump(), payload=payload)


@router.write(
    "/replays",
    verb="run.retry",
    status=201,
    summary="Propose to replay dead letters",
    problems=("not_found", "conflict"),
)
async def propose_replay(wish: ReplayWish, caller: Caller) -> ProposedPlan:
    call = calls.propose(
        caller.tenant_id, wish.filter.chosen(), caller.actor, wish.reason, stages=wish.stages
    )
    return ProposedPlan.model_validate(await caller.perform(call))


@router.read("/replays", summary="Plans to replay dead letters, the newest first", problems=())
async def list_replays(caller: Caller, limit: Limit = 50, cursor: Cursor = None) -> Page[ReplayPlanView]:
    after = seek(cursor, "replays", int)
    found = await caller.perform(
        calls.plans(caller.tenant_id, limit=limit + 1, after=None if after is None else after[0])
    )
    return page_of(found, limit, ReplayPlanView.model_validate, lambda one: [one.plan_id], "replays")


@router.read("/replays/{plan_id}", summary="One plan, and how far it is")
async def show_replay(plan_id: Number, caller: Caller) -> ReplayPlanView:
    return ReplayPlanView.model_validate(await _plan(caller, plan_id))


@router.read("/replays/{plan_id}/requests", summary="The replays of a plan, each with its outcome")
async def list_replay_requests(
    plan_id: Number, caller: Caller, limit: Limit = 50, cursor: Cursor = None
) -> Page[ReplayRequestView]:
    await _plan(caller, plan_id)
    after = seek(cursor, "replay_requests", int)
    found = await caller.perform(
        calls.requests(caller.tenant_id, plan_id, limit=limit + 1, after=None if after is None else after[0])
    )
    return page_of(
        found,
        limit,
        ReplayRequestView.model_validate,
        lambda one: [one.replay_request_id],
        "replay_requests",
    )


@router.write(
    "/replays/{plan_id}/stop",
    verb="run.retry",
    summary="Stop a plan; what it has begun goes on",
    problems=("not_found", "conflict"),
)
async def stop_replay(plan_id: Number, wish: StopWish, caller: Caller) -> ReplayPlanView:
    await caller.perform(calls.stop(caller.tenant_id, plan_id, caller.actor, wish.reason))
    return ReplayPlanView.model_validate(await _plan(caller, plan_id))


async def _plan(caller: BoundCaller, plan_id: int) -> calls.ReplayPlan:
    found = await caller.perform(calls.plan(caller.tenant_id, plan_id))
    if found is None:
        raise NotFound(f"plan {short(plan_id)} does not exist", field="plan_id")
    return found
