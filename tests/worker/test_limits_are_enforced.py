"""A worker never runs more handlers than slots, keys and groups allow; higher priority goes first."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

import stepwell as sw
from tests.support.wait import until_async


class Crowd:
    """Counts the handlers that run at the same time; none of them ends before the test releases it."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.entered: list[object] = []
        self.door = asyncio.Semaphore(0)

    async def visit(self, who: object) -> None:
        self.entered.append(who)
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.door.acquire()
        finally:
            self.inside -= 1

    async def until_inside(self, count: int) -> None:
        await until_async(lambda: self.inside == count, what=f"{count} inside")


@pytest.fixture
def crowd(app):
    made = Crowd()

    @app.operation
    async def visit(who: int = 0):
        await made.visit(who)

    return made


def ready_count(db) -> int:
    return db.execute("select count(*) from job_ready").fetchone()[0]


def test_slots_are_never_exceeded(app, play, db, crowd):
    async def scenario():
        async with sw.Worker(app, slots=3, exchanges=3):
            jobs = await app.enqueue_many("visit", [{"who": n} for n in range(20)])
            for left in range(17, -1, -1):
                await crowd.until_inside(3)
                await until_async(lambda left=left: ready_count(db) == left)
                crowd.door.release()
            for _ in range(3):
                crowd.door.release()
            for job in jobs:
                await job.result()

    play(scenario)
    assert crowd.most == 3
    assert sorted(crowd.entered) == list(range(20))


@pytest.mark.parametrize("limit", [1, 2])
def test_a_concurrency_key_is_never_exceeded_by_many_workers(app, play, db, crowd, limit):
    async def scenario():
        async with sw.Worker(app, slots=10, name="a"), sw.Worker(app, slots=10, name="b"):
            jobs = await app.enqueue_many(
                "visit", [{"who": n} for n in range(8)], concurrency_key="printer", max_concurrency=limit
            )
            other = await app.enqueue("visit", {"who": 99})
            await until_async(lambda: 99 in crowd.entered)
            for _ in range(9):
                crowd.door.release()
                await until_async(lambda: crowd.inside <= limit + 1)
            for job in [*jobs, other]:
                await job.result()

    play(scenario)
    assert crowd.most <= limit + 1
    assert sorted(crowd.entered) == [*range(8), 99]
    used = db.execute("select used_count from concurrency_slot where slot_key = 'key:printer'").fetchone()
    assert used == (0,)


@pytest.mark.requirement("RX-08")
def test_parallel_runs_at_most_max_concurrency_steps_and_a_free_slot_is_used(app, play, db, crowd):
    steps = [sw.Operation("visit", id=f"v{n}") for n in range(6)]
    app.publish(sw.Workflow("fan", sw.Parallel(*steps, max_concurrency=2)))

    async def scenario():
        async with sw.Worker(app, slots=10):
            run = await app.start("fan", {"who": 1})
            for _ in range(4):
                await crowd.until_inside(2)
                count = len(crowd.entered)
                crowd.door.release()
                await until_async(lambda count=count: len(crowd.entered) == count + 1)
            crowd.door.release()
            crowd.door.release()
            await run.result()

    play(scenario)
    assert crowd.most == 2
    assert len(crowd.entered) == 6


def test_jobs_of_higher_priority_run_first(app, play, db, crowd):
    async def scenario():
        for priority, who in ((0, "later"), (5, "soon"), (-3, "last"), (5, "soon too")):
            await app.enqueue("visit", {"who": who}, priority=priority)
        async with sw.Worker(app, slots=1, exchanges=1):
            for _ in range(4):
                await crowd.until_inside(1)
                count = len(crowd.entered)
                crowd.door.release()
                await until_async(lambda count=count: len(crowd.entered) > count or count == 4)
            await until_async(lambda: ready_count(db) == 0 and crowd.inside == 0)

    app.handlers.clear()

    @app.operation
    async def visit(who: str):
        await crowd.visit(who)

    play(scenario)
    assert crowd.entered == ["soon", "soon too", "later", "last"]


def test_a_job_for_later_runs_at_its_time(app, play, db, clock, turn, crowd):
    async def scenario():
        async with sw.Worker(app):
            job = await app.enqueue("visit", process_after=clock.now() + timedelta(days=99))
            assert await job.state() == "ready"
            assert ready_count(db) == 0
            crowd.door.release()
            turn.on(days=100)
            await job.result()

    play(scenario)


def test_a_worker_serves_only_its_executors(app, play, db, crowd):
    from tests.worker.crunching import add_slowly

    app.operation(add_slowly, executor="process")

    async def scenario():
        async with sw.Worker(app, executors=["default"]):
            left = await app.enqueue("add_slowly", {"a": 1, "b": 2})
            crowd.door.release()
            await (await app.enqueue("visit")).result()
            assert await left.state() == "ready"
        with pytest.raises(sw.InvalidInput, match="registered are default, process"):
            async with sw.Worker(app, executors=["quantum"]):
                pass

    play(scenario)


@pytest.mark.parametrize("slots", [0, 10_001])
def test_a_worker_with_too_few_or_too_many_slots_is_refused(app, slots):
    with pytest.raises(sw.StepwellError, match=f"slots is {slots}"):
        sw.Worker(app, slots=slots)
