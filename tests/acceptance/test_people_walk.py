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


@pytest.mark.requirement("SM-15")
@pytest.mark.requirement("SM-12")
@pytest.mark.requirement("SM-11")
def test_t1_to_t13_with_two_people_and_a_worker(dsn: str, db: psycopg.Connection, clock: Clock):
    app = sw.App(database_url=dsn)
    workflow(app)

    def keeper() -> None:
        db.execute("select fn_timers_fire()")

    async def becomes(run: sw.RunHandle, step: str, state: str) -> int:
        client = await app.client()
        unit = await app.step_id_of((run, step))
        await client.until(lambda: client.job_outcome(unit), (state,), 30)
        return unit

    async def walk() -> sw.RunHandle:
        async with asyncio.timeout(90), app, sw.Worker(app, lease_seconds=86_000):
            await app.person_set("ada", ["office"])
            await app.person_set("ben", ["lead"])
            run = await app.start("walk", key="one")
            # T1, T2 by the worker, T9 transient, T10, T8.
            await becomes(run, "prepare", "failed")
            clock.advance(seconds=61)
            keeper()
            review = await becomes(run, "review", "ready")
            # T2 and T2r, then T2 again.
            await app.step_claim(review, "ada", key="claim-1")
            assert (await app.step_claim(review, "ada", key="claim-1"))["state"] == "in_progress"
            await app.step_release(review, "ada")
            assert [step.step_id for step in await app.inbox("ada")] == ["review"]
            await app.step_claim((run, "review"), "ada")
            # T3 and T3r, T4 and T4r.
            await app.step_wait(review, "ada", ["waiting_external", "waiting_human"])
            waiting = await app.step(review)
            assert (waiting.waiting_facet, waiting.secondary_facets) == (
                "waiting_human",
                ["waiting_external"],
            )
            await app.step_resume(review, "ada", "mail:1")
            await app.step_block(review, "ada", "missing_approval")
            assert (await app.step(review)).blocked_severity == "red"
            await app.step_unblock(review, "ada", "approval:1")
            # T5, T6, T5 again, T7.
            clock.advance(hours=5)
            keeper()
            assert (await app.step(review)).state_code == "overdue"
            await app.step_deadline_change(review, "ben", clock.now() + timedelta(hours=1), reason="agreed")
            assert (await app.step(review)).state_code == "in_progress"
            clock.advance(hours=2)
            keeper()
            with pytest.raises(sw.InvalidInput, match="approved"):
                await app.step_complete(review, "ada", {"note": "no answer"})
            done = await app.step_complete(review, "ada", {"approved": True})
            assert done["transition_id"] == "step.T7"
            late = await app.step(review)
            assert late.completed_after_deadline
            assert late.sla_breach_duration is not None
            # T9 permanent and T11 by the engine; T12 by ben.
            ship = await becomes(run, "ship", "cannot_complete")
            sign = await becomes(run, "sign", "ready")
            await app.step_claim(sign, "ben")
            with pytest.raises(sw.Refused, match="actor_is_pic"):
                await app.declare_cannot_complete(sign, "ada", "note:1")
            await app.declare_cannot_complete(sign, "ben", "note:1", reason="the pen is dry")
            assert await run.state() == "failed"
            # T12r for both, each under an approval that another person grants.
            for step, who in ((ship, "ada"), (sign, "ben")):
                asked = await app.approval_request("reopen", step, who)
                with pytest.raises(sw.PermissionDenied):
                    await app.approval_decide(asked, "approve", who)
                await app.approval_decide(asked, "approve", "ben" if who == "ada" else "ada")
                await app.step_reopen_for_correction(step, who, "operator_mistake", asked)
            await becomes(run, "ship", "completed")
            # T8 by a person, then T8r: what depends on it is named.
            await app.step_complete(sign, "ben")
            await becomes(run, "archive", "ready")
            asked = await app.approval_request("reopen", sign, "ada", key="again")
            await app.approval_decide(asked, "approve", "ben")
            answer = await app.step_reopen_for_correction(sign, "ada", "data_error", asked)
            assert (answer["state"], answer["downstream"]) == ("in_progress", [])
            await app.step_complete(sign, "ben", {"corrected": True})
            # T13.
            await run.cancel("no longer needed")
            assert await run.state() == "cancelled"
            return run

    run = asyncio.run(walk())
    told = {
        name
        for (name,) in db.execute("select distinct event_type from event_log where stream_id = %s", (run.id,))
    }
    assert told >= {
        f"step.{name}"
        for name in (
            "ready", "started", "released", "waiting", "resumed", "blocked", "unblocked", "overdue",
            "recovered_from_overdue", "completed", "reopened_for_correction", "failed", "retry", "escalated",
            "cannot_complete", "cancelled",
        )
    }  # fmt: skip
    assert check_invariants(dsn) == []
