"""Show, save and delete views of lists: receives a filter and a name, returns the view."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from stepwell.api.accepted import Body
from stepwell.api.caller import Caller, Number
from stepwell.api.resource import Resource
from stepwell.errors import NotFound
from stepwell.store.calls import saved_views as calls
from stepwell.store.calls.saved_views import SavedView

router = Resource("views")


class ViewBody(Body):
    """A view to save."""

    page: str = Field(pattern="^[a-z][a-z_]{0,39}$", examples=["runs"])
    name: str = Field(min_length=1, max_length=80, examples=["Red orders"])
    filter: dict[str, Any] = Field(examples=[{"colour": "red"}])
    columns: list[str] = Field(default=[], max_length=50, examples=[["run_id", "key"]])
    shared: bool = Field(default=False, description="shown to everybody; needs the verb view.share")


class ViewShown(BaseModel):
    view_id: int
    page: str
    name: str
    filter: dict[str, Any]
    columns: list[str]
    shared: bool
    owner: str
    is_mine: bool
    changed_at: datetime


class ViewList(BaseModel):
    items: list[ViewShown]


@router.read("/views", summary="The views of the caller, and those that are shared", problems=())
async def list_views(
    caller: Caller,
    page: Annotated[str | None, Query(pattern="^[a-z][a-z_]{0,39}$", examples=["runs"])] = None,
) -> ViewList:
    found = await caller.perform(calls.views(caller.tenant_id, page))
    return ViewList(items=[_shown(view) for view in found])


@router.write(
    "/views", verb="read", status=201, summary="Save a view", problems=("conflict", "limit_exceeded")
)
async def save_view(body: ViewBody, caller: Caller) -> ViewShown:
    return await _saved(body, caller, None)


@router.write(
    "/views/{view_id}", method="PUT", verb="read", summary="Change a view", problems=("not_found", "conflict")
)
async def change_view(view_id: Number, body: ViewBody, caller: Caller) -> ViewShown:
    return await _saved(body, caller, view_id)


@router.write("/views/{view_id}", method="DELETE", verb="read", status=204, summary="Delete a view")
async def delete_view(view_id: Number, caller: Caller) -> None:
    await caller.perform(calls.delete(caller.tenant_id, view_id))


async def _saved(body: ViewBody, caller: Caller, view_id: int | None) -> ViewShown:
    saved_id = await caller.perform(
        calls.save(caller.tenant_id, body.page, body.name, body.filter, body.columns, body.shared, view_id)
    )
    for view in await caller.perform(calls.views(caller.tenant_id, body.page)):
        if view.view_id == saved_id:
            return _shown(view)
    raise NotFound(f"view {saved_id} is among more views than are shown", field="path.view_id")


def _shown(view: SavedView) -> ViewShown:
    return ViewShown(
        view_id=view.view_id, page=view.page, name=view.name, filter=view.filter, columns=view.columns,
        shared=view.is_shared, owner=view.owner, is_mine=view.is_mine, changed_at=view.changed_at,
    )  # fmt: skip
