"""Read published workflows: receives names, returns workflows, their versions and their caps.

To publish a workflow use `app.publish`, in app.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from stepwell.calls import Calls
from stepwell.store.calls import publish
from stepwell.store.calls import workflows as calls
from stepwell.store.calls.run_list import WorkflowName, name_of
from stepwell.tenants import CapSettings

if TYPE_CHECKING:
    from stepwell.store.calls.workflows import PublishedWorkflow, WorkflowVersion

__all__ = ["WorkflowCalls"]


class WorkflowCalls(Calls):
    """All calls about published workflows."""

    async def workflows(
        self, *, has_caps: bool = False, after: str | None = None, limit: int = 100
    ) -> list[PublishedWorkflow]:
        """Published workflows by name; for the next page give the last name of this page as `after`."""
        return await self._perform(
            lambda tenant: calls.workflows(tenant, has_caps=has_caps, after=after, limit=limit)
        )

    async def workflow(self, name: WorkflowName) -> PublishedWorkflow:
        """A workflow and its newest version."""
        asked = name_of(name)
        found = await self._perform(lambda tenant: calls.workflow(tenant, asked))
        if found is None:
            raise await self._missing(f"workflow {asked} is not published", "workflow", asked)
        return found

    async def workflow_versions(self, name: WorkflowName, *, limit: int = 100) -> list[WorkflowVersion]:
        """Its versions, the newest first."""
        asked = name_of(name)
        found = await self._perform(lambda tenant: calls.versions(tenant, asked, limit=limit))
        if not found:
            raise await self._missing(f"workflow {asked} is not published", "workflow", asked)
        return found

    async def event_type_register(
        self, name: str, *, description: str = "", schema: Mapping[str, Any] | None = None
    ) -> None:
        """Register an event type that handlers may emit; `schema` is a JSON Schema of its payload."""
        client = await self._connected()
        await client.perform(
            publish.register_event_type(client.tenant_id, name, description, schema, client.actor)
        )

    async def workflow_caps_set(
        self, name: WorkflowName, **settings: Unpack[CapSettings]
    ) -> PublishedWorkflow:
        """Set the caps of a workflow; its runs use them instead of the caps of the tenant."""
        await self._perform(lambda tenant: calls.set_workflow_caps(tenant, name_of(name), {**settings}))
        return await self.workflow(name)
