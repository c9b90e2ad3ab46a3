"""Read the log of a run: receives its number, returns its events in the order of their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from stepwell.store.calls.views import page_size
from stepwell.store.connection.call import Call

READ_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event; `step_id` is None for an event of the run itself."""

    event_id: int
    at: datetime
    unit_id: int
    step_id: str | None
    event_type: str
    from_state: str | None
    to_state: str | None
    actor: str | None
    payload: Any


class Following(NamedTuple):
    """The answer of `fn_run_follow`: the state of a run, and up to where its log is complete."""

    state: str
    last_event_id: int
    oldest_tx: int
    before_tx: int


def run_events(tenant: int, run_id: int, *, after: int = 0, limit: int = 100) -> Call[list[RunEvent]]:
    """At most `limit` events with a higher number than `after`, the oldest first."""
    return Call(
        "select e.event_id, e.at, e.unit_id, e.step_id || coalesce('[' || e.item_no || ']', ''),"
        " e.event_type, e.from_state, e.to_state, e.actor, e.payload"
        " from stepwell.vw_audit_event_timeline as e"
        " where e.tenant_id = %s and e.run_id = %s and e.event_id > %s order by e.event_id limit %s",
        (tenant, run_id, after, limit if limit == READ_LIMIT else page_size(limit)),
        lambda rows: [RunEvent(*row) for row in rows],
    )


def follow_run(tenant: int, run_id: int) -> Call[Following | None]:
    """For one minute from now, the database notifies changes of the run on a channel of `RunEnds`."""
    return Call(
        "select f.state_code, f.last_event_id, f.oldest_tx, f.before_tx"
        " from stepwell.fn_run_follow(%s, %s) as f",
        (tenant, run_id),
        lambda rows: Following(*rows[0]) if rows else None,
    )
