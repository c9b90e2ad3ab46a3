"""Read queues: receives a tenant, returns how long they are."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from stepwell.store.connection.call import Call


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


def health(tenant: int) -> Call[list[QueueHealth]]:
    return Call(
        f"select {_QUEUE} from stepwell.v_queue_health as q where q.tenant_id = %s order by q.executor",
        (tenant,),
        lambda rows: [QueueHealth(*row) for row in rows],
    )
