"""Find things by a few letters, for the command palette: receives a text, returns where it leads."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from stepwell.api.caller import Caller
from stepwell.api.resource import Resource
from stepwell.api.shown import Shown
from stepwell.store.calls import search as calls

router = Resource("search")


class HitView(Shown):
    kind: str = Field(description="run, workflow, person, service, agent, content or schedule")
    id: str
    title: str
    detail: str | None


@router.read("/search", summary="Find runs, workflows, people, content and schedules", problems=())
async def search(
    caller: Caller,
    text: Annotated[str, Query(min_length=1, max_length=200)],
    limit: Annotated[int, Query(ge=1, le=50, description="at most so many of each kind")] = 10,
) -> list[HitView]:
    found = await caller.perform(calls.search(caller.tenant_id, text, limit))
    return [HitView.model_validate(one) for one in found]
