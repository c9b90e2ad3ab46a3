"""What is wrong and needs somebody: receives a category, returns problems; closes one with a reason."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from stepwell.api.caller import Caller, Number
from stepwell.api.calls import calls_of
from stepwell.api.pages import Cursor, Limit, Page, page_of, seek
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Shown
from stepwell.store.calls import problems as calls

router = Resource("problems")


class GovernanceProblemView(Shown):
    """Something that is wrong. Open while `closed_at` is null."""

    problem_id: Id
    category_code: str
    severity: str
    duty: str
    subject: str
    run_id: Id | None
    unit_id: Id | None
    reason: str
    error_code: str | None
    seen_count: int
    opened_at: datetime
    last_seen_at: datetime
    retry_at: datetime | None
    closed_at: datetime | None
    closed_by: str | None
    opened_event_id: Id
    closed_event_id: Id | None
    label_en: str
    label_vi: str
    remedy_en: str
    remedy_vi: str


class Closing(BaseModel):
    reason: str = Field(min_length=1, max_length=2000)


@router.read("/problems", summary="Problems, the newest first", problems=())
async def list_problems(
    caller: Caller,
    category: Annotated[str | None, Query(max_length=100)] = None,
    closed: Annotated[bool, Query(description="also those that were closed")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[GovernanceProblemView]:
    after = seek(cursor, "problems", int)
    found = await caller.perform(
        calls.problems(
            caller.tenant_id,
            with_closed=closed,
            category=category,
            limit=limit + 1,
            after=None if after is None else after[0],
        )
    )
    return page_of(
        found, limit, GovernanceProblemView.model_validate, lambda one: [one.problem_id], "problems"
    )


@router.read("/problems/{problem_id}", summary="One problem")
async def show_problem(problem_id: Number, caller: Caller) -> GovernanceProblemView:
    return GovernanceProblemView.model_validate(await calls_of(caller).problem(problem_id))


@router.write(
    "/problems/{problem_id}/close",
    verb="problem.close",
    summary="Close a problem with a reason",
    problems=("not_found", "conflict"),
)
async def close_problem(problem_id: Number, closing: Closing, caller: Caller) -> GovernanceProblemView:
    await calls_of(caller).problem_close(problem_id, closing.reason)
    return await show_problem(problem_id, caller)
