"""`result` returns when the database says that the run ended, and also when that word gets lost."""

from __future__ import annotations

import asyncio

import pytest

import stepwell as sw
from stepwell import client
from tests.support.wait import until_async


@pytest.fixture
def gate(app: sw.App) -> asyncio.Event:
    """The only step of workflow `one` ends when the gate opens, as its input says."""
    opened = asyncio.Event()

    @app.operation
    async def pass_gate(ends: str = "well") -> str:
        await opened.wait()
        return sw.Dead("as told") if ends == "badly" else "through"

    app.publish(sw.Workflow("one", sw.Operation("pass_gate")))
    return opened


@pytest.fixture
def no_polling(monkeypatch):
    monkeypatch.setattr(client, "POLL_FIRST_SECONDS", 3600.0)
    monkeypatch.setattr(client, "POLL_LIMIT_SECONDS", 3600.0)


async def until_watched(db, count: int) -> None:
    watched = "select count(*) from stepwell.run_detail where is_watched"
    await until_async(lambda: db.execute(watched).fetchone()[0] == count)


@pytest.mark.parametrize("waiter_count", [1, 3])
def test_an_end_is_told_to_everybody_who_waits(app, play, db, gate, no_polling, waiter_count):
    async def scenario():
        async with sw.Worker(app):
            runs = await app.start_many("one", [{}, {}])
            waiting = [asyncio.create_task(run.result()) for run in runs for _ in range(waiter_count)]
            await until_watched(db, 2)
            gate.set()
            assert await asyncio.gather(*waiting) == ["through"] * 2 * waiter_count

    play(scenario)


@pytest.mark.parametrize("ends", ["badly", "cancelled"])
def test_a_bad_end_is_told_too(app, play, db, gate, no_polling, ends):
    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one", {"ends": ends})
            waiting = asyncio.create_task(run.result())
            await until_watched(db, 1)
            if ends == "cancelled":
                await run.cancel("no longer wanted")
            gate.set()
            with pytest.raises(sw.Conflict, match="failed" if ends == "badly" else "cancelled"):
                await waiting

    play(scenario)


def test_a_run_is_started_and_waited_for_in_one_call(app, play, gate, no_polling):
    async def scenario():
        gate.set()
        async with sw.Worker(app):
            for _ in range(3):
                assert await app.run("one", {"ends": "well"}) == "through"
            with pytest.raises(sw.Conflict, match="failed"):
                await app.run("one", {"ends": "badly"})
            with pytest.raises(sw.NotFound):
                await app.run("nothing of the kind")

    play(scenario)


def test_a_run_that_was_there_before_is_waited_for_too(app, play, db, gate, no_polling):
    async def scenario():
        async with sw.Worker(app):
            await app.start("one", key="k")
            waiting = asyncio.create_task(app.run("one", key="k"))
            await until_watched(db, 1)
            gate.set()
            assert await waiting == "through"
            assert await app.run("one", key="k") == "through"

    play(scenario)


def test_a_word_that_comes_before_anybody_waits_is_kept(app, play, db, gate, no_polling):
    async def scenario():
        client = await app.client()
        await client.hear_ends()
        handle = await client.start_one("one", {}, {}, is_watched=True)
        gate.set()
        async with sw.Worker(app):
            await until_async(lambda: handle.id in client.run_ends._early)
            assert await handle.result() == "through"

    play(scenario)


def test_an_end_before_the_question_needs_no_word(app, play, gate, no_polling):
    async def scenario():
        gate.set()
        async with sw.Worker(app):
            run = await app.start("one")
            await until_async(lambda: _ended(run))
            assert await run.result() == "through"
            assert await run.result() == "through"

    play(scenario)


async def _ended(run: sw.RunHandle) -> bool:
    return await run.state() == "completed"


def test_a_cut_connection_loses_no_end(app, play, db, gate, no_polling):
    """The listener comes back and lets everybody ask once more."""

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            waiting = asyncio.create_task(run.result())
            await until_watched(db, 1)
            db.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and application_name = 'stepwell listen'"
            )
            gate.set()
            assert await waiting == "through"

    play(scenario)


def test_without_a_way_to_listen_the_end_is_asked_for(dsn, gate, app):
    async def scenario():
        nowhere = "host=127.0.0.1 port=1 connect_timeout=1"
        asking = await client.Client.connect(dsn, listen_conninfo=nowhere)
        try:
            async with app, sw.Worker(app):
                run = await asking.start("one")
                gate.set()
                assert await run.result() == "through"
        finally:
            await asking.close()

    asyncio.run(scenario())


def test_waiting_has_a_limit_and_leaves_nothing_behind(app, play, gate):
    async def scenario():
        run = await app.start("one")
        with pytest.raises(TimeoutError):
            await run.result(limit_seconds=0.05)
        assert not (await app.client()).run_ends._waiting
        await run.cancel()

    play(scenario)


@pytest.mark.parametrize("ends", ["well", "badly"])
def test_a_worker_of_the_same_process_says_how_the_run_ended(app, play, gate, no_polling, monkeypatch, ends):
    async def scenario():
        gate.set()
        async with sw.Worker(app):
            # From the first word on it is known that words arrive here.
            await app.run("one")
            gate.clear()
            monkeypatch.setattr(client, "OVERTAKEN_LIMIT_SECONDS", 3600.0)
            monkeypatch.setattr(client.Client, "run_outcome", None)
            running = asyncio.create_task(app.run("one", {"ends": ends}))
            ends_heard = (await app.client()).run_ends
            await until_async(lambda: bool(ends_heard._waiting))
            gate.set()
            if ends == "badly":
                with pytest.raises(sw.Conflict, match="failed"):
                    await running
            else:
                assert await running == "through"

    play(scenario)
