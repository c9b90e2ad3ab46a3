"""Read steps and jobs from the views: receives filters, returns calls that give frozen values.

Lists are pages, the newest row first: `after` is the number of the last row of the page before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, TypeVar

from stepwell.store.connection.call import Call, Rows, page_size

STEP_LIMIT = 50_000

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class RunStep:
    """A step of a run. `why_*`: why a step that has not ended is not running."""

    step_run_id: int
    step_no: int
    step_id: str
    step_kind: str
    scope_no: int
    item_no: int
    branch_no: int | None
    conditional_no: int | None
    parent_id: int | None
    state_code: str
    waiting_facet: str | None
    mandatory: bool
    operation: str | None
    role: str | None
    # The number of the attempt that is under way, or of the last one; 0 before the first.
    attempt: int
    max_attempts: int
    lease_owner: str | None
    next_eligible_at: datetime | None
    deadline_at: datetime | None
    last_error: dict[str, Any] | None
    output: Any
    # The values that a human step shows to its person.
    inputs: dict[str, Any] | None
    # The progress that the handler reported: done, total, note, at.
    progress: dict[str, Any] | None
    started_at: datetime | None
    completed_at: datetime | None
    child_run_id: int | None
    why_code: str | None
    why_en: str | None
    why_vi: str | None
    who: str | None

    @property
    def name(self) -> str:
        """The id of the step; in a Map with the number of the item."""
        return self.step_id if self.scope_no == 0 else f"{self.step_id}[{self.item_no}]"


@dataclass(frozen=True, slots=True)
class Job:
    """A free-standing job, or an operation step of a run."""

    job_id: int
    scope: str
    operation: str
    executor: str
    status: str | None
    state_code: str
    idempotency_key: str | None
    run_id: int | None
    step_id: str | None
    priority: int
    attempt: int
    max_attempts: int
    lease_owner: str | None
    lease_expires_at: datetime | None
    next_eligible_at: datetime | None
    last_error: dict[str, Any] | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    progress: dict[str, Any] | None
    now_at: datetime


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt."""

    attempt: int
    failure_class: str
    classification: str
    error: dict[str, Any]
    failed_at: datetime
    next_eligible_at: datetime | None


@dataclass(frozen=True, slots=True)
class Why:
    code: str
    sentence_en: str
    sentence_vi: str
    who: str | None


_STEP_COLUMNS = ", ".join(f"s.{field.name}" for field in fields(RunStep))


def steps(tenant: int, run_id: int, *, with_reasons: bool = True) -> Call[list[RunStep]]:
    """The steps in the order of the graph. Each reason needs a call, so a live picture leaves them out."""
    return Call(
        f"select {_STEP_COLUMNS} from stepwell.fn_run_steps_read(%s, %s, %s, %s) as s",
        (tenant, run_id, with_reasons, STEP_LIMIT),
        _list(RunStep),
    )


_JOB_COLUMNS = (
    "j.job_id, j.scope, j.operation, j.executor, j.status, j.state_code, j.idempotency_key, j.workflow_id,"
    " j.step_id, j.priority, j.attempt, j.max_attempts, j.lease_owner, j.lease_expires_at,"
    " j.next_eligible_at, j.last_error, j.created_at, j.started_at, j.completed_at, j.progress,"
    " stepwell.now()"
)


def jobs(
    tenant: int,
    *,
    state: str | None = None,
    operation: str | None = None,
    run_id: int | None = None,
    with_steps: bool = False,
    after: int | None = None,
    limit: int = 50,
) -> Call[list[Job]]:
    """Free-standing jobs; `with_steps`: also the operation steps of runs; `run_id`: those of one run."""
    return Call(
        f"select {_JOB_COLUMNS} from stepwell.job_queue as j where j.tenant_id = %s"
        " and (%s::text is null or j.state_code = %s) and (%s::text is null or j.operation = %s)"
        " and (%s::bigint is null or j.workflow_id = %s) and (%s or j.scope = 'job')"
        " and (%s::bigint is null or j.job_id < %s) order by j.job_id desc limit %s",
        (
            tenant, state, state, operation, operation, run_id, run_id, with_steps or run_id is not None,
            after, after, page_size(limit),
        ),
        _list(Job),
    )  # fmt: skip


def job(tenant: int, job_id: int) -> Call[Job | None]:
    return Call(
        f"select {_JOB_COLUMNS} from stepwell.job_queue as j where j.tenant_id = %s and j.job_id = %s",
        (tenant, job_id),
        _one(Job),
    )


def failed_step(tenant: int, run_id: int) -> Call[tuple[str, dict[str, Any] | None] | None]:
    """The first step of a run that could not be completed, and its last error."""
    return Call(
        "select s.step_id, s.last_error from stepwell.step_run as s where s.tenant_id = %s"
        " and s.step_run_id between (%s::bigint << 20) + 1 and ((%s::bigint + 1) << 20) - 1"
        " and s.state_code = 'cannot_complete' order by s.completed_at, s.step_run_id limit 1",
        (tenant, run_id, run_id),
        lambda rows: (rows[0][0], rows[0][1]) if rows else None,
    )


def failures(tenant: int, unit_id: int) -> Call[list[Failure]]:
    """The failed attempts, the oldest first."""
    return Call(
        "select f.attempt_count, f.failure_class, f.classification, f.error, f.failed_at, f.next_eligible_at"
        " from stepwell.unit_failure as f where f.tenant_id = %s and f.unit_id = %s"
        " order by f.failed_at, f.lease_no",
        (tenant, unit_id),
        _list(Failure),
    )


def why(tenant: int, unit_id: int) -> Call[Why]:
    return Call(
        "select w.code, w.sentence_en, w.sentence_vi, w.who from stepwell.fn_why_not_running(%s, %s) as w",
        (unit_id, tenant),
        lambda rows: Why(*rows[0]),
    )


def _list(kind: type[_Row]) -> Callable[[Rows], list[_Row]]:
    return lambda rows: [kind(*row) for row in rows]


def _one(kind: type[_Row]) -> Callable[[Rows], _Row | None]:
    def decode(rows: Sequence[Sequence[Any]]) -> _Row | None:
        return kind(*rows[0]) if rows else None

    return decode
