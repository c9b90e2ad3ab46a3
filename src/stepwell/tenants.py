"""Set and list tenants: receives weights and caps, returns tenants.

`await app.tenant_set("acme", weight=3, max_concurrency=50)`; None removes a cap, a cap that is not given
stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

from stepwell.calls import Calls
from stepwell.store.calls import tenants as calls

if TYPE_CHECKING:
    from stepwell.store.calls.tenants import Tenant, Workspace

__all__ = ["CapSettings", "TenantCalls", "TenantSettings"]


class CapSettings(TypedDict, total=False):
    """Caps to change: None removes a cap, a cap that is not given stays."""

    # Steps and jobs that run at the same time.
    max_concurrency: int | None
    # Runs started within any minute.
    max_runs_per_min: int | None
    # Effects in other systems that one run may make.
    max_writes_per_run: int | None


class TenantSettings(CapSettings, total=False):
    """Settings of a tenant."""

    # Its share of the workers, relative to other tenants, 1 to 1000.
    weight: int


class TenantCalls(Calls):
    """All calls about tenants."""

    async def tenants(self) -> list[Tenant]:
        """All tenants, by name."""
        return await self._perform_as_owner(calls.tenants())

    async def tenant(self, name: str) -> Tenant:
        """One tenant."""
        found = await self._perform_as_owner(calls.tenants(name))
        if not found:
            raise await self._missing(f"tenant {name} does not exist", "tenant", name)
        return found[0]

    async def tenant_set(self, name: str, **settings: Unpack[TenantSettings]) -> Tenant:
        """Create a tenant, or change its weight and caps."""
        await self._perform_as_owner(calls.set_tenant(name, {**settings}))
        return await self.tenant(name)

    async def workspaces(self) -> list[Workspace]:
        """The workspaces of this tenant, by name."""
        return await self._perform(calls.workspaces)

    async def workspace_set(self, name: str, **settings: Unpack[CapSettings]) -> Workspace:
        """Create a workspace of this tenant, or change its caps."""
        await self._perform(lambda tenant: calls.set_workspace(tenant, name, {**settings}))
        return next(found for found in await self.workspaces() if found.name == name)
