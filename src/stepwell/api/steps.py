"""Show steps and tasks, and the inbox: receives a number or a role, returns what a person sees."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from stepwell.api.caller import BoundCaller, Caller, Number
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Seconds, Shown
from stepwell.errors import NotFound
from stepwell.store.calls import people as calls
from stepwell.store.calls import views
from stepwell.store.calls.people import INBOX_LIMIT
from stepwell.unit_numbers import short

router = Resource("steps")


class StepView(Shown):
    """A step or a task, as it is shown to people."""

    step_run_id: Id
    name: str = Field(description="the name that a person types", examples=["7/sign-off"])
    run_id: Id
    workflow: str
    scope: str = Field(description="step or task")
    parent_step_run_id: Id | None
    step_id: str
    title: str | None
    state_code: str
    waiting_facet: str | None
    secondary_facets: list[str] | None
    role: str | None
    assignee: str | None
    pic: str | None = Field(description="the person in charge")
    priority: int
    deadline_at: datetime | None
    overdue_first_at: datetime | None
    completed_after_deadline: bool
    sla_breach_seconds: Seconds | None = Field(validation_alias="sla_breach_duration")
    is_late: bool | None = Field(description="null without a deadline")
    block_reason: str | None
    block_detail: str | None
    blocked_severity: str | None
    form: dict[str, Any] | None = Field(description="JSON Schema of what completes it")
    started_at: datetime | None
    completed_at: datetime | None
    escalation_level: int | None
    escalated_to: str | None
    escalated_at: datetime | None
    block_label: dict[str, str] | None
    inputs: dict[str, Any] | None = Field(description="null without the right to read them")
    progress: dict[str, Any] | None
    step_kind: str
    is_for_people: bool


class CommentView(Shown):
    comment_id: Id
    body: str
    written_by: str
    written_at: datetime


class CheckpointView(Shown):
    name: str
    value: Any
    saved_at: datetime


class FailureView(Shown):
    """One failed attempt."""

    attempt: int
    failure_class: str
    classification: str = Field(description="transient or permanent")
    error: dict[str, Any]
    failed_at: datetime
    next_eligible_at: datetime | None


class DependentView(Shown):
    """A step that a correction affects."""

    relation: str = Field(description="around: reopens with it; after: depends on it")
    run_id: Id
    step_run_id: Id
    step_id: str
    step_kind: str
    state_code: str
    can_reopen: bool


@router.read("/inbox", summary="The steps of the caller, and those the caller may claim")
async def read_inbox(
    caller: Caller,
    role: Annotated[str | None, Query(max_length=200, description="only steps for this role")] = None,
    limit: Annotated[int, Query(ge=1, le=INBOX_LIMIT)] = 100,
) -> list[StepView]:
    found = await caller.perform(calls.inbox(caller.tenant_id, caller.name, role, limit))
    return [StepView.model_validate(one) for one in found]


@router.read("/steps/{step_run_id}", summary="One step or task")
async def show_step(step_run_id: Number, caller: Caller) -> StepView:
    return StepView.model_validate(await step_of(caller, step_run_id))


@router.read("/steps/{step_run_id}/tasks", summary="The tasks of a step")
async def list_tasks(step_run_id: Number, caller: Caller) -> list[StepView]:
    await step_of(caller, step_run_id)
    found = await caller.perform(calls.tasks(caller.tenant_id, step_run_id))
    return [StepView.model_validate(one) for one in found]


@router.read("/steps/{step_run_id}/comments", summary="The comments on a step or task, the oldest first")
async def list_comments(step_run_id: Number, caller: Caller) -> list[CommentView]:
    await step_of(caller, step_run_id)
    found = await caller.perform(calls.comments(caller.tenant_id, step_run_id))
    return [CommentView.model_validate(one) for one in found]


@router.read("/steps/{step_run_id}/checkpoints", summary="What the handler has saved of its work")
async def list_checkpoints(step_run_id: Number, caller: Caller) -> list[CheckpointView]:
    await step_of(caller, step_run_id)
    found = await caller.perform(calls.checkpoints(caller.tenant_id, step_run_id))
    return [CheckpointView.model_validate(one) for one in found]


@router.read("/steps/{step_run_id}/failures", summary="The failed attempts of a step, the oldest first")
async def list_failures(step_run_id: Number, caller: Caller) -> list[FailureView]:
    await step_of(caller, step_run_id)
    found = await caller.perform(views.failures(caller.tenant_id, step_run_id))
    return [FailureView.model_validate(one) for one in found]


@router.read("/steps/{step_run_id}/correction", summary="Which steps a correction of this one affects")
async def preview_correction(step_run_id: Number, caller: Caller) -> list[DependentView]:
    await step_of(caller, step_run_id)
    found = await caller.perform(calls.correction_preview(caller.tenant_id, step_run_id))
    return [DependentView.model_validate(one) for one in found]


async def step_of(caller: BoundCaller, step_run_id: int) -> calls.HumanStep:
    found = await caller.perform(calls.step_card(caller.tenant_id, step_run_id))
    if found is None:
        raise NotFound(f"step {short(step_run_id)} does not exist", field="step_run_id")
    return found
