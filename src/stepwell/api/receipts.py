"""Receipts of effects in other systems: receives a number, returns the receipt; settles and reverses it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from stepwell import json_text
from stepwell.api.accepted import Body
from stepwell.api.caller import NUMBER_LIMIT, Caller, Number
from stepwell.api.pages import Cursor, Limit, Page, page_of, seek
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Shown
from stepwell.errors import NotFound
from stepwell.store.calls import receipts as calls
from stepwell.unit_numbers import short

router = Resource("receipts")

_REFUSALS = ("not_found", "conflict", "refused")
State = Literal["intended", "confirmed", "unconfirmed", "void", "reversed"]


class ReceiptView(Shown):
    """The record of an effect in another system. Its values are null without the right to read them."""

    receipt_id: Id
    state_code: str
    run_id: Id | None
    step_run_id: Id
    step_id: str | None
    idempotency_key: str
    connector: str
    operation: str
    target: str
    action_hash: str
    writes: bool
    reversible: bool
    try_count: int
    request_metadata: dict[str, Any] | None
    response_metadata: dict[str, Any] | None
    external_id: str | None
    prior: dict[str, Any] | None
    reversal: dict[str, Any] | None
    provider: str | None
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_micros: int | None
    currency: str | None
    policy_version: int | None
    rule_name: str | None
    policy_reason: str | None
    approval_id: Id | None
    requested_by: str
    acting: str
    reverses_receipt_id: Id | None
    reversed_by_receipt_id: Id | None
    intended_at: datetime
    settled_at: datetime | None
    settled_by: str | None
    waits_for: str | None


class Settlement(Body):
    """What became of an effect whose answer was lost."""

    outcome: Literal["confirmed", "void"]
    reason: str = Field(min_length=1, max_length=2000, examples=["the bank shows the transfer"])
    external_id: str | None = Field(default=None, max_length=500, examples=["T-4711"])
    result: Any = Field(
        default=None,
        description="what the handler gets; required for confirmed, may be null",
        examples=[{"transfer": "T-4711"}],
    )


class Reversal(Body):
    reason: str | None = Field(default=None, min_length=1, max_length=2000, examples=["paid twice"])


class ReversalJob(BaseModel):
    job_id: Id = Field(description="the job that reverses the effect, under policy")


@router.read("/receipts", summary="Receipts, the newest first", problems=())
async def list_receipts(
    caller: Caller,
    run: Annotated[
        int | None, Query(ge=1, lt=NUMBER_LIMIT >> 20, description="only receipts of this run")
    ] = None,
    state: Annotated[State | None, Query()] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[ReceiptView]:
    after = seek(cursor, "receipts", int)
    found = await caller.perform(
        calls.receipts(caller.tenant_id, run, state, limit + 1, after=None if after is None else after[0])
    )
    return page_of(found, limit, ReceiptView.model_validate, lambda one: [one.receipt_id], "receipts")


@router.read("/receipts/{receipt_id}", summary="One receipt")
async def show_receipt(receipt_id: Number, caller: Caller) -> ReceiptView:
    found = await caller.perform(calls.receipt(caller.tenant_id, receipt_id))
    if found is None:
        raise NotFound(f"receipt {short(receipt_id)} does not exist", field="receipt_id")
    return ReceiptView.model_validate(found)


@router.write(
    "/receipts/{receipt_id}/settle",
    verb="problem.close",
    summary="Settle an unconfirmed receipt",
    problems=_REFUSALS,
)
async def settle_receipt(receipt_id: Number, settlement: Settlement, caller: Caller) -> ReceiptView:
    has_result = "result" in settlement.model_fields_set
    result = json_text.encode(settlement.result, "result") if has_result else None
    await caller.perform(
        calls.settle_by_hand(
            caller.tenant_id,
            receipt_id,
            settlement.outcome,
            caller.actor,
            settlement.reason,
            settlement.external_id,
            result,
        )
    )
    return await show_receipt(receipt_id, caller)


@router.write(
    "/receipts/{receipt_id}/reverse",
    verb="problem.close",
    status=202,
    summary="Enqueue the reversal of an effect",
    problems=_REFUSALS,
)
async def reverse_receipt(receipt_id: Number, reversal: Reversal, caller: Caller) -> ReversalJob:
    call = calls.reverse(caller.tenant_id, receipt_id, caller.actor, reversal.reason)
    job_id = await caller.perform(call)
    return ReversalJob(job_id=str(job_id))
