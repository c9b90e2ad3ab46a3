"""Act for people: receives a step and the name of a person, returns an answer: `app.step_claim(7, "ada")`.

A step is given by its number or by `(run, "step-id")`; a step of a map by `(run, "step-id[1]")`, a task by
`(run, "step-id/task-id")`. A run is a handle, its number or `(workflow, key)`. Each call accepts a `key`: a
repeat with the same key returns the first answer. Forms are checked in full here, then by the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from stepwell.calls import Calls
from stepwell.define.json_schema import problem_of
from stepwell.errors import InvalidInput, NotFound
from stepwell.handles import RunHandle
from stepwell.store.calls import people as calls
from stepwell.store.calls import unblock, views, words
from stepwell.store.calls.people import Approval, Checkpoint, Comment, Dependent, HumanStep
from stepwell.store.calls.unblock import Cause
from stepwell.unit_numbers import short

if TYPE_CHECKING:
    from stepwell.client import Client

__all__ = ["Approval", "Dependent", "HumanStep", "People", "PeopleCalls", "StepName"]

StepName = int | tuple[int | tuple[str, str] | RunHandle[Any], str]
Answer = dict[str, Any]


class PeopleCalls(Calls):
    """All calls of people."""

    async def step_id_of(self, step: StepName) -> int:
        """The number of a step."""
        match step:
            case int():
                return step
            case (run, step_id):
                run_id = await (await self._connected()).run_id_of(run)
                found = await self._perform(lambda tenant: calls.find_step(tenant, run_id, step_id))
                if found is None:
                    hint = await self._perform(
                        lambda tenant: words.suggestion(tenant, "step", step_id, run_id)
                    )
                    raise NotFound(f"run {run_id} has no step {step_id}", hint=hint, field="step")
                return found

    async def _call(self, name: str, step: StepName, *positional: Any, **named: Any) -> Answer:
        unit_id = await self.step_id_of(step)
        return await self._perform(
            lambda tenant: calls.step_call(name, tenant, unit_id, *positional, **named)
        )

    # -- who ----------------------------------------------------------------------------------------------

    async def person_set(
        self,
        name: str,
        roles: Sequence[str] | None = None,
        *,
        display_name: str | None = None,
        is_active: bool = True,
    ) -> int:
        """Add a person, or change the roles and the display name of a person."""
        return await self._perform(
            lambda tenant: calls.set_person(tenant, name, roles, display_name, is_active)
        )

    async def inbox(
        self, person: str | None = None, *, role: str | None = None, limit: int = 100
    ) -> list[HumanStep]:
        """The steps of a person and the steps the person may claim; without a person, those of all people."""
        return await self._perform(lambda tenant: calls.inbox(tenant, person, role, limit))

    async def step(self, step: StepName) -> HumanStep:
        """One step or task of any kind: its state, its person, its progress."""
        unit_id = await self.step_id_of(step)
        found = await self._perform(lambda tenant: calls.step_card(tenant, unit_id))
        if found is None:
            raise NotFound(f"step {short(unit_id)} does not exist", field="step")
        return found

    async def tasks(self, step: StepName) -> list[HumanStep]:
        """The tasks of a step."""
        unit_id = await self.step_id_of(step)
        return await self._perform(lambda tenant: calls.tasks(tenant, unit_id))

    async def why(self, step: StepName) -> views.Why:
        """The state of a step and its reason, as one sentence in each language."""
        unit_id = await self.step_id_of(step)
        return await self._perform(lambda tenant: views.why(tenant, unit_id))

    async def unblock_path(self, step: StepName) -> list[Cause]:
        """The causes from a step, run or job to the root: who can act, what helps, when it is expected."""
        unit_id = await self.step_id_of(step)
        return await self._perform(lambda tenant: unblock.path(tenant, unit_id))

    # -- the calls of the document ------------------------------------------------------------------------

    async def step_assign(
        self, step: StepName, person: str, by: str, *, reason: str | None = None, key: str | None = None
    ) -> Answer:
        """Put a person in charge of a step."""
        return await self._call("assign", step, person, by, reason=reason, key=key)

    async def step_claim(self, step: StepName, person: str, *, key: str | None = None) -> Answer:
        """Take a step: the person is in charge of it."""
        return await self._call("claim", step, person, key=key)

    async def step_release(
        self, step: StepName, person: str, *, reason: str | None = None, key: str | None = None
    ) -> Answer:
        """Give a step back to its role."""
        return await self._call("release", step, person, reason=reason, key=key)

    async def step_delegate(
        self, step: StepName, person: str, to: str, *, reason: str | None = None, key: str | None = None
    ) -> Answer:
        """Hand a step to another person."""
        return await self._call("delegate", step, person, to, reason=reason, key=key)

    async def step_wait(
        self,
        step: StepName,
        person: str,
        facets: Sequence[str],
        *,
        event_type: str | None = None,
        resume_at: datetime | None = None,
        key: str | None = None,
    ) -> Answer:
        """Set a step to waiting. An event of the run or a time can end the wait."""
        return await self._call(
            "wait", step, person, list(facets), event_type=event_type, resume_at=resume_at, key=key
        )

    async def step_resume(
        self, step: StepName, person: str, resolution_ref: str, *, key: str | None = None
    ) -> Answer:
        """Go on with a step that waits."""
        return await self._call("resume", step, person, resolution_ref, key=key)

    async def step_comment(self, step: StepName, person: str, body: str, *, key: str | None = None) -> Answer:
        """Write a comment on a step or task, also after it has ended."""
        return await self._call("comment", step, person, body, key=key)

    async def step_comments(self, step: StepName) -> list[Comment]:
        """The comments on a step or task, the oldest first."""
        unit_id = await self.step_id_of(step)
        return await self._perform(lambda tenant: calls.comments(tenant, unit_id))

    async def step_checkpoints(self, step: StepName) -> list[Checkpoint]:
        """What the handler of a step has saved of its work."""
        unit_id = await self.step_id_of(step)
        return await self._perform(lambda tenant: calls.checkpoints(tenant, unit_id))

    async def step_block(
        self, step: StepName, person: str, reason: str, *, detail: str | None = None, key: str | None = None
    ) -> Answer:
        """Say that something is missing without which the step cannot go on."""
        return await self._call("block", step, person, reason, detail=detail, key=key)

    async def step_unblock(
        self, step: StepName, person: str, resolution_ref: str, *, key: str | None = None
    ) -> Answer:
        """Say that what was missing is there."""
        return await self._call("unblock", step, person, resolution_ref, key=key)

    async def step_block_escalate(
        self,
        step: StepName,
        person: str,
        *,
        reason: str | None = None,
        approval_id: int | None = None,
        key: str | None = None,
    ) -> Answer:
        """Ask the next level for help with a step that is blocked."""
        return await self._call(
            "block_escalate", step, person, reason=reason, approval_id=approval_id, key=key
        )

    async def step_complete(
        self,
        step: StepName,
        person: str,
        output: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
    ) -> Answer:
        """Complete a step. If the output does not fit the form, the error lists every problem."""
        unit_id = await self.step_id_of(step)
        found = await self._perform(lambda tenant: calls.step_card(tenant, unit_id))
        given = dict(output or {})
        if found is not None and found.form is not None:
            check_form(found.form, given)
        return await self._perform(lambda tenant: calls.complete_step(tenant, unit_id, person, given, key))

    async def declare_cannot_complete(
        self,
        step: StepName,
        person: str,
        evidence_ref: str,
        *,
        reason: str | None = None,
        key: str | None = None,
    ) -> Answer:
        """Declare that a step cannot be completed, with the evidence."""
        return await self._call("cannot_complete", step, person, evidence_ref, reason=reason, key=key)

    async def escalate(
        self, step: StepName, person: str, *, reason: str | None = None, key: str | None = None
    ) -> Answer:
        """Tell the next level that a step stays open too long."""
        return await self._call("escalate", step, person, reason=reason, key=key)

    async def step_deadline_change(
        self,
        step: StepName,
        person: str,
        deadline_at: datetime,
        *,
        reason: str | None = None,
        key: str | None = None,
    ) -> Answer:
        """Change when a step is due."""
        return await self._call("deadline_change", step, person, deadline_at, reason=reason, key=key)

    async def correction_preview(self, step: StepName) -> list[Dependent]:
        """The completed steps that depend on this one."""
        unit_id = await self.step_id_of(step)
        return await self._perform(lambda tenant: calls.correction_preview(tenant, unit_id))

    async def step_reopen_for_correction(
        self,
        step: StepName,
        person: str,
        reason: str,
        approval_id: int,
        *,
        downstream: str = "leave",
        give_to: str | None = None,
        key: str | None = None,
    ) -> Answer:
        """Open an ended step again; `downstream`: `leave` or `reopen` the steps that depend on it."""
        return await self._call(
            "reopen_for_correction", step, person, reason, approval_id, downstream=downstream,
            person=give_to, key=key,
        )  # fmt: skip

    # -- approvals ----------------------------------------------------------------------------------------

    async def approval_request(
        self,
        action: str,
        step: StepName,
        person: str,
        *,
        reason: str | None = None,
        quorum: int = 1,
        expires_seconds: int | None = None,
        key: str | None = None,
        tier: int = 1,
        approvers: Sequence[str] | None = None,
        role: str | None = None,
    ) -> int:
        """Ask reviewers: the people in `approvers`, those with the `role`, or else anybody but `person`."""
        unit_id = await self.step_id_of(step)
        return await self._perform(
            lambda tenant: calls.request_approval(
                tenant, action, unit_id, person, reason, quorum, expires_seconds, key, tier, approvers, role
            )
        )

    async def approval_decide(
        self, approval: Approval, decision: str, person: str, *, reason: str | None = None
    ) -> str:
        """Decide an approval as it was read; if it is not the same any more, the database refuses."""
        return await self._perform(
            lambda tenant: calls.decide_approval(
                tenant, approval.approval_id, decision, person, approval.shown_digest, reason
            )
        )

    async def approval_withdraw(self, approval_id: int, person: str, *, reason: str | None = None) -> str:
        """Withdraw a request for an approval; returns its state."""
        return await self._perform(
            lambda tenant: calls.withdraw_approval(tenant, approval_id, person, reason)
        )

    async def approvals(self, state: str | None = None, *, limit: int = 100) -> list[Approval]:
        """The newest approvals, of one state or of all."""
        return await self._perform(lambda tenant: calls.approvals(tenant, state, limit))

    async def approval(self, approval_id: int) -> Approval:
        """One approval, with its votes."""
        found = await self._perform(lambda tenant: calls.approval(tenant, approval_id))
        if found is None:
            raise NotFound(f"approval {short(approval_id)} does not exist", field="approval")
        return found


class People(PeopleCalls):
    """The same calls on a client, without an app."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def _connected(self) -> Client:
        return self._client


def check_form(form: Mapping[str, Any], output: Mapping[str, Any]) -> None:
    """Check with the full JSON Schema; one error lists every problem with its field."""
    # Imported here because it is the slowest import of the client.
    import jsonschema.validators

    kind = jsonschema.validators.validator_for(form, default=jsonschema.Draft202012Validator)
    checker = kind(form, format_checker=kind.FORMAT_CHECKER)
    problems = [
        problem_of(error, "output")
        for error in sorted(checker.iter_errors(dict(output)), key=lambda error: error.json_path)
    ]
    if problems:
        raise InvalidInput("; ".join(problems[:20]), field="output")
