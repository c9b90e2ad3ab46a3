"""Every transition T1 to T13 through the client: two people and a worker in one workflow.

Each part is named after its transition; the log of the run then shows that every transition happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest
from pydantic import BaseModel

import stepwell as sw
from stepwell.testing import check_invariants
from tests.support.clock import Clock


@contextmanager
def refused(guard: str) -> Iterator[None]:
    """The call is refused by this guard: the code is beside the sentence."""
    with pytest.raises(sw.Refused) as caught:
        yield
    assert f"transition_refused_by_guard:{guard}" in caught.value.codes


class Review(BaseModel):
    approved: bool
    note: str = ""


def workflow(app: sw.App) -> None:
    attempts = {"prepare": 0, "ship": 0}

    @app.operation(retry=sw.Retry(max_attempts=2, initial=60, max=60))
    async def prepare() -> dict[str, int]:
        attempts["prepare"] += 1
        if attempts["prepare"] == 1:
            raise ConnectionError("the store is closed")
        return {"items": 3}

    @app.operation(retry=sw.Retry(max_attempts=1))
    async def ship() -> dict[str, bool]:
        attempts["ship"] += 1
        if attempts["ship"] == 1:
            raise TypeError("no such address")
        return {"shipped": True}

    app.publish(
        sw.Workflow(
            "walk",
            sw.Sequential(
                sw.Operation("prepare"),
                sw.Human("review", role="office", deadline="4h", form=Review),
                sw.Parallel(sw.Operation("ship"), sw.Human("sign", assignee="ben")),
                sw.Human("archive", role="office"),
            ),
        )
    )


class Walk:
    """The transitions in an order that one run can take; each ends in the state where the next begins."""

    def __init__(self, app: sw.App, db: psycopg.Connection, clock: Clock) -> None:
        self.app, self.db, self.clock = app, db, clock

    def later(self, **time: int) -> None:
        """Moves the clock and fires the due timers."""
        self.clock.advance(**time)
        self.db.execute("select fn_timers_fire()")

    async def becomes(self, step: str, state: str) -> int:
        client = await self.app.client()
        unit = await self.app.step_id_of((self.run, step))
        await client.until(lambda: client.job_outcome(unit), (state,), 30)
        return unit

    async def state(self, unit: int) -> str:
        return (await self.app.step(unit)).state_code

    async def granted(self, unit: int, who: str) -> int:
        """An approval to reopen: the requester cannot grant it, the other person does."""
        asked = await self.app.approval_request("reopen", unit, who)
        with pytest.raises(sw.PermissionDenied):
            await self.app.approval_decide(await self.app.approval(asked), "approve", who)
        await self.app.approval_decide(
            await self.app.approval(asked), "approve", "ben" if who == "ada" else "ada"
        )
        return asked

    async def t1_the_first_step_is_ready(self) -> None:
        self.run = await self.app.start("walk", key="one")
        self.prepare = await self.app.step_id_of((self.run, "prepare"))
        self.review = await self.app.step_id_of((self.run, "review"))

    async def t9_the_handler_fails_and_has_attempts_left(self) -> None:
        await self.becomes("prepare", "failed")

    async def t10_the_step_is_retried_and_t8_completes(self) -> None:
        self.later(seconds=61)
        await self.becomes("prepare", "completed")
        await self.becomes("review", "ready")

    async def t2_a_person_claims(self) -> None:
        with pytest.raises(sw.PermissionDenied, match="office"):
            await self.app.step_claim(self.review, "ben")
        first = await self.app.step_claim(self.review, "ada", key="claim-1")
        assert await self.app.step_claim(self.review, "ada", key="claim-1") == first

    async def t2r_the_person_releases_the_step(self) -> None:
        with refused("actor_is_pic"):
            await self.app.step_release(self.review, "ben")
        await self.app.step_release(self.review, "ada")
        assert [step.step_id for step in await self.app.inbox("ada")] == ["review"]
        await self.app.step_claim((self.run, "review"), "ada")

    async def t3_the_step_waits_for_two_facets(self) -> None:
        await self.app.step_wait(self.review, "ada", ["waiting_external", "waiting_human"])
        waiting = await self.app.step(self.review)
        assert (waiting.waiting_facet, waiting.secondary_facets) == ("waiting_human", ["waiting_external"])

    async def t3r_the_step_resumes(self) -> None:
        await self.app.step_resume(self.review, "ada", "mail:1")

    async def t4_the_step_is_blocked(self) -> None:
        with refused("block_reason_known"):
            await self.app.step_block(self.review, "ada", "no_mood")
        await self.app.step_block(self.review, "ada", "missing_approval")
        assert (await self.app.step(self.review)).blocked_severity == "red"

    async def t4r_the_step_is_unblocked(self) -> None:
        await self.app.step_unblock(self.review, "ada", "approval:1")

    async def t5_the_step_is_overdue(self) -> None:
        self.later(hours=5)
        assert await self.state(self.review) == "overdue"

    async def t6_the_deadline_is_extended(self) -> None:
        due = self.clock.now() + timedelta(hours=1)
        await self.app.step_deadline_change(self.review, "ben", due, reason="agreed")
        assert await self.state(self.review) == "in_progress"

    async def t7_the_step_completes_late(self) -> None:
        self.later(hours=2)
        with pytest.raises(sw.InvalidInput, match="approved"):
            await self.app.step_complete(self.review, "ada", {"note": "no answer"})
        done = await self.app.step_complete(self.review, "ada", {"approved": True})
        assert done["transition_id"] == "step.T7"
        late = await self.app.step(self.review)
        assert late.completed_after_deadline
        assert late.sla_breach_duration is not None

    async def t11_the_handler_fails_for_good(self) -> None:
        self.ship = await self.becomes("ship", "cannot_complete")
        self.sign = await self.becomes("sign", "ready")

    async def t12_a_person_declares_that_the_step_cannot_complete(self) -> None:
        await self.app.step_claim(self.sign, "ben")
        with refused("actor_is_pic"):
            await self.app.declare_cannot_complete(self.sign, "ada", "note:1")
        await self.app.declare_cannot_complete(self.sign, "ben", "note:1", reason="the pen is dry")
        assert await self.run.state() == "failed"

    async def t12r_both_steps_are_reopened(self) -> None:
        for step, asks in ((self.ship, "ada"), (self.sign, "ben")):
            approval = await self.granted(step, asks)
            with refused("actor_oversees"):
                await self.app.step_reopen_for_correction(step, "ada", "operator_mistake", approval)
            await self.app.step_reopen_for_correction(step, "ben", "operator_mistake", approval)
        await self.becomes("ship", "completed")

    async def t8_a_person_completes_the_step(self) -> None:
        done = await self.app.step_complete(self.sign, "ben")
        assert done["transition_id"] == "step.T8"
        await self.becomes("archive", "ready")

    async def t8r_the_completed_step_is_reopened(self) -> None:
        answer = await self.app.step_reopen_for_correction(
            self.sign, "ben", "data_error", await self.granted(self.sign, "ada")
        )
        downstream = [(row["step_id"], row["state_code"], row["reopened"]) for row in answer["downstream"]]
        assert (answer["state"], downstream) == ("in_progress", [("archive", "ready", False)])
        await self.app.step_complete(self.sign, "ben", {"corrected": True})

    async def t13_the_open_step_is_cancelled(self) -> None:
        await self.run.cancel("no longer needed")
        assert await self.run.state() == "cancelled"
        assert await self.state(await self.app.step_id_of((self.run, "archive"))) == "cancelled"

    async def whole(self) -> None:
        async with asyncio.timeout(90), self.app, sw.Worker(self.app, lease_seconds=86_000):
            await self.app.person_set("ada", ["office"])
            await self.app.person_set("ben", ["lead", "reviewer"])
            for transition in [
                getattr(self, name) for name in vars(Walk) if name[0] == "t" and name[1].isdigit()
            ]:
                await transition()


EVENTS = (
    "ready", "started", "released", "waiting", "resumed", "blocked", "unblocked", "overdue",
    "recovered_from_overdue", "completed", "reopened_for_correction", "failed", "retry", "escalated",
    "cannot_complete", "cancelled",
)  # fmt: skip


EDGES = {f"T{number}" for number in range(1, 14)} | {"T2r", "T3r", "T4r", "T8r", "T12r"}


@pytest.mark.requirement("SM-15")
@pytest.mark.requirement("SM-12")
@pytest.mark.requirement("SM-11")
def test_two_people_and_a_worker_make_every_transition_t1_to_t13(
    dsn: str, db: psycopg.Connection, clock: Clock
):
    app = sw.App(database_url=dsn)
    workflow(app)
    walk = Walk(app, db, clock)
    asyncio.run(walk.whole())
    query = """select distinct e.event_type, t.transition_code from event_log as e
        left join transition_def as t on t.state_machine_id = 'step.1' and t.from_state = e.from_state
            and t.to_state = e.to_state and t.actor_class = e.actor_class
        where e.run_id = %s"""
    rows = db.execute(query, (walk.run.id,)).fetchall()
    assert {name for name, _ in rows} >= {f"step.{name}" for name in EVENTS}
    assert {code for _, code in rows} >= EDGES
    assert check_invariants(dsn) == []
