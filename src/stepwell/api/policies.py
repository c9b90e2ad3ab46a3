"""Policies: receives rules or a text in YAML, returns problems, verdicts, proposals and versions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, Field

from stepwell.api.accepted import Body
from stepwell.api.caller import NUMBER_LIMIT, Caller
from stepwell.api.calls import calls_of
from stepwell.api.pages import Cursor, Limit, Page, page_of, seek
from stepwell.api.resource import Resource
from stepwell.api.shown import Id, Shown
from stepwell.store.calls import policy as policy_calls

router = Resource("policies")

PLACE = "body.text"

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


class PolicySource(Body):
    """A policy file in YAML."""

    text: PolicyText


class Checked(BaseModel):
    rule_count: int
    case_count: int


class Trial(Body):
    """An action, and the rules that judge it; without rules the active policy."""

    action: dict[str, Any] = Field(
        examples=[
            {"connector": "bank", "operation": "refund", "target": "bank://4711", "fields": {"amount": 5}}
        ]
    )
    text: PolicyText | None = Field(default=None, description="rules in YAML, instead of the active ones")


class RuleAnswerView(Shown):
    priority: int
    rule: str
    effect: str
    answer: str = Field(description="true, false, unknown, or why the rule cannot be evaluated")


class Explanation(Shown):
    verdict: dict[str, Any]
    answers: list[RuleAnswerView] = Field(description="each rule in the order of evaluation")


class CaseView(Shown):
    name: str
    line: int
    expect: dict[str, Any]
    verdict: dict[str, Any]
    ok: bool


class Proposal(PolicySource):
    reason: str | None = Field(
        default=None, min_length=1, max_length=2000, examples=["small refunds need no approval"]
    )


class Proposed(BaseModel):
    answer: dict[str, Any] = Field(description="the version and the approval that activates it")


@router.read("/policies", summary="The versions of the policy, the newest first", problems=())
async def list_policies(caller: Caller, limit: Limit = 20, cursor: Cursor = None) -> Page[PolicyView]:
    before = seek(cursor, "policies", int)
    found = await caller.perform(
        policy_calls.versions(caller.tenant_id, limit + 1, before=None if before is None else before[0])
    )
    return page_of(found, limit, PolicyView.model_validate, lambda one: [one.version_no], "policies")


@router.read("/policies/active", summary="The policy in force")
async def show_active_policy(caller: Caller) -> PolicyView:
    return PolicyView.model_validate(await calls_of(caller).policy())


@router.read("/policies/{version_no}", summary="One version of the policy")
async def show_policy(version_no: VersionNo, caller: Caller) -> PolicyView:
    return PolicyView.model_validate(await calls_of(caller).policy(version_no))


@router.write("/policies/check", verb="read", summary="Check a policy; nothing is stored", problems=())
async def check_policy(source: PolicySource, caller: Caller) -> Checked:
    found = await calls_of(caller).policy_check(source.text, file=PLACE)
    return Checked(rule_count=len(found.rules), case_count=len(found.cases))


@router.write("/policies/test", verb="read", summary="Judge the cases of a policy file", problems=())
async def test_policy(source: PolicySource, caller: Caller) -> list[CaseView]:
    found = await calls_of(caller).policy_test(source.text, file=PLACE)
    return [CaseView.model_validate(one) for one in found]


@router.write("/policies/explain", verb="read", summary="Explain the verdict on an action", problems=())
async def explain_policy(trial: Trial, caller: Caller) -> Explanation:
    calls = calls_of(caller)
    rules = None if trial.text is None else (await calls.policy_check(trial.text, file=PLACE)).rules
    return Explanation.model_validate(await calls.policy_explain(trial.action, rules=rules))


@router.write(
    "/policies",
    verb="policy.change",
    status=201,
    summary="Propose a policy",
    problems=("conflict", "refused"),
)
async def propose_policy(proposal: Proposal, caller: Caller) -> Proposed:
    answer = await calls_of(caller).policy_propose(proposal.text, file=PLACE, reason=proposal.reason)
    return Proposed(answer=answer)


@router.read("/verdicts", summary="The verdicts of policy on actions, the newest first", problems=())
async def list_verdicts(
    caller: Caller,
    run: Annotated[
        int | None, Query(ge=1, lt=NUMBER_LIMIT >> 20, description="only verdicts of this run")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[VerdictView]:
    after = seek(cursor, "verdicts", int)
    found = await caller.perform(
        policy_calls.verdicts(caller.tenant_id, run, limit + 1, after=None if after is None else after[0])
    )
    return page_of(found, limit, VerdictView.model_validate, lambda one: [one.verdict_id], "verdicts")
