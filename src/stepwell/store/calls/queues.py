"""Read workers and queues: receives a tenant, returns who works and how long the queues are."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from stepwell.store.connection.call import Call

WORKER_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class WorkerSession:
    """The session of a worker and one executor class that it serves: alive, silent or closed."""

    worker_name: str
    executor: str
    status: str
    slot_count: int
    started_at: datetime
    last_tick_at: datetime
    expires_at: datetime
    closed_at: datetime | None
    info: dict[str, Any]


@dataclass(frozen=True, slots=True)
class QueueHealth:
    """The queue of one tenant and executor class."""

    executor: str
    ready_count: int
    line_count: int
    leased_count: int
    retry_waiting_count: int
    parked_count: int
    scheduled_count: int
    dead_count: int
    oldest_ready_at: datetime | None
    oldest_ready_age: timedelta | None
    worker_count: int
    slot_count: int


_QUEUE = ", ".join(f"q.{field.name}" for field in fields(QueueHealth))


def workers(*, with_closed: bool, limit: int) -> Call[list[WorkerSession]]:
    """The newest first. Workers serve all tenants of a database."""
    return Call(
        "select h.worker_name, h.executor_kind, h.status, h.slot_count, h.started_at, h.last_tick_at,"
        " h.expires_at, h.closed_at, h.info from stepwell.queue_heartbeat as h"
        " where %s or h.closed_at is null order by h.session_id desc, h.executor_kind limit %s",
        (with_closed, min(limit, WORKER_LIMIT)),
        lambda rows: [WorkerSession(*row) for row in rows],
    )


def health(tenant: int) -> Call[list[QueueHealth]]:
    return Call(
        f"select {_QUEUE} from stepwell.v_queue_health as q where q.tenant_id = %s order by q.executor",
        (tenant,),
        lambda rows: [QueueHealth(*row) for row in rows],
    )
