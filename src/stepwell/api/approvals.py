"""Show and decide approvals: receives a number and a decision, returns the approval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, SkipValidation
from typing_extensions import TypedDict  # that of Python 3.11 is not enough for pydantic

from stepwell.api.accepted import Body
from stepwell.api.caller import NUMBER_LIMIT, BoundCaller, Caller, Number
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


class Vote(TypedDict):
    voter: str
    decision: Literal["approve", "reject"]
    reason: str | None
    voted_at: str


class ChangedRule(TypedDict):
    old: dict[str, Any]
    new: dict[str, Any]


class RuleDiff(TypedDict, total=False):
    added: list[dict[str, Any]]
    removed: list[dict[str, Any]]
    changed: list[ChangedRule]


class About(TypedDict, total=False):
    """The proposed action on another system, or the change of rules. Every member may be absent."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    connector: str
    operation: str
    target: str | None
    fields: Any
    reversible: bool
    reverses: int | None
    rule: str | None
    policy_version: int | None
    kind: str
    diff: RuleDiff


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
    votes: list[SkipValidation[Vote]]
    requested_by: str
    reason: str | None
    requested_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    acting: str | None
    approvers: list[str] | None
    approver_role: str | None
    about: SkipValidation[About] | None = Field(description="the proposed action, or the change of rules")
    shown_digest: str | None = Field(
        description="the digest of what this approval shows, if you may see that; a decision sends it back"
    )


class Decision(Body):
    decision: Literal["approve", "reject"]
    shown_digest: str = Field(
        max_length=64, description="shown_digest of the approval as it was read", examples=["0" * 64]
    )
    reason: str | None = Field(default=None, max_length=2000, examples=["the amount is right"])


class Request(Body):
    """A question to reviewers: may this be done to this run or step?"""

    action: str = Field(
        min_length=1,
        max_length=100,
        description="`approval.action` of the call that requires it",
        examples=["reopen"],
    )
    unit_id: int = Field(
        ge=1, lt=NUMBER_LIMIT, description="number of the step; of a run times 1048576", examples=[7340033]
    )
    reason: str | None = Field(default=None, max_length=2000, examples=["the wrong invoice was attached"])
    quorum: int = Field(default=1, ge=1, le=2, description="how many must approve", examples=[1])
    tier: int = Field(default=1, ge=1, le=3, description="1 low, 2 med, 3 high", examples=[2])
    expires_seconds: int | None = Field(default=None, ge=1, le=31_536_000, examples=[86_400])
    approvers: list[Annotated[str, Field(min_length=1, max_length=200)]] | None = Field(
        default=None, min_length=1, max_length=50, description="only these people decide", examples=[["ben"]]
    )
    role: str | None = Field(default=None, min_length=1, max_length=200, examples=["reviewer"])


class Withdraw(Body):
    reason: str | None = Field(default=None, max_length=2000, examples=["not needed any more"])


@router.read("/approvals", summary="Approvals, the newest first")
async def list_approvals(
    caller: Caller,
    state: Annotated[State | None, Query(description="only those in this state")] = None,
    unit: Annotated[
        int | None, Query(ge=1, lt=NUMBER_LIMIT, description="only those about this step or job")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[ApprovalView]:
    after = seek(cursor, "approvals", int)
    found = await caller.perform(
        calls.approvals(
            caller.tenant_id, state, limit + 1, after=None if after is None else after[0], subject=unit
        )
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


@router.write(
    "/approvals",
    verb="approval.request",
    status=201,
    summary="Ask reviewers whether something may be done to a run or step",
    problems=("not_found", "conflict"),
)
async def request_approval(request: Request, caller: Caller) -> ApprovalView:
    call = calls.request_approval(
        caller.tenant_id, request.action, request.unit_id, caller.actor, request.reason, request.quorum,
        request.expires_seconds, None, request.tier, request.approvers, request.role,
    )  # fmt: skip
    return await show_approval(await caller.perform(call), caller)


@router.write(
    "/approvals/{approval_id}/withdraw",
    verb="approval.request",
    summary="Withdraw a request that is not decided",
    problems=("not_found", "conflict", "refused"),
)
async def withdraw_approval(approval_id: Number, withdraw: Withdraw, caller: Caller) -> ApprovalView:
    await caller.perform(
        calls.withdraw_approval(caller.tenant_id, approval_id, caller.actor, withdraw.reason)
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
