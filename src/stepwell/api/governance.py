"""What is wrong and needs somebody: receives a category, returns problems; closes one with a reason."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, Field

from stepwell.api.accepted import Body
from stepwell.api.caller import Caller, Number
from stepwell.api.calls import calls_of
from stepwell.api.pages import Cursor, Limit, Page, moment, page_of, seek
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
    since_at: datetime = Field(description="since when it is wrong")
    opened_at: datetime = Field(description="when it was found")
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


class TrendHour(BaseModel):
    at: datetime
    open: int


class GovernanceCount(Shown):
    """A category of what is wrong."""

    category_code: str = Field(examples=["overdue_step"])
    severity: str = Field(description="yellow or red")
    subject_count: int = Field(description="0: nothing is wrong")
    oldest_at: datetime | None
    label_en: str
    label_vi: str
    remedy_en: str
    remedy_vi: str
    opened_count: int = Field(description="in the last 24 hours")
    closed_count: int = Field(description="in the last 24 hours, each by an event")
    hours: list[TrendHour] = Field(description="the hours of the last day that changed the count")
    closed_at: datetime | None = Field(description="when the last one was closed")
    closed_by: str | None
    closed_event_id: Id | None
    newest_reason: str | None
    newest_title: str | None


class GovernanceSubject(Shown):
    """Something that is wrong now. Its events: /events with its trace, run, unit, actor or type."""

    subject_key: str = Field(description="the number of the problem")
    subject: str = Field(description="a step, a worker, a type of events, a reader, a content")
    since_at: datetime
    run_id: Id | None
    unit_id: Id | None
    trace_id: str | None
    reason: str
    workflow: str | None = Field(description="of its run")
    trigger_ref: str | None = Field(description="the key of its run")
    remedy_en: str | None = Field(description="of a broken invariant; others have that of their category")
    remedy_vi: str | None
    actor: str | None = Field(description="whose events these are, of a worker")
    event_type: str | None = Field(description="of its events, of a reader")


class DeadLetterCount(Shown):
    """Dead letters of one class of failure."""

    failure_class: str = Field(examples=["timeout"])
    open_count: int = Field(description="that nobody settled")
    window_count: int = Field(description="that died in the last governance.window_hours")
    oldest_at: datetime | None
    newest_at: datetime


class Closing(Body):
    reason: str = Field(min_length=1, max_length=2000, examples=["the reader was restarted"])


@router.read("/governance", summary="What is wrong now, by category", problems=())
async def list_governance(caller: Caller) -> list[GovernanceCount]:
    found = await caller.perform(calls.counts(caller.tenant_id))
    return [GovernanceCount.model_validate(one) for one in found]


@router.read("/governance/dead-letters", summary="Dead letters by class of failure", problems=())
async def count_dead_letters(caller: Caller) -> list[DeadLetterCount]:
    found = await caller.perform(calls.dead_letter_counts(caller.tenant_id))
    return [DeadLetterCount.model_validate(one) for one in found]


@router.read("/governance/categories/{category}", summary="What a category counts, the newest first")
async def list_subjects(
    category: Annotated[str, Path(min_length=1, max_length=100)],
    caller: Caller,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[GovernanceSubject]:
    after = seek(cursor, "governance", str, str)
    found = await caller.perform(
        calls.subjects(
            caller.tenant_id,
            category,
            limit=limit + 1,
            before=None if after is None else (moment(after[0]), after[1]),
        )
    )
    return page_of(
        found,
        limit,
        GovernanceSubject.model_validate,
        lambda one: [one.since_at.isoformat(), one.subject_key],
        "governance",
    )


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
