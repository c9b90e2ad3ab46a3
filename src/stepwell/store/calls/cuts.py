"""Calls for cuts of content: receives plain values, returns a `Call`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stepwell import json_text
from stepwell.store.connection.call import Call

_COLUMNS = (
    "c.cut_request_id, c.op, c.state_code, c.sources, c.targets, c.attempt_count, c.reason, c.error_code,"
    " c.requested_by, c.requested_at, c.finished_at"
)


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut of content: what was asked, its state, and the reason if it failed."""

    cut_request_id: int
    op: str
    state_code: str
    sources: list[str]
    targets: list[str]
    attempt_count: int
    reason: str | None
    error_code: str | None
    requested_by: str
    requested_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class LifeLine:
    """One line of the life of a content unit."""

    at: datetime
    what: str
    severity: str
    detail: str | None
    axis_inconsistency: bool
    cut_request_id: int | None
    written_by: str


def _asked(statement: str, values: tuple[Any, ...]) -> Call[int]:
    """A call that returns the number of the request."""
    return Call(f"select ({statement} ->> 'cut_request_id')::bigint", values, lambda rows: rows[0][0])


def split(
    tenant: int,
    code: str,
    parts: Sequence[Mapping[str, Any]],
    actor: str,
    version_no: int | None,
    key: str | None,
) -> Call[int]:
    return _asked(
        "stepwell.fn_iu_op_split(%s, %s, %s::jsonb, %s, %s, %s)",
        (tenant, code, json_text.encode(list(parts), "parts"), actor, version_no, key),
    )


def merge(
    tenant: int,
    codes: Sequence[str],
    into: str,
    actor: str,
    separator: str,
    labels: Mapping[str, str],
    key: str | None,
) -> Call[int]:
    return _asked(
        "stepwell.fn_iu_op_merge(%s, %s, %s, %s, %s, %s::jsonb, %s)",
        (tenant, list(codes), into, actor, separator, json_text.encode(labels, "labels"), key),
    )


def restage(tenant: int, code: str, version_no: int, actor: str, key: str | None) -> Call[int]:
    return _asked("stepwell.fn_iu_op_restage(%s, %s, %s, %s, %s)", (tenant, code, version_no, actor, key))


def retry(tenant: int, cut_request_id: int, actor: str) -> Call[int]:
    return _asked("stepwell.fn_iu_op_retry(%s, %s, %s)", (tenant, cut_request_id, actor))


def cancel(tenant: int, cut_request_id: int, actor: str, reason: str | None) -> Call[int]:
    return _asked("stepwell.fn_iu_op_cancel(%s, %s, %s, %s)", (tenant, cut_request_id, actor, reason))


def read(tenant: int, cut_request_id: int | None, state: str | None, limit: int) -> Call[list[Cut]]:
    """Cuts, the newest first."""
    return Call(
        f"select {_COLUMNS} from stepwell.cut_request as c where c.tenant_id = %s"
        " and (%s::bigint is null or c.cut_request_id = %s) and (%s::text is null or c.state_code = %s)"
        " order by c.cut_request_id desc limit %s",
        (tenant, cut_request_id, cut_request_id, state, state, limit),
        lambda rows: [Cut(*row) for row in rows],
    )


def life(tenant: int, code: str, limit: int) -> Call[list[LifeLine]]:
    """The life of a content unit, the newest line first."""
    return Call(
        "select l.written_at, l.what, l.severity, l.detail, l.axis_inconsistency, l.cut_request_id,"
        " l.written_by from stepwell.iu_lifecycle_log as l where l.tenant_id = %s and l.iu_code = %s"
        " order by l.entry_id desc limit %s",
        (tenant, code, limit),
        lambda rows: [LifeLine(*row) for row in rows],
    )
