"""The clock of a test: only the test moves it, and each timer within a jump fires at its own time."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell as sw
from stepwell.store.connection.call import Call
from stepwell.testing import Harness, Stuck, check_invariants
from tests.support.sample import sample

MONDAY = datetime(2026, 3, 2, 9, 0, 30, tzinfo=UTC)
STEP_COUNT = 4


def rehearse(app, scenario, **options):
    async def whole():
        async with Harness(app, **options) as harness:
            return await scenario(harness)

    return asyncio.run(whole())


def pausing_app() -> sw.App:
    """A chain of steps; the input of the run says how each step pauses and for how many seconds."""
    app = sw.App()

    @app.operation
    async def pause(ctx: sw.Context, kind: str, seconds: int):
        match kind:
            case "sleep":
                await ctx.sleep(seconds)
            case "retry" if ctx.attempt == 1:
                return sw.RetryLater(after=seconds)
            case "wait" if ctx.task_type == "RUN":
                return sw.Waiting("never", timeout=seconds)
        return kind

    @app.operation
    async def note(): ...

    chain = [
        sw.Operation("pause", id=f"s{no}", inputs={
            "kind": f"$.input.plan[{no}][0]", "seconds": f"$.input.plan[{no}][1]",
        })
        for no in range(STEP_COUNT)
    ]  # fmt: skip
    app.publish(sw.Workflow("chain", sw.Sequential(*chain)))
    app.publish(sw.Workflow("watch", sw.Human("look", role="r", deadline="60s")))
    app.publish(sw.Workflow("minute", sw.Operation("note")))
    return app


def test_the_clock_stands_still_unless_the_test_moves_it(dsn):
    app = pausing_app()

    async def scenario(harness):
        for _ in range(20):
            await harness.start("chain", {"plan": [["sleep", 1]] * STEP_COUNT})
        assert await harness.now() == MONDAY
        assert await harness.jump("90s") == MONDAY + timedelta(seconds=90)

    rehearse(app, scenario, dsn=dsn, start_at=MONDAY)
    assert check_invariants(dsn) == []


@pytest.mark.parametrize("kind", ["sleep", "retry", "wait"])
def test_a_chain_of_timers_fires_within_one_jump(dsn, kind):
    app = pausing_app()

    async def scenario(harness):
        run = await harness.start("chain", {"plan": [[kind, 3600]] * STEP_COUNT})
        await harness.jump(f"{STEP_COUNT * 3600 - 1}s")
        assert list((await harness.states(run)).values()).count("completed") == STEP_COUNT - 1
        await harness.jump("1s")
        assert await run.state() == "completed"

    rehearse(app, scenario, dsn=dsn)


def test_a_schedule_fires_at_each_of_its_times(dsn):
    app = pausing_app()

    async def scenario(harness):
        await harness.app.schedule_set("each", "minute", "* * * * *")
        await harness.jump("1h")
        runs = Call(
            "select r.created_at from stepwell.workflow_run as r order by r.run_id",
            (),
            lambda rows: [row[0] for row in rows],
        )
        assert await harness.client.perform(runs) == [
            MONDAY + timedelta(seconds=30 + 60 * no) for no in range(60)
        ]

    rehearse(app, scenario, dsn=dsn, start_at=MONDAY)


def test_a_rate_limit_allows_the_next_jobs_after_its_time(dsn):
    app = pausing_app()

    async def scenario(harness):
        jobs = await app.enqueue_many(
            "note", [{}] * 5, concurrency_key="k", max_concurrency=5, rate_limit="2/1m"
        )
        done = []
        for _ in range(3):
            await harness.until_idle()
            done.append([await job.state() for job in jobs].count("completed"))
            await harness.jump("1m")
        assert done == [2, 4, 5]

    rehearse(app, scenario, dsn=dsn)


def test_after_the_harness_is_closed_the_clock_runs_from_where_it_stopped(dsn, db):
    async def scenario(harness):
        await harness.jump("400d")

    rehearse(pausing_app(), scenario, dsn=dsn, start_at=MONDAY)
    first, second = (db.execute("select stepwell.now()").fetchone()[0] for _ in range(2))
    assert MONDAY + timedelta(days=400) <= first < second


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(sw.InvalidInput, match="start_at has no time zone"):
        Harness(sw.App(), start_at=datetime(2026, 1, 1))  # noqa: DTZ001 - the mistake itself


def test_a_jump_with_too_many_timers_is_stopped(dsn):
    app = pausing_app()

    async def scenario(harness):
        await harness.app.schedule_set("each", "minute", "* * * * *")
        with pytest.raises(Stuck, match="has not reached 2027-"):
            await harness.jump("365d")

    rehearse(app, scenario, dsn=dsn, start_at=MONDAY, jump_limit=5)


plans = st.lists(
    st.tuples(st.sampled_from(["sleep", "retry", "wait"]), st.sampled_from([1, 15, 30, 60])),
    min_size=STEP_COUNT,
    max_size=STEP_COUNT,
)
jumps = st.lists(st.sampled_from([1, 14, 15, 30, 45, 60]), min_size=3, max_size=6)


@sample(5)
@given(first=plans, second=plans, by=jumps)
def test_every_timer_fires_at_its_exact_second(databases, template, first, second, by):
    """Two chains, a deadline and a schedule: after each jump exactly the due timers have fired.

    Two databases get the same events at the same times, whatever the load of the machine.
    """

    async def scenario(harness):
        await harness.app.schedule_set("each", "minute", "* * * * *")
        await harness.start("watch")
        await harness.claim("look", by="ada")
        chains = [(await harness.start("chain", {"plan": plan}), plan) for plan in (first, second)]
        passed = 0
        for seconds in by:
            assert await harness.jump(f"{seconds}s") == MONDAY + timedelta(seconds=passed + seconds)
            passed += seconds
            for run, plan in chains:
                ends = list(accumulate(length for _, length in plan))
                states = list((await harness.states(run)).values())
                assert [state == "completed" for state in states] == [end <= passed for end in ends]
            found = await harness.client.perform(_counts())
            assert found == (passed >= 60, (passed + 30) // 60)
        return await harness.client.perform(_history())

    histories = []
    for _ in range(2):
        with databases.fresh(template) as dsn:
            histories.append(rehearse(pausing_app(), scenario, dsn=dsn, start_at=MONDAY))
            assert check_invariants(dsn) == []
    assert sorted(histories[0]) == sorted(histories[1])


def _counts() -> Call[tuple[bool, int]]:
    return Call(
        "select exists (select from stepwell.step_run as s where s.state_code = 'overdue'),"
        " (select count(*) from stepwell.workflow_run as r where r.workflow = 'minute')",
        (),
        lambda rows: (rows[0][0], rows[0][1]),
    )


def _history() -> Call[list[tuple[str, ...]]]:
    """Events by workflow name: two runs that start at the same time get their ids in any order."""
    return Call(
        "select r.workflow, e.unit_id & 1048575, e.event_type, e.to_state, e.at"
        " from stepwell.event_log as e inner join stepwell.workflow_run as r on e.run_id = r.run_id"
        " where e.to_state is not null",
        (),
        lambda rows: [tuple(map(str, row)) for row in rows],
    )
