"""Every function of the database that problems and lag need: receives plain values, returns a `Call`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from stepwell.store.connection.call import Call, nothing


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong and needs a person. Open while `closed_at` is none."""

    problem_id: int
    category_code: str
    severity: str
    duty: str
    subject: str
    run_id: int | None
    unit_id: int | None
    reason: str
    error_code: str | None
    seen_count: int
    since_at: datetime
    opened_at: datetime
    last_seen_at: datetime
    retry_at: datetime | None
    closed_at: datetime | None
    closed_by: str | None
    opened_event_id: int
    closed_event_id: int | None
    label_en: str
    label_vi: str
    remedy_en: str
    remedy_vi: str


@dataclass(frozen=True, slots=True)
class Count:
    """A category of what is wrong: how many problems are open, since when, and what the last day did."""

    category_code: str
    severity: str
    subject_count: int
    oldest_at: datetime | None
    label_en: str
    label_vi: str
    remedy_en: str
    remedy_vi: str
    opened_count: int
    closed_count: int
    # The hours of the last day that changed the count: at, open.
    hours: list[dict[str, Any]]
    # How the last one was closed.
    closed_at: datetime | None
    closed_by: str | None
    closed_event_id: int | None
    # Of the newest one that is open.
    newest_reason: str | None
    newest_title: str | None


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that a count counted. Its events are found by its trace, unit or run."""

    subject_key: str
    subject: str
    since_at: datetime
    run_id: int | None
    unit_id: int | None
    trace_id: str | None
    reason: str
    workflow: str | None
    trigger_ref: str | None
    # Of a broken invariant; others have that of their category.
    remedy_en: str | None
    remedy_vi: str | None
    # By what the events of a worker or a reader are found: they have no run.
    actor: str | None
    event_type: str | None


@dataclass(frozen=True, slots=True)
class DeadLetterCount:
    """Dead letters of one class of failure."""

    failure_class: str
    open_count: int
    window_count: int
    oldest_at: datetime | None
    newest_at: datetime


_PROBLEM = ", ".join(f"p.{field.name}" for field in fields(Problem))


def problems(
    tenant: int, *, with_closed: bool, category: str | None, limit: int, after: int | None = None
) -> Call[list[Problem]]:
    """The newest first; `after` is the number of the last one of the page before."""
    return Call(
        f"select {_PROBLEM} from stepwell.v_governance_problem as p where p.tenant_id = %s"
        " and (%s or p.closed_at is null) and (%s::text is null or p.category_code = %s)"
        " and (%s::bigint is null or p.problem_id < %s) order by p.problem_id desc limit %s",
        (tenant, with_closed, category, category, after, after, limit),
        lambda rows: [Problem(*row) for row in rows],
    )


def counts(tenant: int) -> Call[list[Count]]:
    """One for each category, also for those with nothing wrong."""
    names = ", ".join(f"c.{field.name}" for field in fields(Count))
    return Call(
        f"select {names} from stepwell.vw_governance_counts as c where c.tenant_id = %s"
        " order by c.category_code",
        (tenant,),
        lambda rows: [Count(*row) for row in rows],
    )


def dead_letter_counts(tenant: int) -> Call[list[DeadLetterCount]]:
    names = ", ".join(f"c.{field.name}" for field in fields(DeadLetterCount))
    return Call(
        f"select {names} from stepwell.vw_governance_dlq_count as c where c.tenant_id = %s"
        " order by c.failure_class",
        (tenant,),
        lambda rows: [DeadLetterCount(*row) for row in rows],
    )


def subjects(
    tenant: int, category: str, *, limit: int, before: tuple[datetime, str] | None = None
) -> Call[list[Subject]]:
    """The newest first; `before` is the time and key of the last one of the page before."""
    names = ", ".join(f"s.{field.name}" for field in fields(Subject))
    return Call(
        f"select {names} from stepwell.fn_governance_read(%s, %s, %s, %s, %s) as s",
        (tenant, category, *(before or (None, None)), limit),
        lambda rows: [Subject(*row) for row in rows],
    )


def problem(tenant: int, problem_id: int) -> Call[Problem | None]:
    return Call(
        f"select {_PROBLEM} from stepwell.v_governance_problem as p"
        " where p.tenant_id = %s and p.problem_id = %s",
        (tenant, problem_id),
        lambda rows: Problem(*rows[0]) if rows else None,
    )


def close_problem(tenant: int, problem_id: int, actor: str, reason: str) -> Call[None]:
    return Call(
        "select stepwell.fn_problem_close(%s, %s, %s, %s)", (tenant, problem_id, actor, reason), nothing
    )


@dataclass(frozen=True, slots=True)
class Lag:
    """How long events took from a producer to a consumer, and how long they may take."""

    producer: str
    consumer: str
    event_count: int
    # Null when no event arrived in the window.
    p50_ms: Decimal | None
    p95_ms: Decimal | None
    p99_ms: Decimal | None
    # The oldest event that a reader or a route has not taken.
    waits_since: datetime | None
    waits_ms: int | None
    threshold_p50_ms: int
    threshold_p95_ms: int
    threshold_p99_ms: int
    # green, yellow or red
    light: str


@dataclass(frozen=True, slots=True)
class LagPoint:
    """The same of one pair, of the events that arrived from `at` until the next point."""

    at: datetime
    event_count: int
    p50_ms: Decimal
    p95_ms: Decimal
    p99_ms: Decimal


def lags(tenant: int, window: timedelta) -> Call[list[Lag]]:
    """The pairs of producer and consumer, the one that is farthest over its threshold first."""
    names = ", ".join(f"l.{field.name}" for field in fields(Lag))
    return Call(
        f"select {names} from stepwell.fn_event_lag_compute(%s, %s) as l",
        (tenant, window),
        lambda rows: [Lag(*row) for row in rows],
    )


def trend(tenant: int, producer: str, consumer: str, window: timedelta) -> Call[list[LagPoint]]:
    """At most 300 points, the oldest first."""
    names = ", ".join(f"l.{field.name}" for field in fields(LagPoint))
    return Call(
        f"select {names} from stepwell.fn_event_lag_trend(%s, %s, %s, %s) as l",
        (tenant, producer, consumer, window),
        lambda rows: [LagPoint(*row) for row in rows],
    )
