"""What streams and pages of a run read: receives positions and numbers, returns events and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from stepwell.store.connection.call import Call, Rows, value


class LiveEvent(NamedTuple):
    """An event as a stream shows it. `is_people`: it is about the work of a person."""

    event_id: int
    at: datetime
    run_id: int
    unit_id: int
    event_type: str
    from_state: str | None
    to_state: str | None
    actor: str | None
    is_people: bool


@dataclass(frozen=True, slots=True)
class NewEvents:
    """Events after a position, and the position after them. `is_behind`: too many, none is read."""

    reached: str
    is_behind: bool
    events: list[LiveEvent]


@dataclass(frozen=True, slots=True)
class Asked:
    """Which events a reader wants: of these runs, of these types, about the work of people."""

    run_ids: Sequence[int] = ()
    types: Sequence[str] = ()
    with_people: bool = False


READS, READS_ALL, HIDES = 1, 3, 4


def position() -> Call[str]:
    """The position of now."""
    return Call("select pg_current_snapshot()::text", (), value)


def events_after(tenant: int, after: str, asked: Asked, until: str | None = None) -> Call[NewEvents]:
    def decode(rows: Rows) -> NewEvents:
        reached, is_behind = rows[0][0], rows[0][1]
        return NewEvents(reached, is_behind, [LiveEvent(*row[2:]) for row in rows if row[2] is not None])

    return Call(
        "select e.reached, e.is_behind, e.event_id, e.at, e.run_id, e.unit_id, e.event_type, e.from_state,"
        " e.to_state, e.actor, e.is_people"
        " from stepwell.fn_events_after(%s, %s, %s, %s::bigint[], %s::text[], %s) as e",
        (tenant, after, until, list(asked.run_ids), list(asked.types), asked.with_people),
        decode,
    )


def run_changes(tenant: int, units: dict[int, list[int]]) -> Call[dict[int, str]]:
    """Run → its counters and the columns of these units now, as JSON text: it is sent as it is."""
    run_ids = [run_id for run_id, found in units.items() for _ in found]
    unit_ids = [unit_id for found in units.values() for unit_id in found]
    return Call(
        "select c.run_id, c.changes::text from stepwell.fn_run_changes(%s, %s::bigint[], %s::bigint[]) as c",
        (tenant, run_ids, unit_ids),
        lambda rows: dict(rows),
    )


def reads() -> Call[int]:
    """What this caller reads: READS, or READS_ALL with payloads; HIDES more if some steps are not shown."""
    return Call(
        "select case when stepwell.payload_tenant() is null then 1 else 3 end"
        " + case when stepwell.sees_all_steps() then 0 else 4 end",
        (),
        value,
    )


def tokens_reads(tokens: Sequence[str]) -> Call[list[int]]:
    """What each token may read now: 0 nothing, READS, or READS_ALL; HIDES more."""
    return Call(
        "select a.reads from stepwell.fn_tokens_read_allowed(%s::text[]) as a order by a.place",
        (list(tokens),),
        lambda rows: [row[0] for row in rows],
    )


def worker_counts() -> Call[tuple[int, int, int]]:
    """Open sessions of workers, those of them that are idle, and their slots."""
    return Call(
        "select count(*), count(*) filter (where s.is_idle), coalesce(sum(s.slot_count), 0)"
        " from stepwell.worker_session as s where s.closed_at is null and s.expires_at >= stepwell.now()",
        (),
        lambda rows: (rows[0][0], rows[0][1], int(rows[0][2])),
    )


def snapshot(tenant: int, run_id: int, lanes_by: str, layout_version: int) -> Call[Any]:
    """The run in one answer, as JSON text: it is sent as it is."""
    return Call(
        "select stepwell.fn_workflow_run_snapshot(%s, %s, %s, %s)::text",
        (tenant, run_id, lanes_by, layout_version),
        value,
    )


def actions(tenant: int, unit_id: int, actor: str) -> Call[list[dict[str, Any]]]:
    """The calls on a unit, and whether this actor may make each now."""
    return Call("select stepwell.fn_actions_read(%s, %s, %s)", (tenant, unit_id, actor), value)


def snapshot_at(tenant: int, run_id: int, point: int | datetime) -> Call[Any]:
    event_id, moment = (point, None) if isinstance(point, int) else (None, point)
    return Call(
        "select stepwell.fn_workflow_run_snapshot_at(%s, %s, %s, %s)::text",
        (tenant, run_id, event_id, moment),
        value,
    )


def run_exists(tenant: int, run_ids: Sequence[int]) -> Call[set[int]]:
    return Call(
        "select r.run_id from stepwell.run_detail as r"
        " where r.tenant_id = %s and r.run_id = any (%s::bigint[])",
        (tenant, list(run_ids)),
        lambda rows: {row[0] for row in rows},
    )
