"""The tenant of the caller and its workspaces: receives caps, returns them. Only the owner adds tenants."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, Field

from stepwell.api.accepted import Body
from stepwell.api.caller import Caller
from stepwell.api.pages import Page
from stepwell.api.resource import Resource
from stepwell.errors import NotFound
from stepwell.store.calls import sign_in
from stepwell.store.calls import tenants as calls
from stepwell.store.calls.tenants import Caps

router = Resource("tenants")

CAP_LIMIT = 1_000_000
Cap = Annotated[int | None, Field(ge=1, le=CAP_LIMIT, description="null: no cap", examples=[20])]


class CapsView(BaseModel):
    name: str = Field(examples=["default"])
    max_concurrency: int | None = Field(description="leased units at the same time; null: no cap")
    max_runs_per_min: int | None
    max_writes_per_run: int | None


class TenantView(CapsView):
    weight: int = Field(description="share in the queue, against other tenants")


class WorkspaceCaps(Body):
    """What is not given stays."""

    max_concurrency: Cap = None
    max_runs_per_min: Cap = None
    max_writes_per_run: Cap = None


@router.read("/tenant", summary="The tenant of the caller and its caps", problems=())
async def show_tenant(caller: Caller) -> TenantView:
    account = await caller.perform(sign_in.account())
    (found,) = await caller.perform(calls.tenants(account.tenant))
    return TenantView(**_caps(found), weight=found.weight)


@router.read("/workspaces", summary="Workspaces and their caps", problems=())
async def list_workspaces(caller: Caller) -> Page[CapsView]:
    found = await caller.perform(calls.workspaces(caller.tenant_id))
    return Page(items=[CapsView(**_caps(one)) for one in found], next=None)


@router.write("/workspaces/{workspace}", verb="workflow.publish", method="PUT", summary="Set a workspace")
async def set_workspace(
    workspace: Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", examples=["night"])],
    given: WorkspaceCaps,
    caller: Caller,
) -> CapsView:
    """Adds a workspace or changes its caps; null removes a cap."""
    settings = given.model_dump(exclude_unset=True)
    await caller.perform(calls.set_workspace(caller.tenant_id, workspace, settings))
    for one in await caller.perform(calls.workspaces(caller.tenant_id)):
        if one.name == workspace:
            return CapsView(**_caps(one))
    raise NotFound(f"workspace {workspace} does not exist", field="path.workspace")


def _caps(found: Caps) -> dict[str, object]:
    return {
        "name": found.name,
        "max_concurrency": found.max_concurrency,
        "max_runs_per_min": found.max_runs_per_min,
        "max_writes_per_run": found.max_writes_per_run,
    }
