"""A run in time and one step of it: receives numbers, returns JSON as the database writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepwell.store.connection.call import Call, value


def step_body(
    tenant: int, run_id: int, no: int, parts: Sequence[str], events_before: int | None
) -> Call[str]:
    return Call(
        "select stepwell.fn_step_body(%s, %s, %s::text[], %s)::text",
        (tenant, (run_id << 20) + no, list(parts), events_before),
        value,
    )


def density(tenant: int, run_id: int, buckets: int) -> Call[str]:
    return Call("select stepwell.fn_run_density(%s, %s, %s)::text", (tenant, run_id, buckets), value)


def segments(tenant: int, run_id: int) -> Call[dict[str, Any]]:
    return Call("select stepwell.fn_run_segments(%s, %s)", (tenant, run_id), value)
