"""Calls for job graphs and event routes: receives plain values, returns a `Call`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, TypeVar

from stepwell import json_text
from stepwell.store.calls.leases import Lease
from stepwell.store.connection.call import Call, Rows, value

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JobTemplate:
    """A template of job graphs, in its newest version."""

    template_id: str
    workflow_kind: str
    description: str
    version_no: int
    job_count: int
    template: dict[str, Any]
    registered_at: datetime
    registered_by: str


@dataclass(frozen=True, slots=True)
class EmittedGraph:
    """A job workflow and its jobs, and whether this call emitted it."""

    workflow_id: int
    step_job_ids: tuple[int, ...]
    count: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class JobWorkflow:
    """A graph of jobs that was emitted, and how many of its jobs are in which state."""

    workflow_id: int
    workflow_kind: str
    generator: str
    template_id: str
    template_version: int
    status: str
    correlation_id: str | None
    params_keys: list[str]
    job_count: int
    waiting_steps: int
    queued_steps: int
    in_progress_steps: int
    retry_waiting_steps: int
    parked_steps: int
    succeeded_steps: int
    dead_letter_steps: int
    cancelled_steps: int
    parent_workflow_id: int | None
    emitted_by: str
    enqueued_at: datetime
    finished_at: datetime | None
    refreshed_at: datetime | None


@dataclass(frozen=True, slots=True)
class GraphJob:
    """A job of a job workflow; a nested graph is a job without executor."""

    job_id: int
    local_id: str
    job_kind: str | None
    executor: str | None
    state_code: str
    join: str
    parents: list[int]
    source_ref: str | None
    target_ref: str | None
    payload_ref: str | None
    process_after: datetime | None
    priority: int
    attempt: int
    max_attempts: int
    nested_workflow_id: int | None


@dataclass(frozen=True, slots=True)
class EventRoute:
    """An event of this type enqueues a job of this operation."""

    name: str
    event_type: str
    operation: str
    fields: list[str]
    priority: int
    created_at: datetime
    created_by: str


def register_template(tenant: int, template: Mapping[str, Any], actor: str) -> Call[tuple[str, int, bool]]:
    """Id, version and whether the version is new."""
    return Call(
        "select t.template_id, t.version_no, t.is_new"
        " from stepwell.fn_job_template_register(%s, %s::jsonb, %s) as t",
        (tenant, json_text.encode(template, "template"), actor),
        lambda rows: (rows[0][0], rows[0][1], rows[0][2]),
    )


_TEMPLATE_COLUMNS = ", ".join(f"t.{field.name}" for field in fields(JobTemplate))


def list_templates(tenant: int, template_id: str | None = None) -> Call[list[JobTemplate]]:
    return Call(
        f"select {_TEMPLATE_COLUMNS} from stepwell.v_job_template as t"
        " where t.tenant_id = %s and (%s::text is null or t.template_id = %s)"
        " order by t.template_id limit 500",
        (tenant, template_id, template_id),
        _list(JobTemplate),
    )


def emit_graph(
    tenant: int,
    template_id: str,
    params: Mapping[str, Any],
    *,
    actor: str,
    correlation_id: str | None = None,
    key: str | None = None,
    priority: int = 0,
    workspace: str | None = None,
    trace_id: str | None = None,
) -> Call[EmittedGraph]:
    return Call(
        "select stepwell.fn_mot_graph_emit(%s, %s, %s::jsonb, %s, %s, %s, %s, %s, %s)",
        (
            tenant, template_id, json_text.encode(params, "params"), correlation_id, actor, key, priority,
            workspace, trace_id,
        ),
        _emitted,
    )  # fmt: skip


def _emitted(rows: Rows) -> EmittedGraph:
    found = rows[0][0]
    return EmittedGraph(found["workflow_id"], tuple(found["step_job_ids"]), found["count"], found["is_new"])


_WORKFLOW_COLUMNS = ", ".join(f"w.{field.name}" for field in fields(JobWorkflow))


def find_workflows(
    tenant: int, *, template_id: str | None, status: str | None, before: int | None, limit: int
) -> Call[list[int]]:
    """The numbers of job workflows, the newest first."""
    given: list[tuple[str, tuple[Any, ...]]] = [("w.tenant_id = %s", (tenant,))]
    if template_id is not None:
        given.append(("w.template_id = %s", (template_id,)))
    if status is not None:
        # The stored status is older than the derived one only where it is active: it has an index.
        given.append(("w.stored_status in ('active', %s) and w.status = %s", (status, status)))
    if before is not None:
        given.append(("w.workflow_id < %s", (before,)))
    return Call(
        f"select w.workflow_id from stepwell.job_workflow as w where {' and '.join(one for one, _ in given)}"
        " order by w.workflow_id desc limit %s",
        (*(value for _, values in given for value in values), min(max(limit, 1), 1000)),
        lambda rows: [row[0] for row in rows],
    )


def job_workflows(tenant: int, workflow_ids: Sequence[int]) -> Call[list[JobWorkflow]]:
    """These job workflows with the counts of their jobs, the newest first."""
    return Call(
        f"select {_WORKFLOW_COLUMNS} from stepwell.v_job_workflow_health as w"
        " where w.tenant_id = %s and w.workflow_id = any (%s::bigint[]) order by w.workflow_id desc",
        (tenant, list(workflow_ids)),
        _list(JobWorkflow),
    )


def job_workflow(tenant: int, workflow_id: int) -> Call[JobWorkflow | None]:
    return Call(
        f"select {_WORKFLOW_COLUMNS} from stepwell.v_job_workflow_health as w"
        " where w.tenant_id = %s and w.workflow_id = %s",
        (tenant, workflow_id),
        lambda rows: JobWorkflow(*rows[0]) if rows else None,
    )


def graph_jobs(tenant: int, workflow_id: int, after: int | None, limit: int) -> Call[list[GraphJob]]:
    """The jobs in the order of the template, after one of them or from the first."""
    return Call(
        "select g.job_id, g.local_id, g.job_kind, g.executor, g.state_code, g.join_kind, g.parents,"
        " g.source_ref, g.target_ref, g.payload_ref, g.process_after, g.priority, g.attempt, g.max_attempts,"
        " g.nested_workflow_id from stepwell.v_graph_job as g"
        " where g.tenant_id = %s and g.workflow_id = %s and g.job_id > %s order by g.job_id limit %s",
        (tenant, workflow_id, after or 0, min(max(limit, 1), 1001)),
        _list(GraphJob),
    )


def retry_graph(tenant: int, workflow_id: int, actor: str, reason: str | None) -> Call[dict[str, Any]]:
    return Call(
        "select stepwell.fn_job_workflow_retry(%s, %s, %s, %s)", (tenant, workflow_id, actor, reason), value
    )


def refresh_graph(tenant: int, workflow_id: int) -> Call[dict[str, Any]]:
    return Call("select stepwell.fn_job_workflow_refresh(%s, %s)", (tenant, workflow_id), value)


def refresh_graphs(session_key: int, lease: Lease) -> Call[dict[str, Any]]:
    """The job job_workflow_refresh: how many job workflows were refreshed, and how many changed."""
    return Call(
        "select stepwell.fn_job_workflows_refresh(%s, %s, %s, %s)",
        (session_key, lease.tenant_id, lease.unit_id, lease.lease_no),
        value,
    )


def set_route(
    tenant: int, name: str, event_type: str, operation: str, fields: Sequence[str], priority: int, actor: str
) -> Call[bool]:
    """Whether the route is new."""
    return Call(
        "select stepwell.fn_event_route_set(%s, %s, %s, %s, %s::text[], %s, %s)",
        (tenant, name, event_type, operation, list(fields), priority, actor),
        value,
    )


def delete_route(tenant: int, name: str) -> Call[bool]:
    """Whether there was such a route."""
    return Call("select stepwell.fn_event_route_delete(%s, %s)", (tenant, name), value)


def list_routes(tenant: int, name: str | None = None) -> Call[list[EventRoute]]:
    return Call(
        "select r.route_name, r.event_type, r.operation_name, r.fields, r.priority, r.created_at,"
        " r.created_by from stepwell.v_event_route as r"
        " where r.tenant_id = %s and (%s::text is null or r.route_name = %s) order by r.route_name limit 500",
        (tenant, name, name),
        _list(EventRoute),
    )


def _list(kind: type[T]) -> Any:
    return lambda rows: [kind(*row) for row in rows]
