"""Policies: receives rules or a text in YAML, returns problems, verdicts, proposals and versions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, Field

from stepwell.api.caller import BoundCaller, Caller
from stepwell.api.pages import Cursor, Limit, Page, page_of, seek
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Shown
from stepwell.define.problem import DefinitionError
from stepwell.errors import InvalidInput, NotFound
from stepwell.govern.policy_file import PolicyFile, read_policy
from stepwell.store.calls import policy as calls

router = Resource("policies")

VersionNo = Annotated[int, Path(ge=1, lt=2**31)]
PolicyText = Annotated[str, Field(min_length=1, max_length=1_000_000, examples=["rules:\n  - name: …"])]


class PolicyView(Shown):
    """A rule set; `state_code` is active, replaced, or the state of its proposal."""

    version_no: int
    state_code: str
    rules: list[dict[str, Any]]
    rules_hash: str
    diff: dict[str, Any]
    base_version_no: int | None
    proposal_id: Id
    approval_id: Id
    proposed_by: str
    proposed_at: datetime
    reason: str | None
    activated_at: datetime | None
    activated_by: str | None
    source: str | None


class VerdictView(Shown):
    """A stored verdict of policy on an action."""

    verdict_id: Id
    run_id: Id | None
    step_run_id: Id
    connector: str
    operation: str
    target: str
    effect: str = Field(description="allow, deny or needs_approval")
    reason_code: str
    reason: str
    rule_name: str | None
    policy_version: int | None
    approval_id: Id | None
    idempotency_key: str
    decided_at: datetime


class PolicySource(BaseModel):
    """A policy file in YAML."""

    text: PolicyText


class Checked(BaseModel):
    rule_count: int
    case_count: int


class Trial(BaseModel):
    """An action, and the rules that judge it; without rules the active policy."""

    action: dict[str, Any]
    text: PolicyText | None = Field(default=None, description="rules in YAML, instead of the active ones")


class RuleAnswerView(Shown):
    priority: int
    rule: str
    effect: str
    answer: str = Field(description="true, false, unknown, or why the rule cannot be evaluated")


class Explanation(BaseModel):
    verdict: dict[str, Any]
    answers: list[RuleAnswerView] = Field(description="each rule in the order of evaluation")


class CaseView(BaseModel):
    name: str
    line: int
    expect: dict[str, Any]
    verdict: dict[str, Any]
    ok: bool


class Proposal(PolicySource):
    reason: str | None = Field(default=None, min_length=1, max_length=2000)


class Proposed(BaseModel):
    answer: dict[str, Any] = Field(description="the version and the approval that activates it")


@router.read("/policies", summary="The versions of the policy, the newest first", problems=())
async def list_policies(caller: Caller, limit: Limit = 20, cursor: Cursor = None) -> Page[PolicyView]:
    before = seek(cursor, "policies", int)
    found = await caller.perform(
        calls.versions(caller.tenant_id, limit + 1, before=None if before is None else before[0])
    )
    return page_of(found, limit, PolicyView.model_validate, lambda one: [one.version_no], "policies")


@router.read("/policies/active", summary="The policy in force")
async def show_active_policy(caller: Caller) -> PolicyView:
    return PolicyView.model_validate(await _policy(caller, None))


@router.read("/policies/{version_no}", summary="One version of the policy")
async def show_policy(version_no: VersionNo, caller: Caller) -> PolicyView:
    return PolicyView.model_validate(await _policy(caller, version_no))


@router.write("/policies/check", verb="read", summary="Check a policy; nothing is stored", problems=())
async def check_policy(source: PolicySource, caller: Caller) -> Checked:
    found = await _read(caller, source.text)
    return Checked(rule_count=len(found.rules), case_count=len(found.cases))


@router.write("/policies/test", verb="read", summary="Judge the cases of a policy file", problems=())
async def test_policy(source: PolicySource, caller: Caller) -> list[CaseView]:
    found = await _read(caller, source.text)
    rules: calls.Rules = found.rules or (await _policy(caller, None)).rules
    outcomes = []
    for case in found.cases:
        verdict = await caller.perform(calls.try_rules(rules, case.action))
        ok = all(verdict.get(name) == value for name, value in case.expect.items())
        outcomes.append(
            CaseView(name=case.name, line=case.line, expect=case.expect, verdict=verdict, ok=ok)
        )
    return outcomes


@router.write("/policies/explain", verb="read", summary="Explain the verdict on an action", problems=())
async def explain_policy(trial: Trial, caller: Caller) -> Explanation:
    rules: calls.Rules
    if trial.text is not None:
        rules = (await _read(caller, trial.text)).rules
        verdict = await caller.perform(calls.try_rules(rules, trial.action))
    else:
        in_force = await caller.perform(calls.version(caller.tenant_id, None))
        rules = [] if in_force is None else in_force.rules
        verdict = await caller.perform(calls.evaluate(caller.tenant_id, trial.action))
    answers = await caller.perform(calls.trace(rules, trial.action))
    return Explanation(verdict=verdict, answers=[RuleAnswerView.model_validate(one) for one in answers])


@router.write(
    "/policies", verb="policy.change", status=201, summary="Propose a policy", problems=("conflict", "refused")
)
async def propose_policy(proposal: Proposal, caller: Caller) -> Proposed:
    found = await _read(caller, proposal.text)
    if not found.rules:
        raise InvalidInput("the policy has no rules", hint="write them under the key rules", field="body.text")
    answer = await caller.perform(
        calls.propose(caller.tenant_id, found.rules, found.source, caller.actor, proposal.reason)
    )
    return Proposed(answer=answer)


@router.read("/verdicts", summary="The verdicts of policy on actions, the newest first", problems=())
async def list_verdicts(
    caller: Caller,
    run: Annotated[int | None, Query(ge=1, lt=2**43, description="only verdicts of this run")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[VerdictView]:
    after = seek(cursor, "verdicts", int)
    found = await caller.perform(
        calls.verdicts(caller.tenant_id, run, limit + 1, after=None if after is None else after[0])
    )
    return page_of(found, limit, VerdictView.model_validate, lambda one: [one.verdict_id], "verdicts")


async def _policy(caller: BoundCaller, version_no: int | None) -> calls.PolicyVersion:
    found = await caller.perform(calls.version(caller.tenant_id, version_no))
    if found is None:
        what = "no policy is in force" if version_no is None else f"the policy has no version {version_no}"
        raise NotFound(what, hint="propose one: POST /policies", field="version_no")
    return found


async def _read(caller: BoundCaller, text: str) -> PolicyFile:
    """The policy of a text, checked by the database; one error lists every problem with its line."""
    found = read_policy(text, "body.text")
    if found.rules or not found.cases:
        problems = await caller.perform(calls.check(found.rules))
        if problems:
            raise DefinitionError(found.placed(problems))
    return found
