"""Waiting for many runs: for all or the first, with a limit, notified by the database."""

from __future__ import annotations

import asyncio

import pytest

import stepwell as sw
from stepwell import waiting
from tests.support.wait import until_async


def test_the_results_of_all_runs_have_the_declared_type(square, play):
    async def scenario():
        async with sw.Worker(square):
            runs = await square.start_many("square", [{"n": n} for n in range(20)], result_type=int)
            found = await square.wait(runs)
        assert found.open == []
        assert {one.run_id: one.result for one in found.ended} == {
            run.id: n * n for n, run in enumerate(runs)
        }

    play(scenario)


def test_until_first_returns_after_the_first_end(square, play, db):
    square.publish(sw.Workflow("waits", sw.Wait("go")))

    async def scenario():
        slow = await square.start_many("waits", [{}] * 3)
        waiting_for = asyncio.create_task(square.wait(slow, until="first"))
        await until_async(lambda: _all_watched(db))
        await slow[1].signal("go")
        found = await waiting_for
        assert [one.run_id for one in found.ended] == [slow[1].id]
        assert [run.id for run in found.open] == [slow[0].id, slow[2].id]

    play(scenario)


def test_at_the_time_limit_ended_and_open_runs_are_returned(square, play):
    async def scenario():
        async with sw.Worker(square):
            done = await square.start("square", {"n": 2})
            failed = await square.start("broken")
            await square.wait([done, failed])
        stuck = await square.start("square", {"n": 3})
        found = await square.wait([done, failed, stuck], limit_seconds=0.2)
        assert {one.run_id: one.state for one in found.ended} == {done.id: "completed", failed.id: "failed"}
        assert [run.id for run in found.open] == [stuck.id]
        assert (await square.wait([])).ended == []
        with pytest.raises(sw.NotFound, match="run 999999 does not exist"):
            await square.wait([sw.RunHandle(stuck.client, 999_999)])

    play(scenario)


def test_ends_are_notified_and_not_polled(square, play, db, monkeypatch):
    """Without polling, a notification still reports each end."""
    monkeypatch.setattr(waiting, "LOOK_SECONDS", 3600.0)
    square.publish(sw.Workflow("waits", sw.Wait("go")))

    async def scenario():
        runs = await square.start_many("waits", [{}] * 5)
        waiting_for = asyncio.create_task(square.wait(runs))
        await until_async(lambda: _all_watched(db))
        for run in runs:
            await run.signal("go")
        assert len((await waiting_for).ended) == 5

    play(scenario)


def test_a_blocking_wait_returns_the_first_end(square):
    with square.sync as calls:
        runs = calls.start_many("square", [{"n": 1}, {"n": 2}])
        runs[0].cancel()
        found = calls.wait(runs, until="first")
        assert [one.state for one in found.ended] == ["cancelled"]
        assert [run.id for run in found.open] == [runs[1].id]


def _all_watched(db) -> bool:
    return db.execute("select bool_and(is_watched) from run_detail").fetchone()[0]
