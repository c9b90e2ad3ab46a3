"""Read the history of a run: receives its number, returns its events in the order they were written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event of the run or of a unit in it."""

    event_id: int
    at: datetime
    unit_id: int
    event_type: str
    from_state: str | None
    to_state: str | None
    actor: str | None
    payload: Any


def run_events(tenant: int, run_id: int, *, after: int = 0, limit: int = 100) -> Call[list[RunEvent]]:
    """At most `limit` events with a higher number than `after`, oldest first."""
    return Call(
        "select e.event_id, e.at, e.unit_id, e.event_type, e.from_state, e.to_state, e.actor, e.payload"
        " from stepwell.event_log as e where e.tenant_id = %s and e.run_id = %s and e.event_id > %s"
        " order by e.event_id limit %s",
        (tenant, run_id, after, limit),
        lambda rows: [RunEvent(*row) for row in rows],
    )
