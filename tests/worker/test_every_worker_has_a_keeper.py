"""Every worker brings a keeper: timers fire and lost leases are recovered wherever a worker runs."""

from __future__ import annotations

import threading
from contextlib import AsyncExitStack

import psycopg
import pytest

import stepwell as sw
from tests.support.wait import until_async

KEEPERS = (
    "select count(*) from pg_stat_activity"
    " where datname = current_database() and application_name = 'stepwell keeper'"
)
LEADER = (
    "select pid from pg_locks where locktype = 'advisory' and objsubid = 2 and granted"
    " and database = (select oid from pg_database where datname = current_database())"
)


def keeper_count(db) -> int:
    return db.execute(KEEPERS).fetchone()[0]


def leader(db) -> int | None:
    """The process id of the connection of the leading keeper, if there is one."""
    found = db.execute(LEADER).fetchall()
    assert len(found) <= 1
    return found[0][0] if found else None


@pytest.fixture
def fragile(app):
    """A workflow whose step completes at its second attempt."""

    @app.operation(retry=sw.Retry(max_attempts=5, initial="10ms"))
    async def charge(ctx: sw.Context):
        if ctx.attempt == 1:
            raise ConnectionError("not yet")
        return ctx.attempt

    app.publish(sw.Workflow("one", sw.Operation("charge")))
    return "one"


def test_a_single_worker_also_runs_its_retries(app, play, fragile):
    """The example of the README, with a first attempt that fails."""

    async def scenario():
        async with sw.Worker(app):
            return await (await app.start(fragile)).result(limit_seconds=30)

    assert play(scenario) == 2


def test_the_leases_of_a_lost_worker_are_recovered(app, play, db):
    @app.operation
    async def act(ctx: sw.Context):
        return ctx.attempt

    app.publish(sw.Workflow("one", sw.Operation("act")))

    async def scenario():
        run = await app.start("one")
        lost = db.execute("select fn_worker_register('lost', array['default'], 1, 1)").fetchone()[0]
        db.execute("select fn_job_claim(%s, 1)", (lost,))
        async with sw.Worker(app):
            return await run.result()

    assert play(scenario) == 2


def test_one_keeper_of_several_workers_leads_and_the_next_takes_over(app, play, db, fragile):
    async def scenario():
        async with AsyncExitStack() as first, AsyncExitStack() as second:
            await first.enter_async_context(sw.Worker(app, name="first"))
            led_by = await until_async(lambda: leader(db))
            await second.enter_async_context(sw.Worker(app, name="second"))
            await until_async(lambda: keeper_count(db) >= 2)
            assert leader(db) == led_by
            await first.aclose()
            assert await until_async(lambda: leader(db)) != led_by
            return await (await app.start(fragile)).result(limit_seconds=30)

    assert play(scenario) == 2


def test_closing_a_worker_closes_its_keeper(app, play, db, fragile):
    async def scenario():
        async with sw.Worker(app):
            await until_async(lambda: leader(db))
        assert not [thread for thread in threading.enumerate() if thread.name == "stepwell-keeper"]
        # The server notices a little later that a client has disconnected.
        await until_async(lambda: leader(db) is None and keeper_count(db) == 0)

    play(scenario)


def test_closing_a_worker_stops_a_keeper_that_waits_for_a_lock(app, play, dsn, db, fragile):
    """The keeper waits for a lock that stays held; closing the worker must not wait for it."""

    async def scenario():
        with psycopg.connect(dsn) as other:
            other.execute("lock table stepwell.timer in access exclusive mode")
            async with sw.Worker(app):
                await until_async(lambda: db.execute(blocked).fetchone()[0])
            assert not [thread for thread in threading.enumerate() if thread.name == "stepwell-keeper"]

    blocked = (
        "select count(*) > 0 from pg_stat_activity where application_name = 'stepwell keeper'"
        " and datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0"
    )
    play(scenario)


def test_a_keeper_starts_again_after_an_error(app, play, db, fragile, caplog):
    """Without its keeper a worker would fire no timers: after any error the keeper starts again."""
    db.execute("alter function fn_timers_fire rename to set_aside")
    db.execute(
        "create function fn_timers_fire(int, out fired_count int, out next_due_at timestamptz)"
        " returns setof record language sql as 'select 0, now() where false'"
    )

    async def scenario():
        async with sw.Worker(app):
            run = await app.start(fragile)
            await until_async(lambda: "the keeper failed and restarts" in caplog.text)
            db.execute("drop function fn_timers_fire")
            db.execute("alter function set_aside rename to fn_timers_fire")
            return await run.result()

    assert play(scenario) == 2
