"""Enqueue and show jobs: receives an operation or a number, returns jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from stepwell.api.accepted import Body, Moment
from stepwell.api.caller import NUMBER_LIMIT, BoundCaller, Caller, Number
from stepwell.api.pages import Cursor, Limit, Page, page_of, seek
from stepwell.api.resource import Resource
from stepwell.api.shown import Changed, Id, Shown
from stepwell.errors import NotFound
from stepwell.store.calls import jobs as calls
from stepwell.store.calls import views
from stepwell.unit_numbers import short

router = Resource("jobs")

_REFUSALS = ("not_found", "conflict", "refused")
Name = Annotated[str, Field(min_length=1, max_length=200)]
Reason = Annotated[str, Field(min_length=1, max_length=2000)]


class JobView(Shown):
    """A free-standing job, or an operation step of a run."""

    job_id: Id
    scope: str = Field(description="job: free-standing; step: an operation step of a run")
    operation: str
    executor: str
    status: str | None
    state_code: str
    idempotency_key: str | None
    run_id: Id | None
    step_id: str | None
    priority: int
    attempt: int
    max_attempts: int
    lease_owner: str | None
    lease_expires_at: datetime | None
    next_eligible_at: datetime | None
    last_error: dict[str, Any] | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    progress: dict[str, Any] | None


class Enqueue(Body):
    """A job. A second one with the same key returns the first job."""

    operation: Name = Field(examples=["send_mail"])
    payload: dict[str, Any] = Field(default_factory=dict, examples=[{"order_id": "A-1"}])
    key: str | None = Field(default=None, min_length=1, max_length=500, examples=["mail-A-1"])
    priority: int = Field(default=0, ge=-1000, le=1000, examples=[10])
    process_after: Moment | None = None
    concurrency_key: Name | None = Field(default=None, examples=["mail-server"])
    max_concurrency: int | None = Field(default=None, ge=1, lt=2**31, examples=[5])
    max_attempts: int | None = Field(default=None, ge=1, le=1000, examples=[3])
    rate_limit: str | None = Field(default=None, max_length=50, examples=["10/1m"])
    correlation_id: Name | None = Field(default=None, examples=["order-4711"])


class EnqueuedJob(Shown):
    job_id: Id
    is_new: bool


class JobResult(BaseModel):
    state_code: str
    output: Any


class Because(Body):
    reason: Reason | None = Field(default=None, examples=["the mail server is back"])


class Retried(BaseModel):
    answer: Any = Field(description="what is retried, or the approval that it waits for")


@router.write("/jobs", verb="run.start", status=201, summary="Enqueue a job", problems=("conflict",))
async def enqueue_job(job: Enqueue, caller: Caller) -> EnqueuedJob:
    call = calls.enqueue_jobs(
        caller.tenant_id,
        job.operation,
        [job.payload],
        keys=None if job.key is None else [job.key],
        priority=job.priority,
        process_after=job.process_after,
        concurrency_key=job.concurrency_key,
        max_concurrency=job.max_concurrency,
        max_attempts=job.max_attempts,
        rate_limit=job.rate_limit,
        actor=caller.actor,
        trace_id=caller.trace_id or None,
        correlation_id=job.correlation_id,
    )
    (made,) = await caller.perform(call)
    return EnqueuedJob.model_validate(made)


@router.read("/jobs", summary="Jobs, the newest first", problems=())
async def list_jobs(
    caller: Caller,
    state: Annotated[str | None, Query(max_length=50)] = None,
    operation: Annotated[str | None, Query(max_length=200)] = None,
    run: Annotated[
        int | None, Query(ge=1, lt=NUMBER_LIMIT >> 20, description="the operation steps of this run")
    ] = None,
    steps: Annotated[bool, Query(description="also the operation steps of runs")] = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[JobView]:
    after = seek(cursor, "jobs", int)
    found = await caller.perform(
        views.jobs(
            caller.tenant_id,
            state=state,
            operation=operation,
            run_id=run,
            with_steps=steps,
            after=None if after is None else after[0],
            limit=limit + 1,
        )
    )
    return page_of(found, limit, JobView.model_validate, lambda job: [job.job_id], "jobs")


@router.read("/jobs/{job_id}", summary="One job")
async def show_job(job_id: Number, caller: Caller) -> JobView:
    return JobView.model_validate(await _job(caller, job_id))


@router.read("/jobs/{job_id}/result", summary="State and output of a free-standing job")
async def show_job_result(job_id: Number, caller: Caller) -> JobResult:
    found = await caller.perform(calls.job_outcome(caller.tenant_id, job_id))
    if found is None:
        raise _missing(job_id)
    return JobResult(state_code=found[0], output=found[1])


@router.write("/jobs/{job_id}/cancel", verb="run.cancel", summary="Cancel a job", problems=_REFUSALS)
async def cancel_job(job_id: Number, because: Because, caller: Caller) -> Changed:
    call = calls.cancel_job(caller.tenant_id, job_id, caller.actor, because.reason)
    return Changed(state_code=await caller.perform(call))


@router.write("/jobs/{job_id}/retry", verb="run.retry", summary="Retry a job or a step", problems=_REFUSALS)
async def retry_job(job_id: Number, because: Because, caller: Caller) -> Retried:
    call = calls.retry_job(caller.tenant_id, job_id, caller.actor, because.reason)
    return Retried(answer=await caller.perform(call))


async def _job(caller: BoundCaller, job_id: int) -> views.Job:
    found = await caller.perform(views.job(caller.tenant_id, job_id))
    if found is None:
        raise _missing(job_id)
    return found


def _missing(job_id: int) -> NotFound:
    return NotFound(f"job {short(job_id)} does not exist", field="job_id")
