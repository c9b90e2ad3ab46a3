"""Change runs that exist: receives a number, a reason and the evidence, returns the state after it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from stepwell.api.accepted import Body
from stepwell.api.caller import Caller, RunNumber
from stepwell.api.resource import Resource
from stepwell.api.shown import Changed, Id, Shown
from stepwell.store.calls import runs as calls

router = Resource("runs")

Reason = Annotated[str, Field(min_length=1, max_length=2000)]
_REFUSALS = ("not_found", "conflict", "refused")


class Cancel(Body):
    reason: Reason = Field(examples=["ordered twice"])
    approval_id: int | None = Field(
        default=None,
        ge=1,
        lt=2**63,
        description="the approval that allows it, where one is required",
        examples=[9437187],
    )


class Retry(Body):
    reason: Reason | None = Field(default=None, examples=["the bank is back"])


class Signal(Body):
    event_type: str = Field(min_length=1, max_length=200, examples=["carrier.picked_up"])
    payload: dict[str, Any] = Field(default_factory=dict, examples=[{"parcel": "P-1"}])
    event_id: str = Field(
        min_length=1,
        max_length=500,
        description="the sender's number of the event: it is delivered once",
        examples=["pickup-4711"],
    )


class Signalled(Shown):
    accepted: bool = Field(description="false: an event with this number was delivered before")
    woken_unit_id: Id | None = Field(description="the step that waited for it; null: it is kept")


class Retried(BaseModel):
    answer: Any = Field(description="what is retried, or the approval that it waits for")


@router.write("/runs/{run_id}/cancel", verb="run.cancel", summary="Cancel a run", problems=_REFUSALS)
async def cancel_run(run_id: RunNumber, cancel: Cancel, caller: Caller) -> Changed:
    call = calls.cancel_run(caller.tenant_id, run_id, caller.actor, cancel.reason, cancel.approval_id)
    return Changed(state_code=await caller.perform(call))


@router.write("/runs/{run_id}/pause", verb="run.pause", summary="Pause a run", problems=_REFUSALS)
async def pause_run(run_id: RunNumber, caller: Caller) -> Changed:
    return Changed(state_code=await caller.perform(calls.pause_run(caller.tenant_id, run_id, caller.actor)))


@router.write("/runs/{run_id}/resume", verb="run.pause", summary="Resume a paused run", problems=_REFUSALS)
async def resume_run(run_id: RunNumber, caller: Caller) -> Changed:
    return Changed(state_code=await caller.perform(calls.resume_run(caller.tenant_id, run_id, caller.actor)))


@router.write(
    "/runs/{run_id}/retry", verb="run.retry", summary="Retry the dead steps of a run", problems=_REFUSALS
)
async def retry_run(run_id: RunNumber, retry: Retry, caller: Caller) -> Retried:
    call = calls.retry_run(caller.tenant_id, run_id, caller.actor, retry.reason)
    return Retried(answer=await caller.perform(call))


@router.write(
    "/runs/{run_id}/signals", verb="run.start", summary="Send an event to a run", problems=_REFUSALS
)
async def signal_run(run_id: RunNumber, signal: Signal, caller: Caller) -> Signalled:
    call = calls.signal(
        caller.tenant_id, run_id, signal.event_type, signal.payload, signal.event_id, caller.actor
    )
    return Signalled.model_validate(await caller.perform(call))
