"""Workers and queues: returns who works, what they serve, and how long the queues are."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from stepwell.api.caller import Caller
from stepwell.api.resource import Resource
from stepwell.api.shown import Seconds, Shown
from stepwell.store.calls import queues

router = Resource("workers")


class WorkerView(Shown):
    """A worker and one executor class that it serves."""

    worker_name: str = Field(examples=["orders:host-1:4711:a1b2"])
    executor: str
    status: str = Field(description="alive, silent or closed")
    slot_count: int
    started_at: datetime
    last_tick_at: datetime
    expires_at: datetime
    closed_at: datetime | None
    info: dict[str, Any]


class QueueView(Shown):
    """The queue of one executor class."""

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


@router.read("/workers", summary="Workers, the newest first", problems=())
async def list_workers(
    caller: Caller,
    closed: Annotated[bool, Query(description="also those that have stopped")] = False,
    limit: Annotated[int, Query(ge=1, le=queues.WORKER_LIMIT)] = 100,
) -> list[WorkerView]:
    found = await caller.perform(queues.workers(with_closed=closed, limit=limit))
    return [WorkerView.model_validate(one) for one in found]


@router.read("/queues", summary="The queue of each executor class", problems=())
async def list_queues(caller: Caller) -> list[QueueView]:
    return [QueueView.model_validate(one) for one in await caller.perform(queues.health(caller.tenant_id))]
