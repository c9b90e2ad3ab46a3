"""Read the log of a run, or the newest events of a tenant: receives a number or filters, returns events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from stepwell.store.connection.call import Call, Rows, page_size

READ_LIMIT = 1_000
E = TypeVar("E")


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


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event of a tenant; `tx` and `event_id` are its position in the log."""

    tx: int
    event_id: int
    at: datetime
    run_id: int
    unit_id: int
    event_type: str
    from_state: str | None
    to_state: str | None
    actor_class: str
    actor: str | None
    audit_ref: str | None
    payload: Any


@dataclass(frozen=True, slots=True)
class NamedEvent(LogEvent):
    """The same with the names of its run and step, and with the trace that it belongs to."""

    workflow: str | None
    step_id: str | None
    trace_id: str | None
    correlation_id: str | None


class LogPage(NamedTuple, Generic[E]):
    """Events from the newest to the oldest; `before` is the position for the next page, None at the end."""

    events: list[E]
    before: tuple[int, int] | None


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


def recent_events(
    tenant: int,
    *,
    types: Sequence[str] | None = None,
    actor: str | None = None,
    from_at: datetime | None = None,
    until_at: datetime | None = None,
    before: tuple[int, int] | None = None,
    limit: int = 50,
) -> Call[LogPage[LogEvent]]:
    """The newest events that match. A page may be short, or empty, and have a next page all the same."""
    return Call(
        "select e.tx, e.event_id, e.at, e.run_id, e.unit_id, e.event_type, e.from_state, e.to_state,"
        " e.actor_class, e.actor, e.audit_ref, e.payload"
        " from stepwell.fn_events_recent(%s, %s, %s, %s, %s, %s, %s, %s) as e",
        (
            tenant, None if types is None else list(types), actor, from_at, until_at,
            *(before or (None, None)), page_size(limit),
        ),
        lambda rows: _page(rows, limit, LogEvent),
    )  # fmt: skip


def find_events(
    tenant: int,
    *,
    trace: str | None,
    run_id: int | None,
    unit_id: int | None,
    types: Sequence[str] | None,
    actor: str | None,
    from_at: datetime | None,
    until_at: datetime | None,
    before: tuple[int, int] | None,
    limit: int,
) -> Call[LogPage[NamedEvent]]:
    """Events of a trace, a run or a unit, or those of an actor or of rare types; never all of them."""
    return Call(
        "select e.tx, e.event_id, e.at, e.run_id, e.unit_id, e.event_type, e.from_state, e.to_state,"
        " e.actor_class, e.actor, e.audit_ref, e.payload, e.workflow, e.step_id, e.trace_id, e.correlation_id"
        " from stepwell.fn_events_find(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) as e",
        (
            tenant, trace, run_id, unit_id, None if types is None else list(types), actor, from_at, until_at,
            *(before or (None, None)), page_size(limit),
        ),
        lambda rows: _page(rows, limit, NamedEvent),
    )  # fmt: skip


def _page(rows: Rows, limit: int, kind: Callable[..., E]) -> LogPage[E]:
    found = [kind(*row) for row in rows if row[5] is not None]
    has_more = len(found) == limit or len(found) < len(rows)
    return LogPage(found, (rows[-1][0], rows[-1][1]) if has_more else None)
