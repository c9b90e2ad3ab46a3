"""Look at what is published: receives names, returns workflows, their versions and their caps.

Publishing itself is `app.publish`, in app.py.
"""

from __future__ import annotations

from typing import Unpack

from stepwell.calls import Calls
from stepwell.errors import NotFound
from stepwell.store.calls import workflows as calls
from stepwell.store.calls.workflows import PublishedWorkflow, WorkflowVersion
from stepwell.tenants import CapSettings

__all__ = ["PublishedWorkflow", "WorkflowCalls", "WorkflowVersion"]


class WorkflowCalls(Calls):
    """Everything about published workflows."""

    async def workflows(
        self, *, has_caps: bool = False, after: str | None = None, limit: int = 100
    ) -> list[PublishedWorkflow]:
        """Published workflows by name; the next page comes `after` the last name of this one."""
        return await self._perform(
            lambda tenant: calls.workflows(tenant, has_caps=has_caps, after=after, limit=limit)
        )

    async def workflow(self, name: str) -> PublishedWorkflow:
        """A workflow and its newest version."""
        found = await self._perform(lambda tenant: calls.workflow(tenant, name))
        if found is None:
            raise NotFound(f"workflow {name} is not published", field="workflow")
        return found

    async def workflow_versions(self, name: str, *, limit: int = 100) -> list[WorkflowVersion]:
        """Its versions, the newest first."""
        found = await self._perform(lambda tenant: calls.versions(tenant, name, limit=limit))
        if not found:
            raise NotFound(f"workflow {name} is not published", field="workflow")
        return found

    async def workflow_caps_set(self, name: str, **settings: Unpack[CapSettings]) -> PublishedWorkflow:
        """Give a workflow caps of its own, which count for its runs instead of the tenant's."""
        await self._perform(lambda tenant: calls.set_workflow_caps(tenant, name, {**settings}))
        return await self.workflow(name)
