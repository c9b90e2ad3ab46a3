"""Calls for runs: receives plain values, returns a `Call`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stepwell import json_text
from stepwell.store.connection.arrays import of_objects
from stepwell.store.connection.call import Call, Rows, value, value_or_none

RUN_ENDS = ("completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Started:
    """A run, and whether this call started it."""

    run_id: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class Signalled:
    """`accepted` is false if an event with this key was delivered before."""

    accepted: bool
    woken_unit_id: int | None


class RunStart(NamedTuple):
    """The parameters of fn_run_start in their order: one or more runs of a workflow."""

    tenant_id: int
    workflow: str
    # An array literal of JSON objects: one object for each run.
    inputs: str
    trigger_refs: list[str] | None
    trigger_type: str | None
    actor: str
    version_no: int | None
    priority: int
    trace_id: str | None
    correlation_id: str | None
    is_watched: bool
    workspace: str | None


def labels_text(labels: Mapping[str, str | None]) -> str:
    return json_text.encode(dict(labels), "labels")


def run_start(
    tenant: int,
    workflow: str,
    inputs: Sequence[object],
    *,
    trigger_refs: Sequence[str] | None = None,
    trigger_type: str | None = None,
    actor: str = "client",
    version_no: int | None = None,
    priority: int = 0,
    trace_id: str | None = None,
    correlation_id: str | None = None,
    is_watched: bool = False,
    workspace: str | None = None,
) -> RunStart:
    """One run for each input; `trigger_refs` are their keys."""
    return RunStart(
        tenant, workflow, of_objects(inputs, "input"),
        list(trigger_refs) if trigger_refs is not None else None,
        trigger_type, actor, version_no, priority, trace_id, correlation_id, is_watched, workspace,
    )  # fmt: skip


def start_runs(start: RunStart, labels: Mapping[str, str] | None = None) -> Call[list[Started]]:
    """Start runs; those that are new get the labels, in the same transaction."""
    if not labels:
        return Call(
            "select * from stepwell.fn_run_start("
            "%s, %s, %s::text[]::jsonb[], %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            start,
            _started,
        )
    return Call(
        "select * from stepwell.fn_run_start_labelled("
        "%s::jsonb, %s, %s, %s::text[]::jsonb[], %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (labels_text(labels), *start),
        _started,
    )


def _started(rows: Rows) -> list[Started]:
    return [Started(*row) for row in rows]


def label_runs(
    tenant: int, run_ids: Sequence[int], labels: Mapping[str, str | None], actor: str
) -> Call[dict[int, dict[str, str]]]:
    """Set labels, or remove those that are None; run → its labels after it."""
    return Call(
        "select l.run_id, l.labels from stepwell.fn_run_label(%s, %s::bigint[], %s::jsonb, %s) as l",
        (tenant, list(run_ids), labels_text(labels), actor),
        lambda rows: {row[0]: row[1] for row in rows},
    )


def signal(
    tenant: int, run_id: int, event_type: str, payload: Mapping[str, Any], event_key: str, actor: str
) -> Call[Signalled]:
    return Call(
        "select * from stepwell.fn_signal(%s, %s, %s, %s::jsonb, %s, %s)",
        (tenant, run_id, event_type, json_text.encode(payload, "payload"), event_key, actor),
        lambda rows: Signalled(*rows[0]),
    )


def cancel_run(
    tenant: int,
    run_id: int,
    actor: str,
    reason: str | None,
    approval_id: int | None = None,
    key: str | None = None,
) -> Call[str]:
    evidence = {} if approval_id is None else {"approval_id": approval_id}
    if key is not None:
        return change_once(tenant, _unit(run_id), "workflow_cancel", actor, key, reason, evidence)
    return Call(
        "select stepwell.fn_run_cancel(%s, %s, %s, %s, %s::jsonb)",
        (tenant, run_id, actor, reason, json_text.encode(evidence, "evidence")),
        value,
    )


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


def _unit(run_id: int) -> int:
    return run_id << 20


def pause_run(tenant: int, run_id: int, actor: str, key: str | None = None) -> Call[str]:
    if key is not None:
        return change_once(tenant, _unit(run_id), "workflow_pause", actor, key)
    return Call("select stepwell.fn_run_pause(%s, %s, %s)", (tenant, run_id, actor), value)


def resume_run(tenant: int, run_id: int, actor: str, key: str | None = None) -> Call[str]:
    if key is not None:
        return change_once(tenant, _unit(run_id), "workflow_resume", actor, key)
    return Call("select stepwell.fn_run_resume(%s, %s, %s)", (tenant, run_id, actor), value)


def retry_run(tenant: int, run_id: int, actor: str, reason: str | None, key: str | None = None) -> Call[Any]:
    if key is not None:
        return change_once(tenant, _unit(run_id), "workflow_retry", actor, key, reason)
    return Call("select stepwell.fn_run_retry(%s, %s, %s, %s)", (tenant, run_id, actor, reason), value)


def find_run(tenant: int, workflow: str, key: str) -> Call[int | None]:
    return Call(
        "select r.run_id from stepwell.run_detail as r"
        " where r.tenant_id = %s and r.trigger_type = %s and r.trigger_ref = %s",
        (tenant, workflow, key),
        value_or_none,
    )


def run_outcome(tenant: int, run_id: int) -> Call[tuple[str, Any] | None]:
    """State of a run, and its result if it has completed."""
    return Call(
        "select o.state_code, o.result from stepwell.v_run_outcome as o"
        " where o.tenant_id = %s and o.run_id = %s",
        (tenant, run_id),
        lambda rows: (rows[0][0], rows[0][1]) if rows else None,
    )


def watch_runs(tenant: int, run_ids: Sequence[int]) -> Call[dict[int, tuple[str, Any]]]:
    """Run → state and result; the database will notify the end of each on a channel of `RunEnds`."""
    return Call(
        "select w.run_id, w.state_code, w.result from stepwell.fn_runs_watch(%s, %s::bigint[]) as w",
        (tenant, list(run_ids)),
        lambda rows: {row[0]: (row[1], row[2]) for row in rows},
    )
