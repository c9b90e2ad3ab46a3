"""A bulk replay of many dead letters is stopped by its first stages: a real worker meets the failure."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

import stepwell as sw
from stepwell.testing import check_invariants
from tests.support.deciding import deciding
from tests.support.sample import some
from tests.support.wait import until_async

# `make chaos` replays a thousand.
LETTERS = some(60, 1_000)
# The first stages of a plan: one letter, then ten.
CANARY = 11
LIMIT_SECONDS = 280.0
_STAGES = """
select r.stage_no, array_agg((j.payload ->> 'n')::int order by r.replay_request_id)
from dlq_replay_request as r
inner join job_detail as j on r.tenant_id = j.tenant_id and r.unit_id = j.job_id
where r.plan_id = %s group by r.stage_no order by r.stage_no
"""
_OPEN = "select count(*) from job_dead_letter where resolved_at is null"


@pytest.mark.requirement("GV-06")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("stage", [1, 2, 3])
def test_a_letter_that_fails_again_stops_what_comes_after_its_stage(
    app: sw.App, dsn: str, db: psycopg.Connection[Any], stage: int
):
    closed: set[int] = set(range(LETTERS))
    calls: list[int] = []

    @app.operation(retry=sw.Retry(max_attempts=1))
    async def post(n: int) -> int:
        calls.append(n)
        if n in closed:
            raise RuntimeError("the period is closed")
        return n

    def one(query: str, *values: Any) -> Any:
        row = db.execute(query, values).fetchone()
        assert row is not None
        return row[0]

    def carried(plan_id: int) -> bool:
        """The duties of the keeper; whether the plan has ended."""
        one("select fn_replays_settle()")
        one("select fn_replay_plans_carry()")
        state: str = one("select plan_state from dlq_replay_plan where plan_id = %s", plan_id)
        return state != "running"

    async def scenario() -> tuple[int, list[list[int]], int]:
        async with asyncio.timeout(LIMIT_SECONDS), app:
            await app.enqueue_many("post", [{"n": n} for n in range(LETTERS)])
            async with sw.Worker(app, slots=20):
                await until_async(lambda: one(_OPEN) == LETTERS, limit_seconds=LIMIT_SECONDS)
            for name in ("ada", "ben", "cleo"):
                db.execute("select fn_person_set(1, %s)", (name,))
            plan = one(
                "select fn_replay_propose(1, %s, 'ada', 'the period is open again')",
                Jsonb({"operation": "post"}),
            )
            plan_id = int(plan["plan_id"])
            stages = [list(numbers) for _, numbers in db.execute(_STAGES, (plan_id,)).fetchall()]
            assert [len(numbers) for numbers in stages] == [1, CANARY - 1, LETTERS - CANARY]
            # The cause is mended, but for one letter of this stage.
            bad = random.Random(stage).choice(stages[stage - 1])
            closed.clear()
            closed.add(bad)
            calls.clear()
            for person in ("ben", "cleo")[: plan["quorum"]]:
                db.execute(deciding("approve", person), (int(plan["approval_id"]),))
            async with sw.Worker(app, slots=20):
                await until_async(lambda: carried(plan_id), limit_seconds=LIMIT_SECONDS)
            return plan_id, stages, bad

    plan_id, stages, bad = asyncio.run(scenario())
    begun = {n for numbers in stages[:stage] for n in numbers}
    assert bad in calls
    assert set(calls) <= begun, "a letter of a later stage was begun"
    assert len(calls) == len(set(calls)), "a letter was begun twice"
    if stage < 3:
        assert len(calls) <= CANARY
    stopped_as_told(one, plan_id, len(calls) - 1)
    assert check_invariants(dsn) == []


def stopped_as_told(one: Callable[..., Any], plan_id: int, completed: int) -> None:
    """The plan tells why it stopped; what it began was completed, but one; the others are dead as before."""
    because = one("select ended_because from dlq_replay_plan where plan_id = %s", plan_id)
    assert one("select plan_state from dlq_replay_plan where plan_id = %s", plan_id) == "stopped"
    assert "the period is closed" in because or "ended again" in because
    begun = one(
        "select count(*) from dlq_replay_request where plan_id = %s and scheduled_at is not null", plan_id
    )
    assert one("select count(*) from work_unit where scope = 'job' and state_code = 'completed'") == completed
    assert one(_OPEN) == LETTERS - begun + 1
    left = (
        "select (payload ->> 'left_count')::int from event_log where event_type = 'dlq_replay.plan_stopped'"
    )
    assert one(left) == LETTERS - begun
