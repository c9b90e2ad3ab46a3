"""Calls for free-standing jobs: receives plain values, returns a `Call`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stepwell.define.duration import parse_rate
from stepwell.store.calls import runs
from stepwell.store.connection.arrays import of_objects
from stepwell.store.connection.call import Call, value

JOB_ENDS = ("completed", "cannot_complete", "cancelled")


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A free-standing job, and whether this call created it."""

    job_id: int
    is_new: bool


def enqueue_jobs(
    tenant: int,
    operation: str,
    payloads: Sequence[Mapping[str, Any]],
    *,
    keys: Sequence[str] | None = None,
    priority: int = 0,
    process_after: datetime | None = None,
    concurrency_key: str | None = None,
    max_concurrency: int | None = None,
    max_attempts: int | None = None,
    rate_limit: str | None = None,
    workspace: str | None = None,
    actor: str = "client",
    trace_id: str | None = None,
    correlation_id: str | None = None,
) -> Call[list[Enqueued]]:
    return Call(
        "select * from stepwell.fn_job_enqueue("
        "%s, %s, %s::text[]::jsonb[], %s, %s, %s, %s, %s, %s, %s, %s, %s,"
        " p_rate_count => %s, p_rate_seconds => %s, p_workspace => %s)",
        (
            tenant, operation, of_objects(payloads, "payload"), list(keys) if keys is not None else None,
            priority, process_after, concurrency_key, max_concurrency, max_attempts, actor, trace_id,
            correlation_id,
            *((None, None) if rate_limit is None else parse_rate(rate_limit, "rate_limit")), workspace,
        ),
        lambda rows: [Enqueued(*row) for row in rows],
    )  # fmt: skip


def cancel_job(
    tenant: int, unit_id: int, actor: str, reason: str | None, key: str | None = None
) -> Call[str]:
    if key is not None:
        return runs.change_once(tenant, unit_id, "step_cancel", actor, key, reason)
    return Call("select stepwell.fn_job_cancel(%s, %s, %s, %s)", (tenant, unit_id, actor, reason), value)


def retry_job(tenant: int, unit_id: int, actor: str, reason: str | None, key: str | None = None) -> Call[Any]:
    if key is not None:
        return runs.change_once(tenant, unit_id, "step_retry", actor, key, reason)
    return Call("select stepwell.fn_job_retry(%s, %s, %s, %s)", (tenant, unit_id, actor, reason), value)


def job_outcome(tenant: int, job_id: int) -> Call[tuple[str, Any] | None]:
    return Call(
        "select o.state_code, o.output from stepwell.v_job_outcome as o"
        " where o.tenant_id = %s and o.job_id = %s",
        (tenant, job_id),
        lambda rows: (rows[0][0], rows[0][1]) if rows else None,
    )
