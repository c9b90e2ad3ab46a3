"""Saved views: receives filters and names, returns calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stepwell import json_text
from stepwell.store.connection.call import Call, nothing, value


@dataclass(frozen=True, slots=True)
class SavedView:
    """A filter of a list with a name; of one person, or shared."""

    view_id: int
    page: str
    name: str
    filter: dict[str, Any]
    columns: list[str]
    is_shared: bool
    owner: str
    is_mine: bool
    changed_at: datetime


def views(tenant: int, page: str | None) -> Call[list[SavedView]]:
    return Call(
        "select * from stepwell.fn_views_read(%s, %s)",
        (tenant, page),
        lambda rows: [SavedView(*row) for row in rows],
    )


def save(
    tenant: int,
    page: str,
    name: str,
    filter: Mapping[str, Any],
    columns: Sequence[str],
    is_shared: bool,
    view_id: int | None = None,
) -> Call[int]:
    return Call(
        "select stepwell.fn_view_save(%s, %s, %s, %s::jsonb, %s::text[], %s, %s)",
        (tenant, page, name, json_text.encode(filter, "filter"), list(columns), is_shared, view_id),
        value,
    )


def delete(tenant: int, view_id: int) -> Call[None]:
    return Call("select stepwell.fn_view_delete(%s, %s)", (tenant, view_id), nothing)
