"""Seal the log and record its anchors: receives a tenant, returns new blocks or headers to be anchored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class Due:
    """Tenants with unsealed events; `interval_seconds` 0 means that the keeper seals nothing.

    In `due_in_seconds` the oldest of these events is as old as the interval; None if there is none.
    """

    interval_seconds: int
    tenant_ids: list[int]
    due_in_seconds: float | None


@dataclass(frozen=True, slots=True)
class Sealed:
    """A new block. If `is_full`, there may be more events to seal immediately."""

    block_no: int
    event_count: int
    block_hash: str
    is_full: bool


def due(limit: int) -> Call[Due]:
    return Call(
        "select interval_seconds, tenant_ids, due_in_seconds from stepwell.fn_audit_due(%s)",
        (limit,),
        lambda rows: Due(*rows[0]),
    )


def seal(tenant_id: int) -> Call[Sealed | None]:
    """None if there is nothing new, or if an older transaction is still open and may add earlier events."""
    return Call(
        "select block_no, event_count, encode(block_hash, 'hex'), is_full from stepwell.fn_audit_seal(%s)",
        (tenant_id,),
        lambda rows: Sealed(*rows[0]) if rows else None,
    )


def anchor_headers(
    tenant_id: int, anchor: str, public_key: str | None, limit: int
) -> Call[list[dict[str, Any]]]:
    """Headers that were not written to the anchor yet, oldest first; with a new key, the head once more."""
    return Call(
        "select stepwell.fn_anchor_headers(%s, %s, %s, %s)",
        (tenant_id, anchor, public_key, limit),
        lambda rows: rows[0][0] or [],
    )


def anchor_due(anchor: str, public_key: str | None) -> Call[list[int]]:
    return Call("select stepwell.fn_anchor_due(%s, %s)", (anchor, public_key), lambda rows: rows[0][0] or [])


def anchor_written(
    tenant_id: int, anchor: str, block_no: int | None, public_key: str | None, error: str | None
) -> Call[None]:
    return Call(
        "select stepwell.fn_anchor_written(%s, %s, %s, %s, %s)",
        (tenant_id, anchor, block_no, public_key, error),
        lambda rows: None,
    )
