"""Act for people in a test: receives a step and a person, performs the call and the work that follows.

If only one such step is open, its id is enough (`"sign-off"`, `"pack[1]"`, `"sign-off/check"`); otherwise
give `(run, "sign-off")` or its number. Each call first runs the runs until the step is open, as `end` does. A
person whom the test has not added is added with the role that the step or approval requires.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from stepwell.app import App
from stepwell.client import Client, RunHandle
from stepwell.errors import UsageError
from stepwell.people import Answer, Approval, HumanStep, StepName
from stepwell.store.calls import people, principals, rehearsal, views
from stepwell.store.calls.rehearsal import Flight
from stepwell.testing.stuck import Stuck, reasons_of

T = TypeVar("T")
OpenStep = str | StepName


class PeopleActs(ABC):
    """The calls of people in a test."""

    app: App
    client: Client
    _jump_limit: int

    @abstractmethod
    async def until_idle(self) -> Flight: ...

    @abstractmethod
    async def _move(self, at: datetime) -> None: ...

    async def person(self, name: str, *roles: str) -> None:
        """Add a person with these roles and no others."""
        await self.app.person_set(name, roles)

    # -- steps --------------------------------------------------------------------------------------------

    async def complete(self, step: OpenStep, *, by: str, output: Mapping[str, Any] | None = None) -> Answer:
        """Complete a human step or task; claim it first if it has no person in charge."""
        found = await self._open_step(step, by)
        if found.state_code == "ready":
            await self.app.step_claim(found.step_run_id, by)
        return await self._settled(self.app.step_complete(found.step_run_id, by, output))

    async def claim(self, step: OpenStep, *, by: str) -> Answer:
        return await self._act(step, by, lambda no: self.app.step_claim(no, by))

    async def release(self, step: OpenStep, *, by: str, reason: str | None = None) -> Answer:
        return await self._act(step, by, lambda no: self.app.step_release(no, by, reason=reason))

    async def assign(self, step: OpenStep, *, to: str, by: str, reason: str | None = None) -> Answer:
        await self._add_unknown(to, (await self._open_step(step, by)).role)
        return await self._act(step, by, lambda no: self.app.step_assign(no, to, by, reason=reason))

    async def delegate(self, step: OpenStep, *, to: str, by: str, reason: str | None = None) -> Answer:
        await self._add_unknown(to, (await self._open_step(step, by)).role)
        return await self._act(step, by, lambda no: self.app.step_delegate(no, by, to, reason=reason))

    async def block(self, step: OpenStep, *, by: str, reason: str, detail: str | None = None) -> Answer:
        return await self._act(step, by, lambda no: self.app.step_block(no, by, reason, detail=detail))

    async def unblock(self, step: OpenStep, *, by: str, resolution: str) -> Answer:
        return await self._act(step, by, lambda no: self.app.step_unblock(no, by, resolution))

    async def cannot_complete(
        self, step: OpenStep, *, by: str, evidence: str, reason: str | None = None
    ) -> Answer:
        return await self._act(
            step, by, lambda no: self.app.declare_cannot_complete(no, by, evidence, reason=reason)
        )

    # -- approvals ----------------------------------------------------------------------------------------

    async def approve(self, about: OpenStep | None = None, *, by: str, reason: str | None = None) -> str:
        """Approve the open approval; return its state, which is `requested` while others must approve too.

        `about` selects one of several: its step or its action, `(run, "step")`, or its number.
        """
        return await self._decide(about, "approve", by, reason)

    async def reject(self, about: OpenStep | None = None, *, by: str, reason: str) -> str:
        """Reject the open approval, with a reason."""
        return await self._decide(about, "reject", by, reason)

    async def _decide(self, about: OpenStep | None, decision: str, by: str, reason: str | None) -> str:
        found = await self._open_approval(about)
        await self._add_unknown(by, found.approver_role)
        return await self._settled(self.app.approval_decide(found, decision, by, reason=reason))

    # -- find ---------------------------------------------------------------------------------------------

    async def _act(self, step: OpenStep, by: str, call: Callable[[int], Awaitable[T]]) -> T:
        found = await self._open_step(step, by)
        return await self._settled(call(found.step_run_id))

    async def _settled(self, act: Awaitable[T]) -> T:
        answer = await act
        await self.until_idle()
        return answer

    async def _open_step(self, step: OpenStep, by: str) -> HumanStep:
        async def matching() -> Sequence[HumanStep]:
            return [item for item in await self.app.inbox(limit=people.INBOX_LIMIT) if _is(item, step)]

        found = await self._come_to(f"step {_shown(step)}", matching)
        await self._add_unknown(by, found.role)
        return found

    async def _open_approval(self, about: OpenStep | None) -> Approval:
        async def matching() -> Sequence[Approval]:
            found = await self.app.approvals("requested", limit=people.INBOX_LIMIT)
            return [item for item in found if about is None or await self._is_about(item, about)]

        return await self._come_to(f"approval{'' if about is None else f' about {_shown(about)}'}", matching)

    async def _is_about(self, approval: Approval, about: OpenStep) -> bool:
        match about:
            case int():
                return about in (approval.approval_id, approval.subject_unit_id)
            case str():
                return about in (approval.action, await self._step_name(approval))
            case (run, name):
                run_id = run.id if isinstance(run, RunHandle) else run
                return run_id == approval.run_id and await self._is_about(approval, name)

    async def _step_name(self, approval: Approval) -> str | None:
        if approval.run_id is None:
            return None
        steps = await self.client.perform(
            views.steps(self.client.tenant_id, approval.run_id, with_reasons=False)
        )
        return next((step.name for step in steps if step.step_run_id == approval.subject_unit_id), None)

    async def _come_to(self, what: str, matching: Callable[[], Awaitable[Sequence[T]]]) -> T:
        """Wait until exactly one matching item is open. The clock moves only while no person has to act."""
        for _ in range(self._jump_limit):
            flight = await self.until_idle()
            found = await matching()
            if len(found) == 1:
                return found[0]
            asked = await self.client.perform(rehearsal.asked(self.client.tenant_id, None))
            if found:
                raise UsageError(
                    f"{len(found)} open items match {what}: {', '.join(reasons_of(asked))}",
                    hint='choose one of them: (run, "step"), or its number',
                    field="step",
                )
            if asked or flight.next_due_at is None:
                raise Stuck(
                    f"no {what} is open" + ("; open are" if asked else ", and nothing is due"),
                    reasons_of(asked),
                    hint="let time pass with harness.jump(…)" if flight.next_due_at else None,
                )
            await self._move(flight.next_due_at)
        raise Stuck(f"no {what} was open after {self._jump_limit} jumps of the clock")

    async def _add_unknown(self, name: str, role: str | None) -> None:
        if not await self.client.perform(principals.principals(self.client.tenant_id, name)):
            await self.app.person_set(name, [role] if role else [])


def _is(item: HumanStep, step: OpenStep) -> bool:
    match step:
        case int():
            return item.step_run_id == step
        case str():
            return step in (item.name, item.name.partition("/")[2])
        case (run, name):
            run_id = run.id if isinstance(run, RunHandle) else run
            return item.name == f"{run_id}/{name}"


def _shown(step: OpenStep) -> str:
    match step:
        case (run, name):
            return f"{run.id if isinstance(run, RunHandle) else run}/{name}"
        case _:
            return str(step)
