"""Show what a caller may do now: receives a number, returns its calls and why they are refused."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from stepwell.api.caller import Caller, Number, RunNumber
from stepwell.api.resource import Resource
from stepwell.api.shown import Shown
from stepwell.store.calls import live

router = Resource("actions")


class Label(Shown):
    en: str = Field(examples=["Claim"])
    vi: str = Field(examples=["Nhận việc"])


class Reason(Shown):
    """Why a call would be refused now."""

    kind: Literal["rights", "state", "person", "approval"] = Field(
        description="rights: the caller lacks the verb, or is no person; state: not in this state; "
        "person: somebody else may; approval: one must be granted first"
    )
    code: str = Field(description="the guard or the rule that refuses", examples=["actor_is_pic"])
    en: str
    vi: str | None = Field(description="null: only in English")


class ApprovalOf(Shown):
    """The approval that the call requires."""

    action: str = Field(description="`action` of POST /approvals", examples=["workflow_cancel"])
    granted: str | None = Field(description="give this number to the call")
    open: str | None = Field(description="it was requested and is not decided")


class ActionView(Shown):
    """One call on a unit. What it carries may still be refused, such as an output that does not fit."""

    action: str = Field(examples=["claim"])
    label: Label
    path: str = Field(description="path of the call under /api/v1", examples=["/steps/7340033/claim"])
    needs: list[str] = Field(description="fields that its body must have", examples=[["resolution_ref"]])
    allowed: bool
    reason: Reason | None = Field(description="null if it is allowed")
    approval: ApprovalOf | None = Field(description="null if it requires none")


@router.read("/runs/{run_id}/actions", summary="What the caller may do with a run now")
async def run_actions(run_id: RunNumber, caller: Caller) -> list[ActionView]:
    found = await caller.perform(live.actions(caller.tenant_id, run_id << 20, caller.actor))
    return [ActionView.model_validate(one) for one in found]


@router.read("/units/{unit_id}/actions", summary="What the caller may do with a step, task or job now")
async def unit_actions(unit_id: Number, caller: Caller) -> list[ActionView]:
    found = await caller.perform(live.actions(caller.tenant_id, unit_id, caller.actor))
    return [ActionView.model_validate(one) for one in found]
