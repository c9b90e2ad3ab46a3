"""Incident holds: receives what they name, returns calls that give holds, their reach and their evidence."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from stepwell import json_text
from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class Hold:
    """Work that stands still. Open while `released_at` is none; `share` of a hundred runs go on."""

    hold_id: int
    scope_kind: str
    scope_value: str
    reason: str
    share: int
    # open, released (it goes on, not everything has yet) or ended.
    hold_state: str
    opened_at: datetime
    opened_by: str
    opened_event_id: int
    graded_at: datetime | None
    graded_by: str | None
    released_at: datetime | None
    released_by: str | None
    released_event_id: int | None
    ended_at: datetime | None
    reach: dict[str, Any]
    outcome: dict[str, Any] | None
    # Units that wait beside the queue now, clocks that stand still, clocks that were moved.
    held_count: int
    stopped_count: int
    moved_count: int
    has_evidence: bool


_HOLD = ", ".join(f"h.{field.name}" for field in fields(Hold))


def holds(tenant: int, *, with_ended: bool, limit: int, after: int | None = None) -> Call[list[Hold]]:
    """The newest first; `after` is the number of the last one of the page before."""
    return Call(
        f"select {_HOLD} from stepwell.v_incident_hold as h where h.tenant_id = %s"
        " and (%s or h.released_at is null) and (%s::bigint is null or h.hold_id < %s)"
        " order by h.hold_id desc limit %s",
        (tenant, with_ended, after, after, limit),
        lambda rows: [Hold(*row) for row in rows],
    )


def hold(tenant: int, hold_id: int) -> Call[Hold | None]:
    return Call(
        f"select {_HOLD} from stepwell.v_incident_hold as h where h.tenant_id = %s and h.hold_id = %s",
        (tenant, hold_id),
        lambda rows: Hold(*rows[0]) if rows else None,
    )


def reach(tenant: int, kind: str, value: str) -> Call[dict[str, Any]]:
    """What a hold would stop now; nothing is written."""
    return Call("select stepwell.fn_hold_reach(%s, %s, %s)", (tenant, kind, value), lambda rows: rows[0][0])


def open_hold(tenant: int, kind: str, value: str, reason: str, actor: str) -> Call[dict[str, Any]]:
    return Call(
        "select stepwell.fn_hold_open(%s, %s, %s, %s, %s)",
        (tenant, kind, value, reason, actor),
        lambda rows: rows[0][0],
    )


def release(tenant: int, hold_id: int, share: int, reason: str, actor: str) -> Call[dict[str, Any]]:
    """`share` is 10, 50 or 100 of a hundred runs; with 100 the hold is released."""
    return Call(
        "select stepwell.fn_hold_release(%s, %s, %s, %s, %s)",
        (tenant, hold_id, share, reason, actor),
        lambda rows: rows[0][0],
    )


def evidence(tenant: int, hold_id: int) -> Call[dict[str, Any]]:
    """The evidence file of a hold; of one that has not ended, what there is so far."""
    return Call("select stepwell.fn_hold_evidence_read(%s, %s)", (tenant, hold_id), lambda rows: rows[0][0])


def sealed_hashes(tenant: int, numbers: list[int]) -> Call[dict[int, str]]:
    """The hashes of these blocks of the log, as the database has them now."""
    return Call(
        "select b.block_no, encode(b.block_hash, 'hex') from stepwell.audit_block as b"
        " where b.tenant_id = %s and b.block_no = any (%s)",
        (tenant, numbers),
        lambda rows: dict(rows),
    )


def compared(tenant: int, document: dict[str, Any]) -> Call[list[str]]:
    """What differs between an evidence file and the one whose digest the log has."""
    return Call(
        "select stepwell.fn_hold_evidence_compare(%s, %s::jsonb)",
        (tenant, json_text.encode(document, "file")),
        lambda rows: rows[0][0],
    )
