"""The whole matrix T1 to T13 walked through the client: two people and a worker in one workflow."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import psycopg
import pytest
from pydantic import BaseModel

import stepwell as sw
from stepwell.testing import check_invariants
from tests.support.clock import Clock


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
    """The parts of the walk, in order; each leaves the run where the next begins."""

    def __init__(self, app: sw.App, db: psycopg.Connection, clock: Clock) -> None:
        self.app, self.db, self.clock = app, db, clock

    def later(self, **time: int) -> None:
        """Time passes, and the keeper does what is due."""
        self.clock.advance(**time)
        self.db.execute("select fn_timers_fire()")

    async def becomes(self, step: str, state: str) -> int:
        client = await self.app.client()
        unit = await self.app.step_id_of((self.run, step))
        await client.until(lambda: client.job_outcome(unit), (state,), 30)
        return unit

    async def take_and_hand_back(self) -> int:
        """T1, T2 by the worker, T9 transient, T10, T8; then T2, T2r, T2 by a person."""
        app = self.app
        self.run = await app.start("walk", key="one")
        await self.becomes("prepare", "failed")
        self.later(seconds=61)
        review = await self.becomes("review", "ready")
        await app.step_claim(review, "ada", key="claim-1")
        assert (await app.step_claim(review, "ada", key="claim-1"))["state"] == "in_progress"
        await app.step_release(review, "ada")
        assert [step.step_id for step in await app.inbox("ada")] == ["review"]
        await app.step_claim((self.run, "review"), "ada")
        return review

    async def wait_and_block(self, review: int) -> None:
        """T3 and T3r, T4 and T4r."""
        app = self.app
        await app.step_wait(review, "ada", ["waiting_external", "waiting_human"])
        waiting = await app.step(review)
        assert (waiting.waiting_facet, waiting.secondary_facets) == ("waiting_human", ["waiting_external"])
        await app.step_resume(review, "ada", "mail:1")
        await app.step_block(review, "ada", "missing_approval")
        assert (await app.step(review)).blocked_severity == "red"
        await app.step_unblock(review, "ada", "approval:1")

    async def be_late(self, review: int) -> None:
        """T5, T6, T5 again, T7."""
        app = self.app
        self.later(hours=5)
        assert (await app.step(review)).state_code == "overdue"
        await app.step_deadline_change(review, "ben", self.clock.now() + timedelta(hours=1), reason="agreed")
        assert (await app.step(review)).state_code == "in_progress"
        self.later(hours=2)
        with pytest.raises(sw.InvalidInput, match="approved"):
            await app.step_complete(review, "ada", {"note": "no answer"})
        done = await app.step_complete(review, "ada", {"approved": True})
        assert done["transition_id"] == "step.T7"
        late = await app.step(review)
        assert late.completed_after_deadline
        assert late.sla_breach_duration is not None

    async def fail_and_come_back(self) -> int:
        """T9 permanent and T11 by the engine, T12 by ben; T12r for both, granted by the other person."""
        app = self.app
        ship = await self.becomes("ship", "cannot_complete")
        sign = await self.becomes("sign", "ready")
        await app.step_claim(sign, "ben")
        with pytest.raises(sw.Refused, match="actor_is_pic"):
            await app.declare_cannot_complete(sign, "ada", "note:1")
        await app.declare_cannot_complete(sign, "ben", "note:1", reason="the pen is dry")
        assert await self.run.state() == "failed"
        for step, who in ((ship, "ada"), (sign, "ben")):
            asked = await app.approval_request("reopen", step, who)
            with pytest.raises(sw.PermissionDenied):
                await app.approval_decide(asked, "approve", who)
            await app.approval_decide(asked, "approve", "ben" if who == "ada" else "ada")
            await app.step_reopen_for_correction(step, who, "operator_mistake", asked)
        await self.becomes("ship", "completed")
        return sign

    async def correct_and_cancel(self, sign: int) -> None:
        """T8 by a person, T8r, T8 again; T13."""
        app = self.app
        await app.step_complete(sign, "ben")
        await self.becomes("archive", "ready")
        asked = await app.approval_request("reopen", sign, "ada", key="again")
        await app.approval_decide(asked, "approve", "ben")
        answer = await app.step_reopen_for_correction(sign, "ada", "data_error", asked)
        assert (answer["state"], answer["downstream"]) == ("in_progress", [])
        await app.step_complete(sign, "ben", {"corrected": True})
        await self.run.cancel("no longer needed")
        assert await self.run.state() == "cancelled"

    async def whole(self) -> None:
        async with asyncio.timeout(90), self.app, sw.Worker(self.app, lease_seconds=86_000):
            await self.app.person_set("ada", ["office"])
            await self.app.person_set("ben", ["lead"])
            review = await self.take_and_hand_back()
            await self.wait_and_block(review)
            await self.be_late(review)
            await self.correct_and_cancel(await self.fail_and_come_back())


TOLD = (
    "ready", "started", "released", "waiting", "resumed", "blocked", "unblocked", "overdue",
    "recovered_from_overdue", "completed", "reopened_for_correction", "failed", "retry", "escalated",
    "cannot_complete", "cancelled",
)  # fmt: skip


@pytest.mark.requirement("SM-15")
@pytest.mark.requirement("SM-12")
@pytest.mark.requirement("SM-11")
def test_t1_to_t13_with_two_people_and_a_worker(dsn: str, db: psycopg.Connection, clock: Clock):
    app = sw.App(database_url=dsn)
    workflow(app)
    walk = Walk(app, db, clock)
    asyncio.run(walk.whole())
    query = "select distinct event_type from event_log where stream_id = %s"
    told = {name for (name,) in db.execute(query, (walk.run.id,))}
    assert told >= {f"step.{name}" for name in TOLD}
    assert check_invariants(dsn) == []
