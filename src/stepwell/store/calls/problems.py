"""Every function of the database that problems need: receives plain values, returns a `Call`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime

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
