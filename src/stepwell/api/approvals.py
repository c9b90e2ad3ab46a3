"""Show and decide approvals: receives a number and a decision, returns the approval.

The API has no authentication yet: it accepts decisions only from this machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from ipaddress import ip_address
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from stepwell.api import problems
from stepwell.api.connected import Connected, Number
from stepwell.client import Client
from stepwell.errors import NotFound, PermissionDenied
from stepwell.store.calls import people as calls
from stepwell.store.calls import words
from stepwell.store.calls.people import Approval
from stepwell.store.calls.words import StateFace, UnitWords

router = APIRouter(tags=["approvals"], responses=problems.RESPONSES)

PAGE_LIMIT = 200
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
    person: str = Field(min_length=1, max_length=200, description="who decides")
    shown_digest: str = Field(max_length=64, description="shown_digest of the approval as it was read")
    reason: str | None = Field(default=None, max_length=2000)


@router.get("/approvals", summary="Approvals, the newest first")
async def list_approvals(
    client: Connected,
    state: Annotated[State | None, Query(description="only those in this state")] = None,
    limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 50,
) -> list[ApprovalView]:
    found = await client.perform(calls.approvals(client.tenant_id, state, limit))
    return await _views(client, found)


@router.get("/approvals/{approval_id}", summary="One approval and its decisions")
async def show_approval(approval_id: Number, client: Connected) -> ApprovalView:
    found = await client.perform(calls.approval(client.tenant_id, approval_id))
    if found is None:
        raise NotFound(f"approval {approval_id} does not exist", field="approval_id")
    (view,) = await _views(client, [found])
    return view


@router.post("/approvals/{approval_id}/decisions", summary="Decide an approval")
async def decide_approval(
    approval_id: Number, decision: Decision, client: Connected, request: Request
) -> ApprovalView:
    _from_this_machine(request)
    await client.perform(
        calls.decide_approval(
            client.tenant_id,
            approval_id,
            decision.decision,
            decision.person,
            decision.shown_digest,
            decision.reason,
        )
    )
    return await show_approval(approval_id, client)


def _from_this_machine(request: Request) -> None:
    host = request.client.host if request.client else ""
    try:
        is_near = ip_address(host).is_loopback
    except ValueError:
        is_near = False
    if not is_near:
        raise PermissionDenied(
            "decisions over HTTP are accepted only from this machine",
            hint="decide in Slack, or in a terminal with 'stepwell approvals'",
        )


async def _views(client: Client, found: Sequence[Approval]) -> list[ApprovalView]:
    """The approvals with names and labels: one more call for all names and one for all states."""
    if not found:
        return []
    named = await client.perform(words.units(client.tenant_id, [one.subject_unit_id for one in found]))
    states = await client.perform(words.states("approval"))
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
