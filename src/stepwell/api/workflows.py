"""Show and publish workflows: receives a graph or a text in YAML, returns versions that never change."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import Field

from stepwell.api.accepted import Body
from stepwell.api.caller import BoundCaller, Caller
from stepwell.api.pages import Cursor, Limit, Page, page_of, seek
from stepwell.api.resource import Resource
from stepwell.api.shown import Shown
from stepwell.define import Graph, freeze, read_yaml
from stepwell.errors import InvalidInput, NotFound
from stepwell.store.calls import publish, words
from stepwell.store.calls import workflows as calls

router = Resource("workflows")

WorkflowName = Annotated[str, Path(min_length=1, max_length=200)]
VersionNo = Annotated[int, Path(ge=1, lt=2**31 - 1)]
Cap = Annotated[int | None, Field(ge=0, lt=2**31)]


class WorkflowView(Shown):
    """A workflow, its newest version and its caps."""

    name: str = Field(examples=["order.process"])
    title: str | None
    version_no: int
    version_count: int
    step_count: int
    published_at: datetime
    published_by: str
    input_schema: dict[str, Any] | None = Field(description="JSON Schema; null accepts every input")
    max_concurrency: int | None
    max_runs_per_min: int | None
    max_writes_per_run: int | None


class VersionView(Shown):
    """One published version; it never changes."""

    name: str
    version_no: int
    title: str | None
    failure_policy: str
    step_count: int
    graph_hash: str
    published_at: datetime
    published_by: str
    input_schema: dict[str, Any] | None


class GraphView(VersionView):
    document: dict[str, Any] = Field(description="the graph as it was published")


class Publication(Body):
    """A workflow to publish: its graph, or its text in YAML."""

    graph: dict[str, Any] | None = Field(default=None, examples=[{"name": "order.process", "steps": []}])
    yaml: str | None = Field(
        default=None,
        max_length=1_000_000,
        examples=["workflow: order.process\nsteps:\n  - id: pack\n    operation: pack\n"],
    )


class Published(Shown):
    version_no: int
    is_new: bool = Field(description="false: the newest version is the same")


class WorkflowCaps(Body):
    """Caps; one that is not given stays, null removes it."""

    max_concurrency: Cap = Field(default=None, examples=[20])
    max_runs_per_min: Cap = Field(default=None, examples=[600])
    max_writes_per_run: Cap = Field(default=None, examples=[1_000])


@router.read("/workflows", summary="Workflows, by name", problems=())
async def list_workflows(caller: Caller, limit: Limit = 50, cursor: Cursor = None) -> Page[WorkflowView]:
    after = seek(cursor, "workflows", str)
    found = await caller.perform(
        calls.workflows(caller.tenant_id, after=None if after is None else after[0], limit=limit + 1)
    )
    return page_of(found, limit, WorkflowView.model_validate, lambda one: [one.name], "workflows")


@router.read("/workflows/{name}", summary="One workflow")
async def show_workflow(name: WorkflowName, caller: Caller) -> WorkflowView:
    found = await caller.perform(calls.workflow(caller.tenant_id, name))
    if found is None:
        raise await _missing(caller, name)
    return WorkflowView.model_validate(found)


@router.read("/workflows/{name}/versions", summary="The versions of a workflow, the newest first")
async def list_versions(
    name: WorkflowName, caller: Caller, limit: Limit = 50, cursor: Cursor = None
) -> Page[VersionView]:
    before = seek(cursor, "versions", int)
    found = await caller.perform(
        calls.versions(caller.tenant_id, name, before=None if before is None else before[0], limit=limit + 1)
    )
    if not found and before is None:
        raise await _missing(caller, name)
    return page_of(found, limit, VersionView.model_validate, lambda one: [one.version_no], "versions")


@router.read("/workflows/{name}/versions/{version_no}", summary="One version with its graph")
async def show_version(name: WorkflowName, version_no: VersionNo, caller: Caller) -> GraphView:
    found = await caller.perform(calls.versions(caller.tenant_id, name, before=version_no + 1, limit=1))
    if not found or found[0].version_no != version_no:
        raise NotFound(f"workflow {name} has no version {version_no}", field="version_no")
    return GraphView.model_validate(found[0])


@router.write(
    "/workflows", verb="workflow.publish", status=201, summary="Publish a workflow", problems=("conflict",)
)
async def publish_workflow(publication: Publication, caller: Caller) -> Published:
    if (publication.graph is None) == (publication.yaml is None):
        raise InvalidInput("give either graph or yaml", field="body")
    if publication.graph is not None:
        graph = Graph.from_json(publication.graph)
    else:
        graph = freeze(read_yaml(publication.yaml or "", file="body.yaml"))
    done = await caller.perform(publish.publish_workflow(caller.tenant_id, graph.canonical, caller.actor))
    return Published.model_validate(done)


@router.write(
    "/workflows/{name}/caps", method="PUT", verb="workflow.publish", summary="Change the caps of a workflow"
)
async def change_workflow_caps(name: WorkflowName, caps: WorkflowCaps, caller: Caller) -> WorkflowView:
    await caller.perform(calls.set_workflow_caps(caller.tenant_id, name, caps.model_dump(exclude_unset=True)))
    return await show_workflow(name, caller)


async def _missing(caller: BoundCaller, name: str) -> NotFound:
    hint = await caller.perform(words.suggestion(caller.tenant_id, "workflow", name))
    return NotFound(f"workflow {name} does not exist", hint=hint, field="name")
