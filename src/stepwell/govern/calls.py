"""Calls about policies and receipts: receives policy texts and numbers, returns verdicts, versions, receipts.

An app, a client and the command line use the same calls: `await app.receipts(run_id=7)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeVar

from stepwell import json_text
from stepwell.calls import Calls
from stepwell.client import Client
from stepwell.define.problem import DefinitionError
from stepwell.errors import NotFound, UsageError
from stepwell.govern.policy_file import PolicyFile, read_policy
from stepwell.handles import JobHandle
from stepwell.store.calls import policy as policy_calls
from stepwell.store.calls import problems as problem_calls
from stepwell.store.calls import receipts as receipt_calls
from stepwell.store.calls.policy import PolicyVersion, RuleAnswer, Verdict
from stepwell.store.calls.problems import Lag, LagPoint, Problem
from stepwell.store.calls.receipts import Receipt
from stepwell.store.connection.call import Call
from stepwell.unit_numbers import short

__all__ = [
    "CaseOutcome",
    "Explained",
    "Govern",
    "GovernCalls",
    "Lag",
    "LagPoint",
    "PolicyVersion",
    "Problem",
    "Receipt",
    "Verdict",
]

T = TypeVar("T")

# None is a result: that of a handler that does not use it.
NO_RESULT: Final = object()


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """A case of a policy file: the expected verdict and the verdict of the rules."""

    name: str
    line: int
    expect: dict[str, Any]
    verdict: dict[str, Any]

    @property
    def ok(self) -> bool:
        return all(self.verdict.get(name) == value for name, value in self.expect.items())


@dataclass(frozen=True, slots=True)
class Explained:
    """The verdict on an action, and the answer of each rule in the order of evaluation."""

    verdict: dict[str, Any]
    answers: list[RuleAnswer]


class GovernCalls(Calls):
    """All calls about policies and receipts."""

    async def _govern(self, make: Callable[[Client], Call[T]], *, bounded: bool = False) -> T:
        client = await self._connected()
        return await client.perform(make(client), bounded=bounded)

    # -- policy -------------------------------------------------------------------------------------------

    async def policy_check(self, text: str | bytes, *, file: str = "<yaml>") -> PolicyFile:
        """Read a policy and let the database check its rules; one error lists every problem with its line."""
        found = read_policy(text, file)
        if found.rules or not found.cases:
            problems = await self._govern(lambda _: policy_calls.check(found.rules), bounded=True)
            if problems:
                raise DefinitionError(found.placed(problems))
        return found

    async def policy_test(
        self, text: str | bytes, *, file: str = "<yaml>", rules: Sequence[Mapping[str, Any]] | None = None
    ) -> list[CaseOutcome]:
        """Test the cases of a file: with `rules`, else the rules of the file, else the active ones."""
        found = await self.policy_check(text, file=file)
        if not found.cases:
            raise UsageError(f"{file} has no cases", hint="write them under the key cases", field="file")
        judged = rules or found.rules or (await self.policy()).rules
        outcomes = []
        for case in found.cases:
            action = case.action
            verdict = await self._govern(
                lambda _, action=action: policy_calls.try_rules(judged, action),  # type: ignore[misc]
                bounded=True,
            )
            outcomes.append(CaseOutcome(case.name, case.line, case.expect, verdict))
        return outcomes

    async def policy_explain(
        self, action: Mapping[str, Any], *, rules: Sequence[Mapping[str, Any]] | None = None
    ) -> Explained:
        """The verdict of the active policy, or of these rules, on an action, with the reason."""
        if rules is None:
            verdict = await self._govern(
                lambda client: policy_calls.evaluate(client.tenant_id, action), bounded=True
            )
            in_force = await self._govern(lambda client: policy_calls.version(client.tenant_id, None))
            asked: Sequence[Mapping[str, Any]] = in_force.rules if in_force is not None else []
        else:
            asked = rules
            verdict = await self._govern(lambda _: policy_calls.try_rules(asked, action), bounded=True)
        answers = await self._govern(lambda _: policy_calls.trace(asked, action), bounded=True)
        return Explained(verdict, answers)

    async def policy_propose(
        self, text: str | bytes, *, file: str = "<yaml>", reason: str | None = None
    ) -> dict[str, Any]:
        """Ask reviewers to approve a rule set; it becomes active when its approval is granted."""
        found = await self.policy_check(text, file=file)
        if not found.rules:
            raise UsageError(f"{file} has no rules", field="file")
        return await self._govern(
            lambda client: policy_calls.propose(
                client.tenant_id, found.rules, found.source, client.actor, reason
            )
        )

    async def policy_activate(self, version_no: int) -> str:
        """Activate the first rule set of a new installation; later ones require an approval."""
        return await self._govern(
            lambda client: policy_calls.activate(client.tenant_id, version_no, client.actor)
        )

    async def policies(self, *, limit: int = 100) -> list[PolicyVersion]:
        """The newest versions of the policy."""
        return await self._govern(lambda client: policy_calls.versions(client.tenant_id, limit))

    async def policy(self, version_no: int | None = None) -> PolicyVersion:
        """One version; without a number the active one."""
        found = await self._govern(lambda client: policy_calls.version(client.tenant_id, version_no))
        if found is None:
            what = "no policy is in force" if version_no is None else f"there is no version {version_no}"
            raise NotFound(what, hint="propose one with 'stepwell policy propose FILE'", field="version")
        return found

    async def verdicts(self, run_id: int | None = None, *, limit: int = 100) -> list[Verdict]:
        """The verdicts on actions, the newest first."""
        return await self._govern(lambda client: policy_calls.verdicts(client.tenant_id, run_id, limit))

    # -- problems -----------------------------------------------------------------------------------------

    async def problems(
        self, *, category: str | None = None, with_closed: bool = False, limit: int = 100
    ) -> list[Problem]:
        """What is wrong and needs a person, the newest first."""
        return await self._govern(
            lambda client: problem_calls.problems(
                client.tenant_id, with_closed=with_closed, category=category, limit=limit
            )
        )

    async def problem(self, problem_id: int) -> Problem:
        """One problem."""
        found = await self._govern(lambda client: problem_calls.problem(client.tenant_id, problem_id))
        if found is None:
            raise NotFound(f"problem {problem_id} does not exist", field="problem")
        return found

    async def problem_close(self, problem_id: int, reason: str) -> None:
        """Say that a problem is settled, and how; the log has it as an event."""
        await self._govern(
            lambda client: problem_calls.close_problem(client.tenant_id, problem_id, client.actor, reason)
        )

    async def lags(self, window: timedelta = timedelta(hours=1)) -> list[Lag]:
        """How long events took to each consumer, 5 minutes to 7 days back; the latest first."""
        return await self._govern(lambda client: problem_calls.lags(client.tenant_id, window))

    async def lag_trend(
        self, producer: str, consumer: str, window: timedelta = timedelta(days=1)
    ) -> list[LagPoint]:
        """The same of one pair over time, the oldest first."""
        return await self._govern(
            lambda client: problem_calls.trend(client.tenant_id, producer, consumer, window)
        )

    # -- receipts -----------------------------------------------------------------------------------------

    async def receipts(
        self, *, run_id: int | None = None, state: str | None = None, limit: int = 100
    ) -> list[Receipt]:
        """The newest receipts, of one run or state or of all."""
        return await self._govern(
            lambda client: receipt_calls.receipts(client.tenant_id, run_id, state, limit)
        )

    async def receipt(self, receipt_id: int) -> Receipt:
        """One receipt."""
        found = await self._govern(lambda client: receipt_calls.receipt(client.tenant_id, receipt_id))
        if found is None:
            raise NotFound(f"receipt {short(receipt_id)} does not exist", field="receipt")
        return found

    async def receipt_settle(
        self,
        receipt_id: int,
        outcome: str,
        reason: str,
        *,
        external_id: str | None = None,
        result: Any = NO_RESULT,
    ) -> str:
        """Settle an unconfirmed receipt: its effect happened (`confirmed`) or not (`void`).

        `confirmed` requires the `result` for the handler; None if the handler does not use it.
        """
        text = None if result is NO_RESULT else json_text.encode(result, "result")
        return await self._govern(
            lambda client: receipt_calls.settle_by_hand(
                client.tenant_id, receipt_id, outcome, client.actor, reason, external_id, text
            )
        )

    async def reverse(self, receipt_id: int, *, reason: str | None = None) -> JobHandle:
        """Enqueue a job that undoes an effect; a worker with the connector runs it, and policy judges it."""
        client = await self._connected()
        call = receipt_calls.reverse(client.tenant_id, receipt_id, client.actor, reason)
        return JobHandle(client, await client.perform(call))


class Govern(GovernCalls):
    """The same calls on a client, without an app."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def _connected(self) -> Client:
        return self._client
