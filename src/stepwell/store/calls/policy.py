"""Calls for policy: receives plain values, returns a `Call`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from stepwell import json_text
from stepwell.store.connection.call import Call, Rows

Rules = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """A rule set; `state_code` is active, replaced, or the state of its proposal."""

    version_no: int
    state_code: str
    rules: list[dict[str, Any]]
    rules_hash: str
    diff: dict[str, Any]
    base_version_no: int | None
    proposal_id: int
    approval_id: int
    proposed_by: str
    proposed_at: datetime
    reason: str | None
    activated_at: datetime | None
    activated_by: str | None
    source: str | None


@dataclass(frozen=True, slots=True)
class PolicyProblem:
    """A problem of a rule; number 0 is a problem of the whole set."""

    rule_no: int
    field: str | None
    problem: str


@dataclass(frozen=True, slots=True)
class RuleAnswer:
    """Whether one rule matches an action: true, false, unknown, or why it cannot be evaluated."""

    priority: int
    rule: str
    effect: str
    answer: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A stored verdict of policy on an action."""

    verdict_id: int
    # None for the action of a free-standing job.
    run_id: int | None
    step_run_id: int
    connector: str
    operation: str
    target: str
    effect: str
    reason_code: str
    reason: str
    rule_name: str | None
    policy_version: int | None
    approval_id: int | None
    idempotency_key: str
    decided_at: datetime


_VERSION = ", ".join(f"p.{field.name}" for field in fields(PolicyVersion))


def check(rules: Rules) -> Call[list[PolicyProblem]]:
    return Call(
        "select c.rule_no, c.field, c.problem from stepwell.fn_policy_check(%s::jsonb) as c",
        (json_text.encode(rules, "rules"),),
        lambda rows: [PolicyProblem(*row) for row in rows],
    )


def try_rules(rules: Rules, action: Mapping[str, Any]) -> Call[dict[str, Any]]:
    return Call(
        "select stepwell.fn_policy_try(%s::jsonb, %s::jsonb)",
        (json_text.encode(rules, "rules"), json_text.encode(action, "action")),
        _value,
    )


def trace(rules: Rules, action: Mapping[str, Any]) -> Call[list[RuleAnswer]]:
    return Call(
        "select t.priority, t.rule, t.effect, t.answer"
        " from stepwell.fn_policy_trace(%s::jsonb, %s::jsonb) as t",
        (json_text.encode(rules, "rules"), json_text.encode(action, "action")),
        lambda rows: [RuleAnswer(*row) for row in rows],
    )


def evaluate(tenant: int, action: Mapping[str, Any]) -> Call[dict[str, Any]]:
    return Call(
        "select stepwell.fn_policy_evaluate(%s, %s::jsonb)",
        (tenant, json_text.encode(action, "action")),
        _value,
    )


def propose(
    tenant: int, rules: Rules, source: str | None, actor: str, reason: str | None
) -> Call[dict[str, Any]]:
    return Call(
        "select stepwell.fn_policy_propose(%s, %s::jsonb, %s, %s, %s)",
        (tenant, json_text.encode(rules, "rules"), source, actor, reason),
        _value,
    )


def activate(tenant: int, version_no: int, actor: str) -> Call[str]:
    return Call("select stepwell.fn_policy_activate(%s, %s, %s)", (tenant, version_no, actor), _value)


def versions(tenant: int, limit: int, *, before: int | None = None) -> Call[list[PolicyVersion]]:
    """The newest first; `before` is the number of the last one of the page before."""
    return Call(
        f"select {_VERSION} from stepwell.v_policy as p where p.tenant_id = %s"
        " and (%s::int is null or p.version_no < %s) order by p.version_no desc limit %s",
        (tenant, before, before, limit),
        lambda rows: [PolicyVersion(*row) for row in rows],
    )


def version(tenant: int, version_no: int | None) -> Call[PolicyVersion | None]:
    """One version; without a number the active one."""
    return Call(
        f"select {_VERSION} from stepwell.v_policy as p where p.tenant_id = %s"
        " and (p.version_no = %s or (%s::int is null and p.state_code = 'active'))",
        (tenant, version_no, version_no),
        lambda rows: PolicyVersion(*rows[0]) if rows else None,
    )


def verdicts(tenant: int, run_id: int | None, limit: int, *, after: int | None = None) -> Call[list[Verdict]]:
    """The newest first; `after` is the number of the last one of the page before."""
    return Call(
        "select v.verdict_id, v.run_id, v.unit_id, v.connector, v.operation, v.target, v.effect,"
        " v.reason_code, v.reason, v.rule_name, v.version_no, v.approval_id, v.idempotency_key, v.decided_at"
        " from stepwell.v_policy_verdict as v where v.tenant_id = %s"
        " and (%s::bigint is null or v.unit_id between %s::bigint << 20 and ((%s::bigint + 1) << 20) - 1)"
        " and (%s::bigint is null or v.verdict_id < %s) order by v.verdict_id desc limit %s",
        (tenant, run_id, run_id, run_id, after, after, limit),
        lambda rows: [Verdict(*row) for row in rows],
    )


def _value(rows: Rows) -> Any:
    return rows[0][0]
