"""Show where the steps of a graph are drawn: receives a version or a hash, returns a drawing."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse

from stepwell.api.caller import Caller
from stepwell.api.resource import Resource
from stepwell.api.run_shapes import LayoutScope, LayoutSteps
from stepwell.errors import NotFound
from stepwell.layout import LAYOUT_VERSION
from stepwell.layout.document import draw
from stepwell.layout.lanes import LanesBy
from stepwell.store.calls import drawings
from stepwell.store.calls.workflows import WorkflowVersion

# A drawing never changes: its hash names the graph, the lanes and the release of the layout.
FOR_EVER = {"Cache-Control": "private, max-age=31536000, immutable"}

# The database keeps what somebody drew who may publish; for the others a process remembers some.
_REMEMBERED_LIMIT = 32
_remembered: OrderedDict[tuple[str, LanesBy], dict[str, Any]] = OrderedDict()

router = Resource("layouts")


class Layout(BaseModel):
    """A drawing. Lanes, boxes and lines are lists in the order that docs/live.md tells."""

    hash: str
    graph_hash: str
    version: int
    lanes_by: LanesBy
    box: tuple[int, int] = Field(description="width and height of every box", examples=[(128, 40)])
    steps: LayoutSteps
    conditionals: dict[str, list[tuple[int, str]]] = Field(description="branches: number and label")
    fans: dict[str, Literal["and", "or"]] = Field(
        description="steps that several follow: all of them begin, or those of one branch"
    )
    joins: dict[str, Literal["any"]] = Field(
        description="jobs that begin after any of their parents; other steps begin after all of them"
    )
    scopes: list[LayoutScope]
    content_labels: dict[str, list[str]] = Field(
        default_factory=dict,
        description="labels of the content that steps show, as they are now; empty in a drawing by its hash",
    )


@router.read("/layouts/{layout_hash}", summary="A drawing, by its hash", response_model=Layout)
async def layout_by_hash(
    layout_hash: Annotated[str, Path(pattern="^[0-9a-f]{64}$")], caller: Caller
) -> JSONResponse:
    found = await caller.perform(drawings.by_hash(caller.tenant_id, layout_hash))
    if found is None:
        raise NotFound(
            "no layout has this hash", hint="ask for the layout of the version", field="path.layout_hash"
        )
    return JSONResponse({"hash": layout_hash, **found, "content_labels": {}}, headers=FOR_EVER)


@router.read(
    "/workflows/{name}/versions/{version_no}/layout",
    summary="Where each step of a version is drawn",
    response_model=Layout,
)
async def layout_of_version(
    name: Annotated[str, Path(min_length=1, max_length=200)],
    version_no: Annotated[int, Path(ge=1, le=2**31 - 1)],
    caller: Caller,
    lanes: Annotated[LanesBy, Query(description="what a lane is")] = "role",
) -> JSONResponse:
    version = await caller.perform(drawings.version(caller.tenant_id, name, version_no))
    if version is None:
        raise NotFound(f"version {version_no} of {name} does not exist", field="path.version_no")
    asked = (caller.tenant_id, version.graph_hash, lanes, LAYOUT_VERSION)
    found = await caller.perform(drawings.by_graph(*asked))
    if found is None:
        found = await _drawn(version, lanes)
    layout_hash = await caller.perform(drawings.keep(*asked, found))
    names = sorted({name for name in found["steps"]["content"] if name is not None})
    # Not part of the drawing, which never changes: labels do.
    labels = await caller.perform(drawings.content_labels(caller.tenant_id, names)) if names else {}
    return JSONResponse({"hash": layout_hash, **found, "content_labels": labels})


async def _drawn(version: WorkflowVersion, lanes: LanesBy) -> dict[str, Any]:
    """In a thread: a large graph takes some tens of milliseconds, and other requests go on meanwhile."""
    key = version.graph_hash, lanes
    found = _remembered.get(key)
    if found is None:
        found = _remembered[key] = await asyncio.to_thread(
            draw, version.graph, version.graph_hash, lanes, version.step_numbers
        )
    while len(_remembered) > _REMEMBERED_LIMIT:
        _remembered.popitem(last=False)
    return found
