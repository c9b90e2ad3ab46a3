"""`result` returns when the database notifies that the run ended, and also when the notification is lost."""

from __future__ import annotations

import asyncio

import pytest

import stepwell as sw
from stepwell import client
from tests.support.roles import as_process, bound_token
from tests.support.wait import until_async


@pytest.fixture
def gate(app: sw.App) -> asyncio.Event:
    """The only step of workflow `one` ends when the gate is set; its input says how it ends."""
    opened = asyncio.Event()

    @app.operation
    async def pass_gate(ends: str = "well") -> str:
        await opened.wait()
        return sw.Dead("as the input says") if ends == "badly" else "through"

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
def test_the_end_of_a_run_notifies_every_waiter(app, play, db, gate, no_polling, waiter_count):
    async def scenario():
        async with sw.Worker(app):
            runs = await app.start_many("one", [{}, {}])
            waiting = [asyncio.create_task(run.result()) for run in runs for _ in range(waiter_count)]
            await until_watched(db, 2)
            gate.set()
            assert await asyncio.gather(*waiting) == ["through"] * 2 * waiter_count

    play(scenario)


@pytest.mark.parametrize("ends", ["badly", "cancelled"])
def test_a_failed_or_cancelled_run_notifies_its_waiter(app, play, db, gate, no_polling, ends):
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
                await app.run("unknown workflow")

    play(scenario)


def test_a_known_key_waits_for_the_run_that_exists(app, play, db, gate, no_polling):
    async def scenario():
        async with sw.Worker(app):
            await app.start("one", key="k")
            waiting = asyncio.create_task(app.run("one", key="k"))
            await until_watched(db, 1)
            gate.set()
            assert await waiting == "through"
            assert await app.run("one", key="k") == "through"

    play(scenario)


def test_a_notification_before_the_wait_is_kept(app, play, db, gate, no_polling):
    async def scenario():
        client = await app.client()
        await client.hear_ends()
        handle = await client.start_one("one", {}, {}, is_watched=True)
        gate.set()
        async with sw.Worker(app):
            await until_async(lambda: handle.id in client.run_ends._early)
            assert await handle.result() == "through"

    play(scenario)


def test_a_run_that_has_already_ended_needs_no_notification(app, play, gate, no_polling):
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


def test_a_cut_connection_does_not_lose_the_end_of_a_run(app, play, db, gate, no_polling):
    """The listener connects again, and every waiter then reads the state once more."""

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


def test_without_a_listening_connection_the_client_polls(dsn, gate, app):
    async def scenario():
        nowhere = "host=127.0.0.1 port=1 connect_timeout=1"
        polling = await client.Client.connect(
            as_process(dsn, "api"), listen_conninfo=nowhere, token=bound_token(dsn, "poller")
        )
        try:
            async with app, sw.Worker(app):
                run = await polling.start("one")
                gate.set()
                assert await run.result() == "through"
        finally:
            await polling.close()

    asyncio.run(scenario())


def test_a_wait_that_reaches_its_limit_leaves_no_waiter(app, play, gate):
    async def scenario():
        run = await app.start("one")
        with pytest.raises(TimeoutError):
            await run.result(limit_seconds=0.05)
        assert not (await app.client()).run_ends._waiting
        await run.cancel()

    play(scenario)


@pytest.mark.parametrize("ends", ["well", "badly"])
def test_a_worker_in_the_same_process_passes_the_end_of_the_run(
    app, play, gate, no_polling, monkeypatch, ends
):
    async def scenario():
        gate.set()
        async with sw.Worker(app):
            # After the first notification the client knows that notifications arrive.
            await app.run("one")
            gate.clear()
            monkeypatch.setattr(client, "OVERTAKEN_LIMIT_SECONDS", 3600.0)
            monkeypatch.setattr(client.Client, "run_outcome", None)
            running = asyncio.create_task(app.run("one", {"ends": ends}))
            run_ends = (await app.client()).run_ends
            await until_async(lambda: bool(run_ends._waiting))
            gate.set()
            if ends == "badly":
                with pytest.raises(sw.Conflict, match="failed"):
                    await running
            else:
                assert await running == "through"

    play(scenario)
