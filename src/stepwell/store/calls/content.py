"""Calls for content units: receives plain values, returns a `Call`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stepwell import json_text
from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class Written:
    """A version, and whether this call created it."""

    iu_id: int
    version_no: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class ContentVersion:
    """One version of a content unit; it never changes."""

    code: str
    version_no: int
    body: str
    content_hash: str
    written_at: datetime
    written_by: str
    note: str | None
    labels: dict[str, str]


@dataclass(frozen=True, slots=True)
class PinnedContent:
    """The content that a step of a run shows."""

    code: str
    version_no: int
    body: str
    label_vi: str | None
    label_en: str | None
    items: list[dict[str, Any]] | None


def write(
    tenant: int,
    code: str,
    body: str,
    actor: str,
    labels: Mapping[str, str],
    items: Sequence[str] | None,
    note: str | None,
) -> Call[Written]:
    return Call(
        "select * from stepwell.fn_content_write(%s, %s, %s, %s, %s::jsonb, %s, %s)",
        (
            tenant, code, body, actor, json_text.encode(labels, "labels"),
            None if items is None else list(items), note,
        ),
        lambda rows: Written(*rows[0]),
    )  # fmt: skip


def versions(tenant: int, code: str, version_no: int | None = None) -> Call[list[ContentVersion]]:
    """Versions of a content unit, the newest first; or only the version with this number."""
    return Call(
        "select v.iu_code, v.version_no, v.body, v.content_hash, v.written_at, v.written_by, v.note, v.labels"
        " from stepwell.v_content_version as v"
        " where v.tenant_id = %s and v.iu_code = %s and (%s::int is null or v.version_no = %s)"
        " order by v.version_no desc limit 500",
        (tenant, code, version_no, version_no),
        lambda rows: [ContentVersion(*row) for row in rows],
    )


def pinned(tenant: int, unit_id: int) -> Call[PinnedContent | None]:
    return Call(
        "select c.iu_code, c.pinned_version_no, c.body, c.label_vi, c.label_en, c.items"
        " from stepwell.v_step_run_content as c where c.tenant_id = %s and c.step_run_id = %s",
        (tenant, unit_id),
        lambda rows: PinnedContent(*rows[0]) if rows else None,
    )
