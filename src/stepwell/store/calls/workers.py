"""Every function of the database about workers: receives plain values, returns a `Call`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Literal

from stepwell.store.connection.call import Call, nothing, value

WORKER_LIMIT = 1_000
SUMMARY_LIMIT = 100

StopKind = Literal["frozen", "drain"]
SubjectKind = Literal["worker", "executor", "problem"]


@dataclass(frozen=True, slots=True)
class Summary:
    """One sentence about a worker, an executor or a problem, with the events that it was made from."""

    summary_id: int
    subject_kind: str
    subject: str
    category_code: str
    # green, yellow or red
    colour: str
    sentence_en: str
    sentence_vi: str
    source_event_count: int
    source_event_total: int
    # event:RUN:EVENT or heartbeat:SESSION, 100 at most
    source_event_refs: list[str]
    window_start_at: datetime
    window_end_at: datetime
    # sql_fn, ai_agent or deterministic_rule
    summarizer_kind: str
    summarizer_ref: str
    summarizer_version: str
    confidence: float | None
    min_confidence: float
    is_low_confidence: bool
    written_at: datetime


@dataclass(frozen=True, slots=True)
class SummaryEvent:
    """An event that a sentence was made from."""

    event_id: int
    at: datetime
    run_id: int
    unit_id: int
    event_type: str
    to_state: str | None
    actor_class: str
    actor: str | None
    workflow: str | None
    step_id: str | None


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker: its heartbeat, what it serves, and whether it may claim."""

    session_id: int
    worker_name: str
    executors: list[str]
    # alive, silent or closed
    status: str
    version: str | None
    host: str | None
    pid: str | None
    slot_count: int
    # At its last heartbeat.
    slots_in_use: int
    started_at: datetime
    last_tick_at: datetime
    # None before its first good heartbeat.
    last_ok_at: datetime | None
    expires_at: datetime
    closed_at: datetime | None
    silent_after_seconds: int
    frozen_executors: list[str]
    frozen_at: datetime | None
    frozen_by: str | None
    frozen_reason: str | None
    drain_at: datetime | None
    drain_by: str | None
    drain_reason: str | None
    # It drains and had nothing left at its last heartbeat.
    is_drained: bool
    # None: everything of its executors.
    operations: list[str] | None
    sentence_en: str | None
    sentence_vi: str | None
    colour: str | None
    summary_id: int | None


@dataclass(frozen=True, slots=True)
class ExecutorRow:
    """An executor: how many workers serve it, and whether it is frozen."""

    executor: str
    description: str
    alive_count: int
    silent_count: int
    slot_count: int
    slots_in_use: int
    last_ok_at: datetime | None
    silent_after_seconds: int
    frozen_at: datetime | None
    frozen_by: str | None
    frozen_reason: str | None
    sentence_en: str | None
    sentence_vi: str | None
    colour: str | None
    summary_id: int | None


_WORKER = ", ".join(f"w.{one.name}" for one in fields(WorkerRow))
_EXECUTOR = ", ".join(f"x.{one.name}" for one in fields(ExecutorRow))
_SUMMARY = ", ".join(f"m.{one.name}" for one in fields(Summary))
_EVENT = ", ".join(f"e.{one.name}" for one in fields(SummaryEvent))


def workers(
    tenant: int, *, with_closed: bool, executor: str | None = None, limit: int, after: int | None = None
) -> Call[list[WorkerRow]]:
    """The newest first; `after` is the number of the last one of the page before."""
    return Call(
        f"select {_WORKER} from stepwell.v_worker_said as w where w.tenant_id = %s"
        " and (%s or w.closed_at is null) and (%s::text is null or %s = any (w.executors))"
        " and (%s::bigint is null or w.session_id < %s) order by w.session_id desc limit %s",
        (tenant, with_closed, executor, executor, after, after, min(limit, WORKER_LIMIT + 1)),
        lambda rows: [WorkerRow(*row) for row in rows],
    )


def worker(tenant: int, session_id: int) -> Call[WorkerRow | None]:
    return Call(
        f"select {_WORKER} from stepwell.v_worker_said as w where w.tenant_id = %s and w.session_id = %s",
        (tenant, session_id),
        lambda rows: WorkerRow(*rows[0]) if rows else None,
    )


def executors(tenant: int) -> Call[list[ExecutorRow]]:
    return Call(
        f"select {_EXECUTOR} from stepwell.v_executor_said as x where x.tenant_id = %s order by x.executor",
        (tenant,),
        lambda rows: [ExecutorRow(*row) for row in rows],
    )


def stop_worker(tenant: int, session_id: int, kind: StopKind, actor: str | None, reason: str) -> Call[None]:
    return Call(
        "select stepwell.fn_worker_stop(%s, %s, %s, %s, %s)",
        (tenant, session_id, kind, actor, reason),
        nothing,
    )


def free_worker(tenant: int, session_id: int, kind: StopKind, actor: str | None, reason: str) -> Call[None]:
    return Call(
        "select stepwell.fn_worker_go_on(%s, %s, %s, %s, %s)",
        (tenant, session_id, kind, actor, reason),
        nothing,
    )


def freeze_executor(tenant: int, executor: str, actor: str | None, reason: str) -> Call[None]:
    return Call(
        "select stepwell.fn_executor_freeze(%s, %s, %s, %s)", (tenant, executor, actor, reason), nothing
    )


def unfreeze_executor(tenant: int, executor: str, actor: str | None, reason: str) -> Call[None]:
    return Call(
        "select stepwell.fn_executor_unfreeze(%s, %s, %s, %s)", (tenant, executor, actor, reason), nothing
    )


def summaries(
    tenant: int, *, kind: str | None = None, subject: str | None = None, limit: int, after: int | None = None
) -> Call[list[Summary]]:
    """The newest first; `after` is the number of the last one of the page before."""
    return Call(
        f"select {_SUMMARY} from stepwell.v_governance_summary as m where m.tenant_id = %s"
        " and (%s::text is null or m.subject_kind = %s) and (%s::text is null or m.subject = %s)"
        " and (%s::bigint is null or m.summary_id < %s) order by m.summary_id desc limit %s",
        (tenant, kind, kind, subject, subject, after, after, limit),
        lambda rows: [Summary(*row) for row in rows],
    )


def summary_events(tenant: int, summary_id: int) -> Call[list[SummaryEvent]]:
    """The events that the refs of a sentence name, the newest first."""
    return Call(
        f"select {_EVENT} from stepwell.fn_summary_events(%s, %s) as e",
        (tenant, summary_id),
        lambda rows: [SummaryEvent(*row) for row in rows],
    )


def write_summary(
    tenant: int,
    actor: str | None,
    kind: str,
    subject: str,
    *,
    colour: str,
    sentence_en: str,
    sentence_vi: str | None,
    source_event_count: int,
    source_event_total: int | None,
    source_event_refs: Sequence[str],
    window_start_at: datetime,
    window_end_at: datetime,
    version: str,
    confidence: float,
) -> Call[int]:
    return Call(
        "select stepwell.fn_summary_write(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s::text[], %s, %s, %s,"
        " %s::real)",
        (
            tenant,
            actor,
            kind,
            subject,
            colour,
            sentence_en,
            sentence_vi,
            source_event_count,
            source_event_total,
            list(source_event_refs),
            window_start_at,
            window_end_at,
            version,
            confidence,
        ),
        value,
    )
