"""Workers, executors and queues: receives numbers and names, returns who works and what is said about them.

Stops them from claiming, and takes the sentences of agents, each with its evidence.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import BaseModel, Field

from stepwell.api.accepted import Body, Moment
from stepwell.api.caller import Caller, Number
from stepwell.api.calls import calls_of
from stepwell.api.pages import Cursor, Limit, Page, page_of, seek
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Seconds, Shown
from stepwell.store.calls import queues
from stepwell.store.calls import workers as calls

router = Resource("workers")

ExecutorName = Annotated[str, Path(min_length=1, max_length=63)]
Subject = Literal["worker", "executor", "problem"]
COLOUR = r"^(green|yellow|red)$"


class SaidView(Shown):
    """The sentence of the engine; null while there is no evidence for one."""

    sentence_en: str | None = Field(examples=["OK, 14 jobs / 0 errors / lag 1.2 s p95"])
    sentence_vi: str | None
    colour: str | None = Field(description="green, yellow or red")
    summary_id: Id | None = Field(description="its evidence: /summaries/{summary_id}/events")


class WorkerView(SaidView):
    """A worker, from its registration to its end."""

    session_id: Id
    worker_name: str = Field(examples=["orders:host-1:4711:a1b2"])
    executors: list[str]
    status: str = Field(description="alive, silent or closed")
    version: str | None = Field(description="the release of Stepwell that it runs")
    host: str | None
    pid: str | None
    slot_count: int
    slots_in_use: int = Field(description="at its last heartbeat")
    started_at: datetime
    last_tick_at: datetime
    last_ok_at: datetime | None = Field(description="the last good heartbeat; null before the first one")
    expires_at: datetime
    closed_at: datetime | None
    silent_after_seconds: int = Field(description="heartbeat.threshold of its executors, the shortest")
    frozen_executors: list[str] = Field(description="of its executors; of these it claims nothing")
    frozen_at: datetime | None = Field(description="since when the worker itself is frozen")
    frozen_by: str | None
    frozen_reason: str | None
    drain_at: datetime | None = Field(description="since when it finishes what it has and claims no more")
    drain_by: str | None
    drain_reason: str | None
    is_drained: bool = Field(description="it drains, and had nothing left at its last heartbeat")
    operations: list[str] | None = Field(description="null: everything of its executors")


class ExecutorView(SaidView):
    """An executor: the kind of worker that an operation needs."""

    executor: str
    description: str
    alive_count: int
    silent_count: int
    slot_count: int = Field(description="of the workers that are alive")
    slots_in_use: int
    last_ok_at: datetime | None
    silent_after_seconds: int = Field(description="heartbeat.threshold of the executor")
    frozen_at: datetime | None
    frozen_by: str | None
    frozen_reason: str | None


class QueueView(Shown):
    """The queue of one executor."""

    executor: str
    ready_count: int
    line_count: int = Field(description="waiting for a slot of their key")
    leased_count: int
    retry_waiting_count: int
    parked_count: int
    scheduled_count: int
    dead_count: int
    oldest_ready_at: datetime | None
    oldest_ready_seconds: Seconds | None = Field(validation_alias="oldest_ready_age")
    worker_count: int
    slot_count: int


class SummaryView(Shown):
    """One sentence about a worker, an executor or a problem, with its evidence. It resolves nothing."""

    summary_id: Id
    subject_kind: str = Field(description="worker, executor or problem")
    subject: str = Field(description="number of the worker, name of the executor, number of the problem")
    category_code: str = Field(description="worker_status, or the category of the problem")
    colour: str
    sentence_en: str
    sentence_vi: str
    source_event_count: int
    source_event_total: int
    source_event_refs: list[str] = Field(description="event:RUN:EVENT or heartbeat:WORKER, 100 at most")
    window_start_at: datetime
    window_end_at: datetime
    summarizer_kind: str = Field(description="sql_fn, ai_agent or deterministic_rule")
    summarizer_ref: str
    summarizer_version: str
    confidence: float | None
    min_confidence: float = Field(description="ai_summary.min_confidence of the category")
    is_low_confidence: bool = Field(description="less sure than that")
    written_at: datetime


class SummaryEventView(Shown):
    """An event that a sentence was made from."""

    event_id: Id
    at: datetime
    run_id: Id
    unit_id: Id
    event_type: str
    to_state: str | None
    actor_class: str
    actor: str | None
    workflow: str | None
    step_id: str | None


class StopWish(Body):
    reason: str = Field(min_length=1, max_length=2000, examples=["too many of them fail"])


class SummaryWish(Body):
    """A sentence and its evidence; what is missing is refused."""

    subject_kind: Subject
    subject: str = Field(min_length=1, max_length=100, examples=["12"])
    colour: str = Field(pattern=COLOUR, examples=["yellow"])
    sentence_en: str = Field(
        min_length=1, max_length=500, examples=["3 of 14 jobs failed: the mail server refuses"]
    )
    sentence_vi: str | None = Field(
        default=None, min_length=1, max_length=500, examples=["3 trên 14 việc lỗi: máy chủ thư từ chối"]
    )
    source_event_count: int = Field(ge=1, le=1_000_000_000, examples=[3])
    source_event_total: int | None = Field(default=None, ge=1, le=1_000_000_000, examples=[14])
    source_event_refs: list[Annotated[str, Field(max_length=100)]] = Field(
        min_length=1, max_length=100, examples=[["event:7:4711"]]
    )
    window_start_at: Moment
    window_end_at: Moment
    summarizer_version: str = Field(min_length=1, max_length=100, examples=["2026-03"])
    confidence: float = Field(ge=0, le=1, examples=[0.9])


class SummaryWritten(BaseModel):
    summary_id: str


@router.read("/workers", summary="Workers, the newest first", problems=())
async def list_workers(
    caller: Caller,
    closed: Annotated[bool, Query(description="also those that have stopped")] = False,
    executor: Annotated[str | None, Query(min_length=1, max_length=63)] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[WorkerView]:
    after = seek(cursor, "workers", int)
    found = await caller.perform(
        calls.workers(
            caller.tenant_id,
            with_closed=closed,
            executor=executor,
            limit=limit + 1,
            after=None if after is None else after[0],
        )
    )
    return page_of(found, limit, WorkerView.model_validate, lambda one: [one.session_id], "workers")


@router.read("/workers/{session_id}", summary="One worker")
async def show_worker(session_id: Number, caller: Caller) -> WorkerView:
    return WorkerView.model_validate(await calls_of(caller).worker(session_id))


@router.write(
    "/workers/{session_id}/freeze",
    verb="worker.stop",
    summary="Freeze a worker: it claims nothing",
    problems=("not_found", "conflict"),
)
async def freeze_worker(session_id: Number, wish: StopWish, caller: Caller) -> WorkerView:
    await calls_of(caller).worker_freeze(session_id, wish.reason)
    return await show_worker(session_id, caller)


@router.write(
    "/workers/{session_id}/unfreeze",
    verb="worker.stop",
    summary="Let a frozen worker claim again",
    problems=("not_found", "conflict"),
)
async def unfreeze_worker(session_id: Number, wish: StopWish, caller: Caller) -> WorkerView:
    await calls_of(caller).worker_unfreeze(session_id, wish.reason)
    return await show_worker(session_id, caller)


@router.write(
    "/workers/{session_id}/drain",
    verb="worker.stop",
    summary="Let a worker finish what it has, and claim no more",
    problems=("not_found", "conflict"),
)
async def drain_worker(session_id: Number, wish: StopWish, caller: Caller) -> WorkerView:
    await calls_of(caller).worker_drain(session_id, wish.reason)
    return await show_worker(session_id, caller)


@router.write(
    "/workers/{session_id}/undrain",
    verb="worker.stop",
    summary="Let a worker that drains claim again",
    problems=("not_found", "conflict"),
)
async def undrain_worker(session_id: Number, wish: StopWish, caller: Caller) -> WorkerView:
    await calls_of(caller).worker_drain_end(session_id, wish.reason)
    return await show_worker(session_id, caller)


@router.read("/executors", summary="Executors, by name", problems=())
async def list_executors(caller: Caller) -> list[ExecutorView]:
    return [ExecutorView.model_validate(one) for one in await calls_of(caller).executor_list()]


@router.write(
    "/executors/{executor}/freeze",
    verb="worker.stop",
    summary="Freeze an executor: nobody claims its units",
    problems=("not_found", "conflict"),
)
async def freeze_executor(executor: ExecutorName, wish: StopWish, caller: Caller) -> ExecutorView:
    await calls_of(caller).executor_freeze(executor, wish.reason)
    return ExecutorView.model_validate(await calls_of(caller).executor(executor))


@router.write(
    "/executors/{executor}/unfreeze",
    verb="worker.stop",
    summary="Let the units of a frozen executor be claimed again",
    problems=("not_found", "conflict"),
)
async def unfreeze_executor(executor: ExecutorName, wish: StopWish, caller: Caller) -> ExecutorView:
    await calls_of(caller).executor_unfreeze(executor, wish.reason)
    return ExecutorView.model_validate(await calls_of(caller).executor(executor))


@router.read("/summaries", summary="Sentences with their evidence, the newest first", problems=())
async def list_summaries(
    caller: Caller,
    kind: Subject | None = None,
    subject: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[SummaryView]:
    after = seek(cursor, "summaries", int)
    found = await caller.perform(
        calls.summaries(
            caller.tenant_id,
            kind=kind,
            subject=subject,
            limit=limit + 1,
            after=None if after is None else after[0],
        )
    )
    return page_of(found, limit, SummaryView.model_validate, lambda one: [one.summary_id], "summaries")


@router.write(
    "/summaries",
    verb="summary.write",
    status=201,
    summary="Store what an agent says, with its evidence",
    problems=("not_found", "refused"),
)
async def write_summary(wish: SummaryWish, caller: Caller) -> SummaryWritten:
    number = await caller.perform(
        calls.write_summary(
            caller.tenant_id,
            caller.actor,
            wish.subject_kind,
            wish.subject,
            colour=wish.colour,
            sentence_en=wish.sentence_en,
            sentence_vi=wish.sentence_vi,
            source_event_count=wish.source_event_count,
            source_event_total=wish.source_event_total,
            source_event_refs=wish.source_event_refs,
            window_start_at=wish.window_start_at,
            window_end_at=wish.window_end_at,
            version=wish.summarizer_version,
            confidence=wish.confidence,
        )
    )
    return SummaryWritten(summary_id=str(number))


@router.read("/summaries/{summary_id}/events", summary="The events that a sentence was made from")
async def list_summary_events(summary_id: Number, caller: Caller) -> list[SummaryEventView]:
    found = await caller.perform(calls.summary_events(caller.tenant_id, summary_id))
    return [SummaryEventView.model_validate(one) for one in found]


@router.read("/queues", summary="The queue of each executor", problems=())
async def list_queues(caller: Caller) -> list[QueueView]:
    return [QueueView.model_validate(one) for one in await caller.perform(queues.health(caller.tenant_id))]
