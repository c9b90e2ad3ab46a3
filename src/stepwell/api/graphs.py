"""Job graphs and event routes: receives templates and params, returns job workflows and their jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BaseModel, Field

from stepwell.api.accepted import Body
from stepwell.api.caller import NUMBER_LIMIT, Caller
from stepwell.api.calls import calls_of
from stepwell.api.jobs import Because, Name, Retried
from stepwell.api.pages import Cursor, Limit, Page, page_of, seek
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Shown
from stepwell.errors import InvalidInput

router = Resource("graphs")

TemplateId = Annotated[str, Path(min_length=1, max_length=100)]
RouteName = Annotated[str, Path(min_length=1, max_length=100)]
WorkflowId = Annotated[int, Path(ge=1, lt=NUMBER_LIMIT >> 20)]
Status = Literal["active", "succeeded", "failed", "partially_failed", "cancelled"]


class JobTemplateView(Shown):
    """A template of job graphs, in its newest version."""

    template_id: str
    workflow_kind: str
    description: str
    version_no: int
    job_count: int
    template: dict[str, Any]
    registered_at: datetime
    registered_by: str


class Template(Body):
    """A template of job graphs: its params, and jobs with their parents."""

    template_id: str | None = Field(
        default=None, max_length=100, description="as in the path, or left out", examples=["order-intake"]
    )
    workflow_kind: str | None = Field(default=None, min_length=1, max_length=63, examples=["order"])
    description: str | None = Field(
        default=None, max_length=2000, examples=["fetches an order and checks it"]
    )
    params: dict[str, Any] = Field(
        default_factory=dict,
        description="a JSON Schema for each param",
        examples=[{"order_id": {"type": "string"}}],
    )
    jobs: list[dict[str, Any]] = Field(examples=[[{"local_id": "fetch", "job_kind": "orders.fetch"}]])


class Emit(Body):
    """A graph of jobs. A second one with the same key returns the first."""

    template_id: str = Field(min_length=1, max_length=100, examples=["order-intake"])
    params: dict[str, Any] = Field(
        default_factory=dict,
        description="signals: ids and references, no data",
        examples=[{"order_id": "A-1"}],
    )
    key: str | None = Field(default=None, min_length=1, max_length=500, examples=["A-1"])
    correlation_id: Name | None = Field(default=None, examples=["order-4711"])
    priority: int = Field(default=0, ge=-1000, le=1000, examples=[10])
    workspace: Name | None = Field(default=None, examples=["night"])


class EmittedView(Shown):
    workflow_id: Id
    step_job_ids: list[Id]
    count: int
    is_new: bool


class JobWorkflowView(Shown):
    """A job workflow; its number is that of a run."""

    workflow_id: Id
    workflow_kind: str
    generator: str
    template_id: str
    template_version: int
    status: Status
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
    parent_workflow_id: Id | None
    emitted_by: str
    enqueued_at: datetime
    finished_at: datetime | None
    refreshed_at: datetime | None


class GraphJobView(Shown):
    """A job of a job workflow; a nested graph has no job_kind."""

    job_id: Id
    local_id: str
    job_kind: str | None
    executor: str | None
    state_code: str
    join: str = Field(description="all: after all parents; any: after one of them")
    parents: list[Id]
    source_ref: str | None
    target_ref: str | None
    payload_ref: str | None
    process_after: datetime | None
    priority: int
    attempt: int
    max_attempts: int
    nested_workflow_id: Id | None


class Refreshed(BaseModel):
    status: Status
    is_changed: bool = Field(description="whether it differs from the status of the refresh before")


class EventRouteView(Shown):
    name: str
    event_type: str
    operation: str
    fields: list[str]
    priority: int
    created_at: datetime
    created_by: str


class EventRouteChange(Body):
    """From now on, each event of the type enqueues a job of the operation."""

    event_type: Name = Field(examples=["order.found"])
    operation: Name = Field(examples=["ship"])
    fields: list[str] = Field(
        default_factory=list,
        max_length=20,
        description="what the job gets of the event",
        examples=[["order_id"]],
    )
    priority: int = Field(default=0, ge=-1000, le=1000, examples=[10])


@router.read("/graph-templates", summary="Templates of job graphs, by id", problems=())
async def list_graph_templates(caller: Caller) -> list[JobTemplateView]:
    return [JobTemplateView.model_validate(one) for one in await calls_of(caller).job_templates()]


@router.read("/graph-templates/{template_id}", summary="One template")
async def show_graph_template(template_id: TemplateId, caller: Caller) -> JobTemplateView:
    return JobTemplateView.model_validate(await calls_of(caller).job_template(template_id))


@router.write(
    "/graph-templates/{template_id}",
    method="PUT",
    verb="workflow.publish",
    summary="Register a template",
    problems=(),
)
async def register_graph_template(
    template_id: TemplateId, template: Template, caller: Caller
) -> JobTemplateView:
    if template.template_id not in (None, template_id):
        raise InvalidInput(
            f"template_id: must be {template_id}, as in the path, or left out", field="template_id"
        )
    given = template.model_dump(exclude_none=True) | {"template_id": template_id}
    return JobTemplateView.model_validate(await calls_of(caller).job_template_register(given))


@router.write("/graphs", verb="graph.emit", status=201, summary="Emit a graph of jobs")
async def emit_graph(emit: Emit, caller: Caller) -> EmittedView:
    made = await calls_of(caller).graph_emit(
        emit.template_id,
        emit.params,
        key=emit.key,
        correlation_id=emit.correlation_id,
        priority=emit.priority,
        workspace=emit.workspace,
        trace_id=caller.trace_id or None,
    )
    return EmittedView.model_validate(made)


@router.read("/graphs", summary="Job workflows, the newest first", problems=())
async def list_graphs(
    caller: Caller,
    template: Annotated[str | None, Query(max_length=100)] = None,
    status: Annotated[Status | None, Query()] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[JobWorkflowView]:
    after = seek(cursor, "graphs", int)
    found = await calls_of(caller).job_workflows(
        template=template, status=status, before=None if after is None else after[0], limit=limit + 1
    )
    return page_of(found, limit, JobWorkflowView.model_validate, lambda one: [one.workflow_id], "graphs")


@router.read("/graphs/{workflow_id}", summary="One job workflow")
async def show_graph(workflow_id: WorkflowId, caller: Caller) -> JobWorkflowView:
    return JobWorkflowView.model_validate(await calls_of(caller).job_workflow(workflow_id))


@router.read("/graphs/{workflow_id}/jobs", summary="The jobs of a job workflow, in the order of its template")
async def list_graph_jobs(
    workflow_id: WorkflowId, caller: Caller, limit: Limit = 50, cursor: Cursor = None
) -> Page[GraphJobView]:
    await calls_of(caller).job_workflow(workflow_id)
    after = seek(cursor, "graph-jobs", int)
    found = await calls_of(caller).graph_jobs(
        workflow_id, after=None if after is None else after[0], limit=limit + 1
    )
    return page_of(found, limit, GraphJobView.model_validate, lambda one: [one.job_id], "graph-jobs")


@router.write(
    "/graphs/{workflow_id}/retry",
    verb="run.retry",
    summary="Retry the dead jobs of a job workflow",
    problems=("not_found", "conflict", "refused"),
)
async def retry_graph(workflow_id: WorkflowId, because: Because, caller: Caller) -> Retried:
    return Retried(answer=await calls_of(caller).graph_retry(workflow_id, because.reason))


@router.write(
    "/graphs/{workflow_id}/refresh", verb="run.start", summary="Count the jobs of a job workflow again"
)
async def refresh_graph(workflow_id: WorkflowId, caller: Caller) -> Refreshed:
    return Refreshed.model_validate(await calls_of(caller).graph_refresh(workflow_id))


@router.read("/event-routes", summary="Event routes, by name", problems=())
async def list_event_routes(caller: Caller) -> list[EventRouteView]:
    return [EventRouteView.model_validate(one) for one in await calls_of(caller).event_routes()]


@router.write(
    "/event-routes/{name}",
    method="PUT",
    verb="workflow.publish",
    summary="Create or change an event route",
    problems=(),
)
async def set_event_route(name: RouteName, change: EventRouteChange, caller: Caller) -> EventRouteView:
    made = await calls_of(caller).event_route_set(
        name, change.event_type, change.operation, fields=change.fields, priority=change.priority
    )
    return EventRouteView.model_validate(made)


@router.write(
    "/event-routes/{name}",
    method="DELETE",
    status=204,
    verb="workflow.publish",
    summary="Delete an event route",
)
async def delete_event_route(name: RouteName, caller: Caller) -> None:
    await calls_of(caller).event_route_delete(name)
