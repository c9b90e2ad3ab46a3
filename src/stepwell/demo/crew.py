"""The people of the demo at work: receives what is open for people, returns what they do and when.

They use the same calls as everybody. Only people who never sign in are played, and the runs for whoever
watches are left alone, so nobody takes a step from that person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import stepwell as sw
from stepwell.demo.chance import between, chance, choice
from stepwell.demo.people import PEOPLE, crew_with
from stepwell.demo.plan import YOURS
from stepwell.errors import StepwellError

INBOX_LIMIT: Final = 200
# So many steps a person works on at most.
HANDS: Final = 2
# The share of steps that are blocked, or wait for somebody outside, before they go on.
BLOCKED_SHARE: Final = 0.05
WAITING_SHARE: Final = 0.03
CREW: Final = frozenset(member.name for member in PEOPLE if not member.signs_in)
TROUBLES: Final = (
    ("missing_approval", "the substitute part needs the agreement of reliability"),
    ("missing_access", "the gate of the unit is locked"),
    ("other", "the crane is at another unit until tomorrow"),
)

Do = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Act:
    """What somebody does, so many minutes from now. The next look begins with what is then open."""

    minutes: float
    do: Do
    forget: Callable[[], None]

    async def perform(self) -> None:
        # Refused: somebody else was faster, a task of the step is open, or the run has ended.
        with suppress(StepwellError):
            await self.do()
        self.forget()


class Crew:
    """Remembers what it has begun; after a restart it goes on with what its people have claimed."""

    def __init__(self, app: sw.App) -> None:
        self._app = app
        self._begun: set[tuple[int, str]] = set()
        # A step is stopped once at most.
        self._stopped: set[int] = set()
        self._hands: Counter[str] = Counter()

    async def look(self) -> list[Act]:
        acts: list[Act] = []
        left = {run.run_id for run in await self._app.runs(labels=YOURS, state="in_progress")}
        open_steps = [step for step in await self._app.inbox(limit=INBOX_LIMIT) if step.run_id not in left]
        self._hands = Counter(
            step.pic for step in open_steps if step.pic and step.state_code == "in_progress"
        )
        for step in open_steps:
            if (step.step_run_id, step.state_code) not in self._begun:
                acts += self._next(step)
        for approval in await self._app.approvals("requested", limit=INBOX_LIMIT):
            if approval.run_id not in left and (approval.approval_id, "requested") not in self._begun:
                acts += self._decision(approval)
        return acts

    def _next(self, step: sw.HumanStep) -> list[Act]:
        about, state = step.step_run_id, step.state_code
        if state == "ready" and step.pic is None:
            free = [name for name in crew_with(step.role or "") if self._hands[name] < HANDS]
            if not free:
                return []
            person = choice(free, "who", about)
            self._hands[person] += 1
            return self._begin(
                step, between(1, 20, "claim", about), lambda: self._app.step_claim(about, person)
            )
        if step.pic not in CREW:
            return []
        person = step.pic
        if state in ("in_progress", "overdue"):
            return self._work(step, person)
        if state == "blocked":
            lead = choice(crew_with("lead"), about)
            return self._begin(
                step,
                between(200, 900, "unblock", about),
                lambda: self._app.step_unblock(about, lead, f"note:{about}"),
            )
        if state == "waiting":
            return self._begin(
                step,
                between(40, 300, "resume", about),
                lambda: self._app.step_resume(about, person, f"note:{about}"),
            )
        return []

    def _work(self, step: sw.HumanStep, person: str) -> list[Act]:
        about, luck = step.step_run_id, chance("luck", step.step_run_id)
        minutes = between(60, 260, "work", about)
        is_stopped = about not in self._stopped and luck < BLOCKED_SHARE + WAITING_SHARE
        if is_stopped:
            self._stopped.add(about)
        if is_stopped and luck < BLOCKED_SHARE:
            reason, detail = choice(TROUBLES, "trouble", about)
            return self._begin(
                step, minutes / 3, lambda: self._app.step_block(about, person, reason, detail=detail)
            )
        if is_stopped:
            return self._begin(
                step, minutes / 3, lambda: self._app.step_wait(about, person, ["waiting_external"])
            )
        return self._begin(step, minutes, lambda: self._app.step_complete(about, person, _filled(step)))

    def _decision(self, approval: sw.Approval) -> list[Act]:
        about = approval.approval_id
        people = [
            name for name in crew_with(approval.approver_role or "lead") if name != approval.requested_by
        ]
        if not people:
            return []
        person = choice(people, about)
        decision = "reject" if chance("reject", about) < 0.1 else "approve"

        async def decide() -> None:
            seen = await self._app.approval(about)
            reason = "not before the weekend" if decision == "reject" else None
            await self._app.approval_decide(seen, decision, person, reason=reason)

        return self._planned((about, "requested"), between(30, 160, "decide", about), decide)

    def _begin(self, step: sw.HumanStep, minutes: float, do: Do) -> list[Act]:
        return self._planned((step.step_run_id, step.state_code), minutes, do)

    def _planned(self, what: tuple[int, str], minutes: float, do: Do) -> list[Act]:
        self._begun.add(what)
        return [Act(minutes, do, lambda: self._begun.discard(what))]


def _filled(step: sw.HumanStep) -> dict[str, Any] | None:
    """What the person writes into the form."""
    if step.form is None:
        return None
    fields = step.form.get("properties", {})
    return {name: _value(name, fields[name], step.step_run_id) for name in fields}


def _value(name: str, field: dict[str, Any], about: int) -> Any:
    options: Sequence[Any] | None = field.get("enum")
    if options:
        return choice(options, name, about)
    kinds: dict[str, Any] = {
        "boolean": True,
        "number": round(between(0.1, 12, name, about), 2),
        "integer": int(between(1, 9, name, about)),
    }
    return kinds.get(str(field.get("type")), "the newest change was turned off; nothing is open")
