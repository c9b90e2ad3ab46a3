"""Job graphs and event routes: receives templates and params, returns job workflows and their jobs.

`await app.graph_emit("intake", {"order": "o-17"})`. Who emits has the role MOT_template_generator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepwell.calls import Calls
from stepwell.errors import NotFound
from stepwell.store.calls import graphs as calls

if TYPE_CHECKING:
    from stepwell.client import Client
    from stepwell.store.calls.graphs import EmittedGraph, EventRoute, GraphJob, JobTemplate, JobWorkflow

__all__ = ["GraphCalls", "Graphs"]


class GraphCalls(Calls):
    """All calls about job graphs and event routes."""

    async def job_template_register(self, template: Mapping[str, Any]) -> JobTemplate:
        """Register a template, or a new version of it: `template_id`, `params` and `jobs`."""
        client = await self._connected()
        name, _, _ = await client.perform(calls.register_template(client.tenant_id, template, client.actor))
        return await self.job_template(name)

    async def job_templates(self) -> list[JobTemplate]:
        """All templates, by id."""
        return await self._perform(calls.list_templates)

    async def job_template(self, template_id: str) -> JobTemplate:
        """One template, as it was registered last."""
        found = await self._perform(lambda tenant: calls.list_templates(tenant, template_id))
        if not found:
            raise NotFound(f"template {template_id} is not registered", field="template_id")
        return found[0]

    async def graph_emit(
        self,
        template_id: str,
        params: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        correlation_id: str | None = None,
        priority: int = 0,
        workspace: str | None = None,
        trace_id: str | None = None,
    ) -> EmittedGraph:
        """Emit a graph of jobs. A second call with the same `key` returns the first one."""
        client = await self._connected()
        call = calls.emit_graph(
            client.tenant_id, template_id, params or {}, actor=client.actor, correlation_id=correlation_id,
            key=key, priority=priority, workspace=workspace, trace_id=trace_id,
        )  # fmt: skip
        return await client.perform(call)

    async def job_workflows(
        self,
        *,
        template: str | None = None,
        status: str | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[JobWorkflow]:
        """Job workflows, the newest first."""
        # First which, then their counts: jobs are counted for one page alone.
        found = await self._perform(
            lambda tenant: calls.find_workflows(
                tenant, template_id=template, status=status, before=before, limit=limit
            )
        )
        return await self._perform(lambda tenant: calls.job_workflows(tenant, found)) if found else []

    async def job_workflow(self, workflow_id: int) -> JobWorkflow:
        """One job workflow, with its status."""
        found = await self._perform(lambda tenant: calls.job_workflow(tenant, workflow_id))
        if found is None:
            raise NotFound(f"job workflow {workflow_id} does not exist", field="workflow_id")
        return found

    async def graph_jobs(
        self, workflow_id: int, *, after: int | None = None, limit: int = 1000
    ) -> list[GraphJob]:
        """The jobs of a job workflow by place; for the next page give the last `job_id`."""
        return await self._perform(lambda tenant: calls.graph_jobs(tenant, workflow_id, after, limit))

    async def graph_retry(self, workflow_id: int, reason: str | None = None) -> dict[str, Any]:
        """Retry the dead jobs of a job workflow; where an approval is required, it is requested."""
        client = await self._connected()
        return await client.perform(calls.retry_graph(client.tenant_id, workflow_id, client.actor, reason))

    async def graph_refresh(self, workflow_id: int) -> dict[str, Any]:
        """Count the jobs of a job workflow again, and store its status."""
        return await self._perform(lambda tenant: calls.refresh_graph(tenant, workflow_id))

    async def event_route_set(
        self, name: str, event_type: str, operation: str, *, fields: Sequence[str] = (), priority: int = 0
    ) -> EventRoute:
        """From now on each event of the type enqueues a job, with these fields of the payload."""
        client = await self._connected()
        await client.perform(
            calls.set_route(client.tenant_id, name, event_type, operation, fields, priority, client.actor)
        )
        return (await client.perform(calls.list_routes(client.tenant_id, name)))[0]

    async def event_routes(self) -> list[EventRoute]:
        """All event routes, by name."""
        return await self._perform(calls.list_routes)

    async def event_route_delete(self, name: str) -> None:
        """Delete a route; the jobs that it enqueued stay."""
        if not await self._perform(lambda tenant: calls.delete_route(tenant, name)):
            raise NotFound(f"event route {name} does not exist", field="name")


class Graphs(GraphCalls):
    """The same calls on a client, without an app."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def _connected(self) -> Client:
        return self._client
