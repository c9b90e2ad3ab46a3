"""Calls for actions and receipts: receives plain values, returns a `Call`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from stepwell.store.connection.call import Call, Rows


@dataclass(frozen=True, slots=True)
class Receipt:
    """The record of an effect in another system: intended, confirmed, unconfirmed, void or reversed."""

    receipt_id: int
    state_code: str
    # None for the action of a free-standing job.
    run_id: int | None
    step_run_id: int
    step_id: str | None
    idempotency_key: str
    connector: str
    operation: str
    target: str
    action_hash: str
    writes: bool
    reversible: bool
    try_count: int
    request_metadata: dict[str, Any]
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
    approval_id: int | None
    requested_by: str
    acting: str
    reverses_receipt_id: int | None
    reversed_by_receipt_id: int | None
    intended_at: datetime
    settled_at: datetime | None
    settled_by: str | None
    waits_for: str | None


@dataclass(frozen=True, slots=True)
class Proposed:
    """The answer to a proposed action; `answer` is one of the values of fn_action_propose."""

    answer: str
    idempotency_key: str
    receipt_id: int | None = None
    result: Any = None
    may_perform: bool = False
    reason_code: str | None = None
    reason: str | None = None
    approval_id: int | None = None
    # Of the answer `held`: the incident hold, and when to try again.
    hold_id: int | None = None
    retry_seconds: float | None = None


_RECEIPT = ", ".join(f"r.{field.name}" for field in fields(Receipt))
_PROPOSED = tuple(field.name for field in fields(Proposed))


def propose(
    session_key: int, tenant: int, unit_id: int, lease_no: int, action: str, fault: str | None
) -> Call[Proposed]:
    return Call(
        "select stepwell.fn_action_propose(%s, %s, %s, %s, %s::jsonb, %s)",
        (session_key, tenant, unit_id, lease_no, action, fault),
        lambda rows: Proposed(**{name: rows[0][0][name] for name in _PROPOSED if name in rows[0][0]}),
    )


def settle(
    session_key: int, tenant: int, unit_id: int, lease_no: int, receipt_id: int, outcome: str, effect: str
) -> Call[dict[str, Any]]:
    return Call(
        "select stepwell.fn_action_settle(%s, %s, %s, %s, %s, %s, %s::jsonb)",
        (session_key, tenant, unit_id, lease_no, receipt_id, outcome, effect),
        _value,
    )


def reversal(
    session_key: int, tenant: int, unit_id: int, lease_no: int, receipt_id: int
) -> Call[dict[str, Any]]:
    return Call(
        "select stepwell.fn_action_reversal(%s, %s, %s, %s, %s)",
        (session_key, tenant, unit_id, lease_no, receipt_id),
        _value,
    )


def settle_by_hand(
    tenant: int,
    receipt_id: int,
    outcome: str,
    actor: str,
    reason: str | None,
    external_id: str | None,
    result: str | None,
) -> Call[str]:
    return Call(
        "select stepwell.fn_receipt_settle(%s, %s, %s, %s, %s, %s, %s::jsonb)",
        (tenant, receipt_id, outcome, actor, reason, external_id, result),
        _value,
    )


def reverse(tenant: int, receipt_id: int, actor: str, reason: str | None) -> Call[int]:
    return Call(
        "select stepwell.fn_receipt_reverse(%s, %s, %s, %s)", (tenant, receipt_id, actor, reason), _value
    )


def receipts(
    tenant: int, run_id: int | None, state: str | None, limit: int, *, after: int | None = None
) -> Call[list[Receipt]]:
    """The newest first; `after` is the number of the last one of the page before."""
    return Call(
        f"select {_RECEIPT} from stepwell.v_action_receipt as r where r.tenant_id = %s"
        " and (%s::bigint is null or r.step_run_id between %s::bigint << 20 and ((%s::bigint + 1) << 20) - 1)"
        " and (%s::text is null or r.state_code = %s) and (%s::bigint is null or r.receipt_id < %s)"
        " order by r.receipt_id desc limit %s",
        (tenant, run_id, run_id, run_id, state, state, after, after, limit),
        lambda rows: [Receipt(*row) for row in rows],
    )


def receipt(tenant: int, receipt_id: int) -> Call[Receipt | None]:
    return Call(
        f"select {_RECEIPT} from stepwell.v_action_receipt as r where r.tenant_id = %s and r.receipt_id = %s",
        (tenant, receipt_id),
        lambda rows: Receipt(*rows[0]) if rows else None,
    )


def _value(rows: Rows) -> Any:
    return rows[0][0]
