"""Every function of the database that a client calls: receives plain values, hands on a `Call`.

A call is data: whoever has a connection, sync or async, its own or the caller's, carries it out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic_core import to_json

from stepwell.define.duration import parse_rate
from stepwell.store import arrays

T = TypeVar("T")
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One statement, its parameters, and how its rows become a value."""

    text: str
    parameters: tuple[Any, ...]
    decode: Callable[[Rows], T]


@dataclass(frozen=True, slots=True)
class Published:
    version_id: int
    version_no: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class Started:
    """A run, and whether this very call started it."""

    run_id: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A free-standing job, and whether this very call made it."""

    job_id: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class Signalled:
    """`accepted` is false when this event key had been delivered before."""

    accepted: bool
    woken_unit_id: int | None


def tenant_id(code: str) -> Call[int | None]:
    return Call(
        "select t.tenant_id from stepwell.tenant as t where t.tenant_code = %s", (code,), _value_or_none
    )


def publish_workflow(tenant: int, graph: bytes, graph_hash: str, actor: str) -> Call[Published]:
    return Call(
        "select * from stepwell.fn_workflow_publish(%s, %s::jsonb, %s, %s)",
        (tenant, graph.decode(), graph_hash, actor),
        lambda rows: Published(*rows[0]),
    )


def register_operations(tenant: int, operations: Sequence[Mapping[str, Any]]) -> Call[None]:
    return Call(
        "select stepwell.fn_operation_register(%s, %s::jsonb)", (tenant, json.dumps(operations)), _nothing
    )


def start_runs(
    tenant: int,
    workflow: str,
    inputs: Sequence[Mapping[str, Any]],
    *,
    trigger_refs: Sequence[str] | None = None,
    trigger_type: str | None = None,
    actor: str = "client",
    version_no: int | None = None,
    priority: int = 0,
    trace_id: str | None = None,
    correlation_id: str | None = None,
    is_watched: bool = False,
) -> Call[list[Started]]:
    return Call(
        "select * from stepwell.fn_run_start(%s, %s, %s::text[]::jsonb[], %s, %s, %s, %s, %s, %s, %s, %s)",
        (
            tenant, workflow, _json_array(inputs), list(trigger_refs) if trigger_refs is not None else None,
            trigger_type, actor, version_no, priority, trace_id, correlation_id,
            is_watched,
        ),
        lambda rows: [Started(*row) for row in rows],
    )  # fmt: skip


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
    actor: str = "client",
    trace_id: str | None = None,
    correlation_id: str | None = None,
) -> Call[list[Enqueued]]:
    return Call(
        "select * from stepwell.fn_job_enqueue("
        "%s, %s, %s::text[]::jsonb[], %s, %s, %s, %s, %s, %s, %s, %s, %s,"
        " p_rate_count => %s, p_rate_seconds => %s)",
        (
            tenant, operation, _json_array(payloads), list(keys) if keys is not None else None, priority,
            process_after, concurrency_key, max_concurrency, max_attempts, actor, trace_id, correlation_id,
            *((None, None) if rate_limit is None else parse_rate(rate_limit, "rate_limit")),
        ),
        lambda rows: [Enqueued(*row) for row in rows],
    )  # fmt: skip


def signal(
    tenant: int, stream_id: int, event_type: str, payload: Mapping[str, Any], event_key: str, actor: str
) -> Call[Signalled]:
    return Call(
        "select * from stepwell.fn_signal(%s, %s, %s, %s::jsonb, %s, %s)",
        (tenant, stream_id, event_type, to_json(payload).decode(), event_key, actor),
        lambda rows: Signalled(*rows[0]),
    )


def cancel_run(
    tenant: int, run_id: int, actor: str, reason: str | None, approval_id: int | None = None
) -> Call[str]:
    evidence = {} if approval_id is None else {"approval_id": approval_id}
    return Call(
        "select stepwell.fn_run_cancel(%s, %s, %s, %s, %s::jsonb)",
        (tenant, run_id, actor, reason, json.dumps(evidence)),
        _value,
    )


def pause_run(tenant: int, run_id: int, actor: str) -> Call[str]:
    return Call("select stepwell.fn_run_pause(%s, %s, %s)", (tenant, run_id, actor), _value)


def resume_run(tenant: int, run_id: int, actor: str) -> Call[str]:
    return Call("select stepwell.fn_run_resume(%s, %s, %s)", (tenant, run_id, actor), _value)


def retry_run(tenant: int, run_id: int, actor: str, reason: str | None) -> Call[Any]:
    return Call("select stepwell.fn_run_retry(%s, %s, %s, %s)", (tenant, run_id, actor, reason), _value)


def cancel_job(tenant: int, unit_id: int, actor: str, reason: str | None) -> Call[str]:
    return Call("select stepwell.fn_job_cancel(%s, %s, %s, %s)", (tenant, unit_id, actor, reason), _value)


def retry_job(tenant: int, unit_id: int, actor: str, reason: str | None) -> Call[Any]:
    return Call("select stepwell.fn_job_retry(%s, %s, %s, %s)", (tenant, unit_id, actor, reason), _value)


def find_run(tenant: int, workflow: str, key: str) -> Call[int | None]:
    return Call(
        "select r.run_id from stepwell.run_detail as r"
        " where r.tenant_id = %s and r.trigger_type = %s and r.trigger_ref = %s",
        (tenant, workflow, key),
        _value_or_none,
    )


def run_outcome(tenant: int, run_id: int) -> Call[tuple[str, Any] | None]:
    """State of a run, and its result once it has completed."""
    return Call(
        "select u.state_code, case when u.state_code = 'completed'"
        " then stepwell._run_result(u.tenant_id, u.unit_id >> 20) end"
        " from stepwell.work_unit as u where u.tenant_id = %s and u.unit_id = %s::bigint << 20",
        (tenant, run_id),
        lambda rows: (rows[0][0], rows[0][1]) if rows else None,
    )


def watch_run(tenant: int, run_id: int) -> Call[tuple[str, Any] | None]:
    """The same, and the end of the run will be told on the channel of `store.ends`."""
    return Call(
        "select w.state_code, w.result from stepwell.fn_run_watch(%s, %s) as w",
        (tenant, run_id),
        lambda rows: (rows[0][0], rows[0][1]) if rows else None,
    )


def job_outcome(tenant: int, job_id: int) -> Call[tuple[str, Any] | None]:
    return Call(
        "select u.state_code, o.output from stepwell.work_unit as u"
        " left join stepwell.unit_output as o"
        " on u.tenant_id = o.tenant_id and u.unit_id = o.unit_id and u.lease_no = o.lease_no"
        " where u.tenant_id = %s and u.unit_id = %s",
        (tenant, job_id),
        lambda rows: (rows[0][0], rows[0][1]) if rows else None,
    )


def _json_array(values: Sequence[Mapping[str, Any]]) -> str:
    return arrays.of_texts(to_json(value).decode() if value else "{}" for value in values)


def _value(rows: Rows) -> Any:
    return rows[0][0]


def _value_or_none(rows: Rows) -> Any:
    return rows[0][0] if rows else None


def _nothing(rows: Rows) -> None:
    return None
