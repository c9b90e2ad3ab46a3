"""Calls for schedules: receives plain values, returns a `Call`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stepwell import json_text
from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it is shown to people."""

    name: str
    workflow: str
    cron: str
    time_zone: str
    input: Mapping[str, Any]
    misfire: str
    backfill_limit: int
    is_paused: bool
    next_at: datetime | None
    last_at: datetime | None
    created_at: datetime
    created_by: str
    workspace: str | None


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A schedule that is due, and the time of the database."""

    tenant_id: int
    name: str
    cron: str
    time_zone: str
    misfire: str
    backfill_limit: int
    next_at: datetime | None
    now_at: datetime


def set_schedule(
    tenant: int,
    name: str,
    workflow: str,
    *,
    cron: str,
    time_zone: str,
    input: Mapping[str, Any],
    misfire: str,
    backfill_limit: int,
    next_at: datetime,
    actor: str,
    workspace: str | None = None,
) -> Call[bool]:
    """Create or change a schedule; true if it is new."""
    return Call(
        "select stepwell.fn_schedule_set(%s, %s, %s, %s, %s, %s::jsonb, %s, %s, %s, %s, %s)",
        (
            tenant, name, workflow, cron, time_zone, json_text.encode(input, "input"), misfire,
            backfill_limit, next_at, actor, workspace,
        ),
        lambda rows: bool(rows[0][0]),
    )  # fmt: skip


def pause_schedule(tenant: int, name: str, *, is_paused: bool) -> Call[None]:
    return Call("select stepwell.fn_schedule_pause(%s, %s, %s)", (tenant, name, is_paused), lambda rows: None)


def delete_schedule(tenant: int, name: str) -> Call[None]:
    return Call("select stepwell.fn_schedule_delete(%s, %s)", (tenant, name), lambda rows: None)


def list_schedules(tenant: int, name: str | None = None) -> Call[list[Schedule]]:
    """All schedules of a tenant, or the one with this name."""
    return Call(
        "select s.schedule_name, s.workflow, s.cron, s.time_zone, s.input, s.misfire, s.backfill_limit,"
        " s.is_paused, s.next_at, s.last_at, s.created_at, s.created_by, s.workspace"
        " from stepwell.v_schedule as s"
        " where s.tenant_id = %s and (%s::text is null or s.schedule_name = %s) order by s.schedule_name",
        (tenant, name, name),
        lambda rows: [Schedule(*row) for row in rows],
    )


def due_schedules(limit: int) -> Call[list[DueSchedule]]:
    return Call(
        "select * from stepwell.fn_schedule_due(%s)",
        (limit,),
        lambda rows: [DueSchedule(*row) for row in rows],
    )


def fire_schedule(
    due: DueSchedule, fire_ats: Sequence[datetime], next_at: datetime
) -> Call[list[tuple[int, datetime]]]:
    """Start the runs of these times; empty if another keeper has already started them."""
    return Call(
        "select * from stepwell.fn_schedule_fire(%s, %s, %s::timestamptz, %s::timestamptz[], %s)",
        (due.tenant_id, due.name, due.next_at, list(fire_ats), next_at),
        lambda rows: [(run_id, fire_at) for run_id, fire_at in rows],
    )
