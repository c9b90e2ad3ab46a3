"""Calls for human steps, people and approvals: receives plain values, returns a `Call`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from stepwell import json_text
from stepwell.store.connection.call import Call, Rows

INBOX_LIMIT = 500


@dataclass(frozen=True, slots=True)
class HumanStep:
    """A human step or a task, as it is shown to people."""

    step_run_id: int
    run_id: int
    workflow: str
    scope: str
    parent_step_run_id: int | None
    step_id: str
    title: str | None
    state_code: str
    waiting_facet: str | None
    secondary_facets: list[str] | None
    role: str | None
    assignee: str | None
    pic: str | None
    priority: int
    deadline_at: datetime | None
    overdue_first_at: datetime | None
    completed_after_deadline: bool
    sla_breach_duration: timedelta | None
    is_late: bool
    block_reason: str | None
    block_detail: str | None
    blocked_severity: str | None
    form: dict[str, Any] | None
    started_at: datetime | None
    completed_at: datetime | None
    escalation_level: int | None
    escalated_to: str | None
    escalated_at: datetime | None
    block_label: dict[str, str] | None
    now_at: datetime
    parent_step_id: str | None
    item_no: int | None
    # The values that the person sees, stored when the step opened; a task shows the inputs of its step.
    inputs: dict[str, Any] | None
    # The progress that the handler reported: done, total, note, at.
    progress: dict[str, Any] | None
    step_kind: str
    # A human step or a task, or an operation that a person corrects.
    is_for_people: bool

    @property
    def name(self) -> str:
        """The name that a person types: 7/sign-off, 7/pack[1] in a map, 7/sign-off/check for a task."""
        inside = self.step_id if self.item_no is None else f"{self.step_id}[{self.item_no}]"
        return "/".join(str(part) for part in (self.run_id, self.parent_step_id, inside) if part is not None)


@dataclass(frozen=True, slots=True)
class Approval:
    """An approval that reviewers decide."""

    approval_id: int
    state_code: str
    action: str
    subject_unit_id: int
    # None if the subject is a job or a proposed policy.
    run_id: int | None
    tier: int
    quorum: int
    approve_count: int
    votes: list[dict[str, Any]] | None
    requested_by: str
    reason: str | None
    requested_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    acting: str | None
    approvers: list[str] | None
    approver_role: str | None
    about: dict[str, Any] | None
    # The digest of everything above that does not change by a decision; a decision carries it.
    # None for whoever may not see what the approval shows.
    shown_digest: str | None


@dataclass(frozen=True, slots=True)
class Dependent:
    """A step that a correction affects: `around` (a map or sub-workflow that reopens with it) or `after`."""

    relation: str
    run_id: int
    step_run_id: int
    step_id: str
    step_kind: str
    state_code: str
    can_reopen: bool


_HUMAN = ", ".join(f"h.{field.name}" for field in fields(HumanStep))
_APPROVAL = ", ".join(f"a.{field.name}" for field in fields(Approval))


def step_call(name: str, tenant: int, unit_id: int, *positional: Any, **named: Any) -> Call[dict[str, Any]]:
    """Call `fn_step_<name>`: tenant and step first; `named` are parameter names without the prefix p_."""
    places = ["%s"] * (2 + len(positional)) + [f"p_{word} => %s" for word in named]
    return Call(
        f"select stepwell.fn_step_{name}({', '.join(places)})",
        (tenant, unit_id, *positional, *named.values()),
        _value,
    )


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment of a person on a step or task."""

    comment_id: int
    body: str
    written_by: str
    written_at: datetime


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A result that the handler of a step has saved."""

    name: str
    value: Any
    saved_at: datetime


def comments(tenant: int, unit_id: int) -> Call[list[Comment]]:
    return Call(
        "select c.comment_id, c.body, c.written_by, c.written_at from stepwell.task_comments as c"
        " where c.tenant_id = %s and c.unit_id = %s order by c.comment_id",
        (tenant, unit_id),
        lambda rows: [Comment(*row) for row in rows],
    )


def checkpoints(tenant: int, unit_id: int) -> Call[list[Checkpoint]]:
    return Call(
        "select c.checkpoint_name, c.checkpoint_value, c.saved_at from stepwell.task_checkpoints as c"
        " where c.tenant_id = %s and c.unit_id = %s order by c.saved_at, c.checkpoint_name limit 1000",
        (tenant, unit_id),
        lambda rows: [Checkpoint(*row) for row in rows],
    )


def complete_step(
    tenant: int, unit_id: int, actor: str, output: Mapping[str, Any], key: str | None
) -> Call[Any]:
    return Call(
        "select stepwell.fn_step_complete(%s, %s, %s, %s::jsonb, %s)",
        (tenant, unit_id, actor, json_text.encode(output, "output"), key),
        _value,
    )


def correction_preview(tenant: int, unit_id: int) -> Call[list[Dependent]]:
    return Call(
        "select d.relation, d.run_id, d.step_run_id, d.step_id, d.step_kind, d.state_code, d.can_reopen"
        " from stepwell.fn_step_correction_preview(%s, %s) as d",
        (tenant, unit_id),
        lambda rows: [Dependent(*row) for row in rows],
    )


def inbox(tenant: int, person: str | None, role: str | None, limit: int) -> Call[list[HumanStep]]:
    return Call(
        f"select {_HUMAN} from stepwell.fn_inbox_read(%s, %s, %s, %s) as h",
        (tenant, person, role, limit),
        lambda rows: [HumanStep(*row) for row in rows],
    )


def step_card(tenant: int, unit_id: int) -> Call[HumanStep | None]:
    """A step or task of any kind, also one without people."""
    return Call(
        f"select {_HUMAN} from stepwell.v_step_card as h where h.tenant_id = %s and h.step_run_id = %s",
        (tenant, unit_id),
        lambda rows: HumanStep(*rows[0]) if rows else None,
    )


def tasks(tenant: int, unit_id: int) -> Call[list[HumanStep]]:
    """All tasks of a step, also those that a worker performs: the step waits for them too."""
    return Call(
        f"select {_HUMAN} from stepwell.v_step_card as h"
        " where h.tenant_id = %s and h.parent_step_run_id = %s order by h.step_run_id",
        (tenant, unit_id),
        lambda rows: [HumanStep(*row) for row in rows],
    )


def find_step(tenant: int, run_id: int, step_id: str) -> Call[int | None]:
    """The number of a step, by run and id; a step of a map item is step[1], a task is step/task."""
    step, _, task = step_id.partition("/")
    item = re.fullmatch(r"(.+)\[(\d{1,7})\]", step)
    return Call(
        "select stepwell.fn_step_find(%s, %s, %s, %s, %s)",
        (tenant, run_id, item[1] if item else step, task or None, int(item[2]) if item else None),
        _value,
    )


def set_person(
    tenant: int, name: str, roles: Sequence[str] | None, display_name: str | None, is_active: bool
) -> Call[int]:
    return Call(
        "select stepwell.fn_person_set(%s, %s, %s, %s, %s)",
        (tenant, name, None if roles is None else list(roles), display_name, is_active),
        _value,
    )


def set_calendar(
    tenant: int, name: str, time_zone: str, hours: Sequence[Mapping[str, Any]], holidays: Mapping[str, str]
) -> Call[None]:
    return Call(
        "select stepwell.fn_calendar_set(%s, %s, %s, %s::jsonb, %s::jsonb)",
        (tenant, name, time_zone, json_text.encode(hours, "hours"), json_text.encode(holidays, "holidays")),
        lambda rows: None,
    )


def request_approval(
    tenant: int,
    action: str,
    unit_id: int,
    actor: str,
    reason: str | None,
    quorum: int,
    expires_seconds: int | None,
    key: str | None,
    tier: int = 1,
    approvers: Sequence[str] | None = None,
    role: str | None = None,
) -> Call[int]:
    return Call(
        "select stepwell.fn_approval_request(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (
            tenant, action, unit_id, actor, reason, quorum, expires_seconds, key, tier,
            None if approvers is None else list(approvers), role,
        ),
        _value,
    )  # fmt: skip


def decide_approval(
    tenant: int, approval_id: int, decision: str, actor: str, shown_digest: str | None, reason: str | None
) -> Call[str]:
    return Call(
        "select stepwell.fn_approval_decide(%s, %s, %s, %s, %s, %s)",
        (tenant, approval_id, decision, actor, shown_digest, reason),
        _value,
    )


def withdraw_approval(tenant: int, approval_id: int, actor: str, reason: str | None) -> Call[str]:
    return Call(
        "select stepwell.fn_approval_withdraw(%s, %s, %s, %s)", (tenant, approval_id, actor, reason), _value
    )


def approvals(
    tenant: int, state: str | None, limit: int, *, after: int | None = None, subject: int | None = None
) -> Call[list[Approval]]:
    """The newest first; `after` is the number of the last one of the page before, `subject` a unit."""
    return Call(
        f"select {_APPROVAL} from stepwell.v_approval as a"
        " where a.tenant_id = %s and (%s::text is null or a.state_code = %s)"
        " and (%s::bigint is null or a.approval_id < %s) and (%s::bigint is null or a.subject_unit_id = %s)"
        " order by a.approval_id desc limit %s",
        (tenant, state, state, after, after, subject, subject, limit),
        lambda rows: [Approval(*row) for row in rows],
    )


def approval(tenant: int, approval_id: int) -> Call[Approval | None]:
    return Call(
        f"select {_APPROVAL} from stepwell.v_approval as a where a.tenant_id = %s and a.approval_id = %s",
        (tenant, approval_id),
        lambda rows: Approval(*rows[0]) if rows else None,
    )


def rollup(tenant: int, run_id: int) -> Call[dict[str, Any]]:
    return Call("select stepwell.fn_workflow_rollup_compute(%s, %s)", (run_id, tenant), _value)


def _value(rows: Rows) -> Any:
    return rows[0][0]
