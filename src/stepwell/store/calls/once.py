"""Changes of a run, step or job that happen once for each key: receives values, returns a `Call`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepwell import json_text
from stepwell.store.connection.call import Call, value


def change_once(
    tenant: int,
    unit_id: int,
    call: str,
    actor: str,
    key: str,
    reason: str | None = None,
    evidence: Mapping[str, Any] | None = None,
) -> Call[Any]:
    """The first answer of this call with this key; a repeat changes nothing."""
    return Call(
        "select stepwell.fn_change_once(%s, %s, %s, %s, %s, %s, %s::jsonb)",
        (tenant, unit_id, call, actor, key, reason, json_text.encode(dict(evidence or {}), "evidence")),
        value,
    )
