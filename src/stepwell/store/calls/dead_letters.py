"""Dead letters and their replays: receives filters and numbers, returns calls that give frozen values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from stepwell import json_text
from stepwell.store.connection.call import Call, nothing, page_size


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A unit without attempts left, and how each attempt failed."""

    job_id: int
    operation: str | None
    run_id: int | None
    step_id: str | None
    workflow: str | None
    trigger_ref: str | None
    died_at: datetime
    failure_class: str
    error: dict[str, Any]
    attempt: int
    resolved_at: datetime | None
    resolution: str | None
    failures: list[dict[str, Any]]
    cause: str
    max_attempts: int
    # Of the newest request to replay it: submitted, approved, scheduled, completed, failed or rejected.
    replay_state: str | None
    # A request to replay it waits for its approval, or for its stage.
    is_asked: bool


@dataclass(frozen=True, slots=True)
class Cause:
    """Open dead letters with the same operation, class of failure and cause."""

    operation: str | None
    failure_class: str
    cause: str
    letter_count: int
    run_count: int
    oldest_at: datetime
    newest_at: datetime


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """A plan to replay dead letters, and how far it is."""

    plan_id: int
    approval_id: int
    approval_state: str
    plan_state: str
    letter_filter: dict[str, Any]
    letter_count: int
    stages: list[int]
    stage_no: int
    progress: list[dict[str, Any]]
    reach: dict[str, Any]
    requested_by: str
    reason: str | None
    requested_at: datetime
    stage_at: datetime | None
    ended_at: datetime | None
    ended_because: str | None
    # It waits for its approval; it is under way.
    is_waiting: bool
    is_running: bool


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """The replay of one unit: its approval, its key, its outcome."""

    replay_request_id: int
    unit_id: int
    run_id: int | None
    approval_id: int
    stage_no: int | None
    proposal_state: str
    replay_state: str | None
    idempotency_key: str
    requested_by: str
    requested_at: datetime
    scheduled_at: datetime | None
    outcome_at: datetime | None
    outcome_jsonb: dict[str, Any] | None


FILTERS = ("operation", "workflow", "failure_class", "cause")
_LETTER = "d.unit_id, " + ", ".join(f"d.{field.name}" for field in fields(DeadLetter)[1:])
_PLAN = ", ".join(f"p.{field.name}" for field in fields(ReplayPlan))
_REQUEST = ", ".join(f"r.{field.name}" for field in fields(ReplayRequest))


def dead_letters(
    tenant: int,
    *,
    with_resolved: bool = False,
    chosen: Mapping[str, str] | None = None,
    before: tuple[datetime, int] | None = None,
    limit: int = 50,
) -> Call[list[DeadLetter]]:
    """The newest first, each with all its failures; `before` is time and number of the last one seen."""
    died_at, job_id = before or (None, None)
    picked = [(name, text) for name, text in (chosen or {}).items() if name in FILTERS]
    where = "".join(f" and d.{name} = %s" for name, _ in picked)
    return Call(
        f"select {_LETTER} from stepwell.v_dead_letter as d"
        " where d.tenant_id = %s and (%s or d.resolved_at is null)"
        f" and (%s::timestamptz is null or (d.died_at, d.unit_id) < (%s::timestamptz, %s)){where}"
        " order by d.died_at desc, d.unit_id desc limit %s",
        (tenant, with_resolved, died_at, died_at, job_id, *(text for _, text in picked), page_size(limit)),
        lambda rows: [DeadLetter(*row) for row in rows],
    )


def dead_letter(tenant: int, job_id: int) -> Call[DeadLetter | None]:
    """The newest dead letter of a unit."""
    return Call(
        f"select {_LETTER} from stepwell.v_dead_letter as d"
        " where d.tenant_id = %s and d.unit_id = %s order by d.died_at desc limit 1",
        (tenant, job_id),
        lambda rows: DeadLetter(*rows[0]) if rows else None,
    )


def payload(tenant: int, job_id: int) -> Call[Any]:
    """What the unit was given; None for who may not read payloads."""
    return Call("select stepwell.fn_dead_letter_payload(%s, %s)", (tenant, job_id), lambda rows: rows[0][0])


def causes(tenant: int, limit: int = 100) -> Call[list[Cause]]:
    names = ", ".join(f"c.{field.name}" for field in fields(Cause))
    return Call(
        f"select {names} from stepwell.v_dead_letter_cause as c where c.tenant_id = %s"
        " order by c.letter_count desc, c.newest_at desc limit %s",
        (tenant, page_size(limit)),
        lambda rows: [Cause(*row) for row in rows],
    )


def rehearse(tenant: int, chosen: Mapping[str, Any]) -> Call[dict[str, Any]]:
    return Call(
        "select stepwell.fn_replay_rehearse(%s, %s::jsonb)",
        (tenant, json_text.encode(dict(chosen), "filter")),
        lambda rows: rows[0][0],
    )


def propose(
    tenant: int, chosen: Mapping[str, Any], actor: str, reason: str, stages: Sequence[int] | None = None
) -> Call[dict[str, Any]]:
    return Call(
        "select stepwell.fn_replay_propose(%s, %s::jsonb, %s, %s, %s::int[])",
        (tenant, json_text.encode(dict(chosen), "filter"), actor, reason, stages and list(stages)),
        lambda rows: rows[0][0],
    )


def stop(tenant: int, plan_id: int, actor: str, reason: str) -> Call[None]:
    return Call("select stepwell.fn_replay_stop(%s, %s, %s, %s)", (tenant, plan_id, actor, reason), nothing)


def plans(tenant: int, *, limit: int, after: int | None = None) -> Call[list[ReplayPlan]]:
    """The newest first; `after` is the number of the last one of the page before."""
    return Call(
        f"select {_PLAN} from stepwell.v_replay_plan as p where p.tenant_id = %s"
        " and (%s::bigint is null or p.plan_id < %s) order by p.plan_id desc limit %s",
        (tenant, after, after, page_size(limit)),
        lambda rows: [ReplayPlan(*row) for row in rows],
    )


def plan(tenant: int, plan_id: int) -> Call[ReplayPlan | None]:
    return Call(
        f"select {_PLAN} from stepwell.v_replay_plan as p where p.tenant_id = %s and p.plan_id = %s",
        (tenant, plan_id),
        lambda rows: ReplayPlan(*rows[0]) if rows else None,
    )


def requests(tenant: int, plan_id: int, *, limit: int, after: int | None = None) -> Call[list[ReplayRequest]]:
    return Call(
        f"select {_REQUEST} from stepwell.v_replay_request as r where r.tenant_id = %s and r.plan_id = %s"
        " and (%s::bigint is null or r.replay_request_id > %s) order by r.replay_request_id limit %s",
        (tenant, plan_id, after, after, page_size(limit)),
        lambda rows: [ReplayRequest(*row) for row in rows],
    )
