"""What people do with steps and tasks: receives a step and what is done, returns the answer of the door.

The caller is the person who acts, and the database has every rule. The form is checked in full here too, so
that one answer lists all its problems.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from stepwell.api.accepted import Body, Moment
from stepwell.api.caller import BoundCaller, Caller, Number
from stepwell.api.resource import Resource
from stepwell.api.shown import Shown
from stepwell.api.steps import StepView, step_of
from stepwell.people import check_form
from stepwell.store.calls import people as calls

router = Resource("steps")

_REFUSALS = ("not_found", "conflict", "refused")
Text = Annotated[str, Field(min_length=1, max_length=2000)]
Person = Annotated[str, Field(min_length=1, max_length=200)]


class Because(Body):
    """A call with a reason, where there is one."""

    reason: Text | None = Field(default=None, examples=["away until Monday"])


class Assign(Because):
    person: Person = Field(examples=["ada"])


class Delegate(Because):
    to: Person = Field(examples=["ben"])


class Wait(Body):
    facets: list[str] = Field(min_length=1, max_length=8, examples=[["waiting_external"]])
    event_type: str | None = Field(
        default=None,
        max_length=200,
        description="an event that ends the wait",
        examples=["carrier.picked_up"],
    )
    resume_at: Moment | None = Field(default=None, description="a time that ends the wait")


class Resolve(Body):
    resolution_ref: Text = Field(description="what resolved it", examples=["ticket 4711"])


class Block(Body):
    reason: str = Field(
        min_length=1,
        max_length=200,
        description="a code of the vocabulary of blocks",
        examples=["missing_access"],
    )
    detail: Text | None = Field(default=None, examples=["nobody can open the drive"])


class EscalateBlock(Because):
    approval_id: int | None = Field(default=None, ge=1, lt=2**63, examples=[9437187])


class Complete(Body):
    output: dict[str, Any] = Field(
        default_factory=dict, description="fits the form of the step", examples=[{"amount": 5}]
    )


class CannotComplete(Because):
    evidence_ref: Text = Field(examples=["ticket 4711"])


class Deadline(Because):
    deadline_at: Moment


class Reopen(Body):
    reason: str = Field(
        min_length=1,
        max_length=200,
        description="a code of the vocabulary of corrections",
        examples=["data_error"],
    )
    approval_id: int = Field(ge=1, lt=2**63, examples=[9437187])
    downstream: Literal["leave", "reopen"] = "leave"
    give_to: Person | None = Field(default=None, examples=["ben"])


class Comment(Body):
    body: str = Field(min_length=1, max_length=10_000, examples=["called the customer"])


class Answer(Shown):
    """The answer of the call, and the step after it."""

    answer: Any
    step: StepView


async def _call(
    caller: BoundCaller, name: str, step_run_id: int, *positional: object, **named: object
) -> Answer:
    answer = await caller.perform(calls.step_call(name, caller.tenant_id, step_run_id, *positional, **named))
    return Answer(answer=answer, step=StepView.model_validate(await step_of(caller, step_run_id)))


@router.write("/steps/{step_run_id}/claim", verb="step.work", summary="Claim a step", problems=_REFUSALS)
async def claim_step(step_run_id: Number, caller: Caller) -> Answer:
    return await _call(caller, "claim", step_run_id, caller.actor)


@router.write("/steps/{step_run_id}/release", verb="step.work", summary="Release a step", problems=_REFUSALS)
async def release_step(step_run_id: Number, because: Because, caller: Caller) -> Answer:
    return await _call(caller, "release", step_run_id, caller.actor, reason=because.reason)


@router.write(
    "/steps/{step_run_id}/assign", verb="step.work", summary="Assign a step to a person", problems=_REFUSALS
)
async def assign_step(step_run_id: Number, assign: Assign, caller: Caller) -> Answer:
    return await _call(caller, "assign", step_run_id, assign.person, caller.actor, reason=assign.reason)


@router.write(
    "/steps/{step_run_id}/delegate", verb="step.work", summary="Delegate a step", problems=_REFUSALS
)
async def delegate_step(step_run_id: Number, delegate: Delegate, caller: Caller) -> Answer:
    return await _call(caller, "delegate", step_run_id, caller.actor, delegate.to, reason=delegate.reason)


@router.write(
    "/steps/{step_run_id}/wait", verb="step.work", summary="Set a step to waiting", problems=_REFUSALS
)
async def wait_step(step_run_id: Number, wait: Wait, caller: Caller) -> Answer:
    return await _call(
        caller, "wait", step_run_id, caller.actor, wait.facets, event_type=wait.event_type,
        resume_at=wait.resume_at,
    )  # fmt: skip


@router.write(
    "/steps/{step_run_id}/resume", verb="step.work", summary="Resume a waiting step", problems=_REFUSALS
)
async def resume_step(step_run_id: Number, resolve: Resolve, caller: Caller) -> Answer:
    return await _call(caller, "resume", step_run_id, caller.actor, resolve.resolution_ref)


@router.write("/steps/{step_run_id}/block", verb="step.work", summary="Block a step", problems=_REFUSALS)
async def block_step(step_run_id: Number, block: Block, caller: Caller) -> Answer:
    return await _call(caller, "block", step_run_id, caller.actor, block.reason, detail=block.detail)


@router.write("/steps/{step_run_id}/unblock", verb="step.work", summary="Unblock a step", problems=_REFUSALS)
async def unblock_step(step_run_id: Number, resolve: Resolve, caller: Caller) -> Answer:
    return await _call(caller, "unblock", step_run_id, caller.actor, resolve.resolution_ref)


@router.write(
    "/steps/{step_run_id}/escalate-block",
    verb="step.work",
    summary="Escalate a block, so that it counts as red",
    problems=_REFUSALS,
)
async def escalate_block(step_run_id: Number, escalate: EscalateBlock, caller: Caller) -> Answer:
    return await _call(
        caller, "block_escalate", step_run_id, caller.actor, reason=escalate.reason,
        approval_id=escalate.approval_id,
    )  # fmt: skip


@router.write(
    "/steps/{step_run_id}/escalate", verb="step.work", summary="Escalate a step", problems=_REFUSALS
)
async def escalate_step(step_run_id: Number, because: Because, caller: Caller) -> Answer:
    return await _call(caller, "escalate", step_run_id, caller.actor, reason=because.reason)


@router.write(
    "/steps/{step_run_id}/complete", verb="step.work", summary="Complete a step", problems=_REFUSALS
)
async def complete_step(step_run_id: Number, complete: Complete, caller: Caller) -> Answer:
    found = await step_of(caller, step_run_id)
    if found.form is not None:
        check_form(found.form, complete.output)
    answer = await caller.perform(
        calls.complete_step(caller.tenant_id, step_run_id, caller.actor, complete.output, None)
    )
    return Answer(answer=answer, step=StepView.model_validate(await step_of(caller, step_run_id)))


@router.write(
    "/steps/{step_run_id}/cannot-complete",
    verb="step.work",
    summary="Declare that a step cannot be completed",
    problems=_REFUSALS,
)
async def cannot_complete(step_run_id: Number, declare: CannotComplete, caller: Caller) -> Answer:
    return await _call(
        caller, "cannot_complete", step_run_id, caller.actor, declare.evidence_ref, reason=declare.reason
    )


@router.write(
    "/steps/{step_run_id}/deadline", verb="step.work", summary="Change a deadline", problems=_REFUSALS
)
async def change_deadline(step_run_id: Number, deadline: Deadline, caller: Caller) -> Answer:
    moment: datetime = deadline.deadline_at
    return await _call(caller, "deadline_change", step_run_id, caller.actor, moment, reason=deadline.reason)


@router.write(
    "/steps/{step_run_id}/reopen",
    verb="step.work",
    summary="Open an ended step again, to correct it",
    problems=_REFUSALS,
)
async def reopen_step(step_run_id: Number, reopen: Reopen, caller: Caller) -> Answer:
    return await _call(
        caller, "reopen_for_correction", step_run_id, caller.actor, reopen.reason, reopen.approval_id,
        downstream=reopen.downstream, person=reopen.give_to,
    )  # fmt: skip


@router.write(
    "/steps/{step_run_id}/comments",
    verb="step.work",
    status=201,
    summary="Write a comment",
    problems=_REFUSALS,
)
async def write_comment(step_run_id: Number, comment: Comment, caller: Caller) -> Answer:
    return await _call(caller, "comment", step_run_id, caller.actor, comment.body)
