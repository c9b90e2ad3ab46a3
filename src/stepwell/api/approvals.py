"""Show and decide approvals: receives a number and a decision, returns the approval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from stepwell.api.caller import BoundCaller, Caller, Number
from stepwell.api.pages import Cursor, Limit, Page, page_of, seek
from stepwell.api.resource import Resource
from stepwell.errors import NotFound
from stepwell.store.calls import people as calls
from stepwell.store.calls import words
from stepwell.store.calls.people import Approval
from stepwell.store.calls.words import StateFace, UnitWords

router = Resource("approvals")

State = Literal["requested", "approved", "rejected", "expired", "cancelled"]


class StateView(BaseModel):
    """Labels, colour and icon of a state, from the registry."""

    label_en: str
    label_vi: str
    color_token: str = Field(examples=["ui.traffic_light.yellow"])
    icon_token: str = Field(examples=["icon.hourglass"])


class SubjectView(BaseModel):
    """The step, job or run of an approval."""

    scope: str = Field(description="step, task, job, workflow_run or proposal")
    name: str | None = Field(description="id of the step or task, operation of the job", examples=["refund"])
    workflow: str | None = Field(
        description="workflow of the run, if there is one", examples=["order.refund"]
    )


class ApprovalView(BaseModel):
    """An approval. Numbers are texts, because they may be too large for JavaScript."""

    approval_id: str
    state_code: str
    state: StateView | None
    subject: SubjectView | None = Field(description="null if the subject was removed")
    action: str = Field(description="the action to allow", examples=["reopen"])
    subject_unit_id: str
    run_id: str | None = Field(description="null if the subject belongs to no run")
    tier: int
    quorum: int = Field(description="how many reviewers must approve")
    approve_count: int
    votes: list[dict[str, Any]]
    requested_by: str
    reason: str | None
    requested_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    acting: str | None
    approvers: list[str] | None
    approver_role: str | None
    about: dict[str, Any] | None = Field(description="the proposed action, or the change of rules")
    shown_digest: str = Field(description="the digest of what this approval shows; a decision sends it back")


class Decision(BaseModel):
    decision: Literal["approve", "reject"]
    shown_digest: str = Field(max_length=64, description="shown_digest of the approval as it was read")
    reason: str | None = Field(default=None, max_length=2000)


@router.read("/approvals", summary="Approvals, the newest first")
async def list_approvals(
    caller: Caller,
    state: Annotated[State | None, Query(description="only those in this state")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[ApprovalView]:
    after = seek(cursor, "approvals", int)
    found = await caller.perform(
        calls.approvals(caller.tenant_id, state, limit + 1, after=None if after is None else after[0])
    )
    views = await _views(caller, found)
    return page_of(views, limit, lambda view: view, lambda view: [int(view.approval_id)], "approvals")


@router.read("/approvals/{approval_id}", summary="One approval and its decisions")
async def show_approval(approval_id: Number, caller: Caller) -> ApprovalView:
    found = await caller.perform(calls.approval(caller.tenant_id, approval_id))
    if found is None:
        raise NotFound(f"approval {approval_id} does not exist", field="approval_id")
    (view,) = await _views(caller, [found])
    return view


@router.write("/approvals/{approval_id}/decisions", verb="approval.decide", summary="Decide an approval")
async def decide_approval(approval_id: Number, decision: Decision, caller: Caller) -> ApprovalView:
    await caller.perform(
        calls.decide_approval(
            caller.tenant_id,
            approval_id,
            decision.decision,
            caller.actor,
            decision.shown_digest,
            decision.reason,
        )
    )
    return await show_approval(approval_id, caller)


async def _views(caller: BoundCaller, found: Sequence[Approval]) -> list[ApprovalView]:
    """The approvals with names and labels: one more call for all names and one for all states."""
    if not found:
        return []
    named = await caller.perform(words.units(caller.tenant_id, [one.subject_unit_id for one in found]))
    states = await caller.perform(words.states("approval"))
    return [_view(one, named, states) for one in found]


def _view(
    approval: Approval, named: Mapping[int, UnitWords], states: Mapping[str, StateFace]
) -> ApprovalView:
    values = asdict(approval)
    for name in ("approval_id", "subject_unit_id", "run_id"):
        values[name] = None if values[name] is None else str(values[name])
    face = states.get(approval.state_code)
    subject = named.get(approval.subject_unit_id)
    return ApprovalView(
        **{**values, "votes": approval.votes or []},
        state=None if face is None else StateView(**asdict(face)),
        subject=None if subject is None else SubjectView(**asdict(subject)),
    )
