"""A worker whose call collides or is cancelled pauses before it tries again, and the work goes on."""

from __future__ import annotations

import asyncio

import psycopg
from psycopg.types.json import Jsonb

import stepwell as sw
from tests.support.wait import until_async
from tests.worker.test_one_bad_row_stops_no_other import rollbacks

HELD = "3 seconds"
# Without a pause there are hundreds in each second.
MOST_ROLLBACKS = 30

CLOSED = (
    "select count(*) = 0 from pg_stat_activity where datname = current_database()"
    " and application_name in ('stepwell worker', 'stepwell keeper')"
)
CANCEL = (
    "with claims as materialized (select pid from pg_stat_activity where datname = current_database()"
    " and application_name = 'stepwell worker' and wait_event_type = 'Lock' and query like '%fn_job_claim%')"
    " select count(*) filter (where pg_cancel_backend(pid)) from claims"
)


async def over(db: psycopg.Connection) -> None:
    """The lock was held for its whole time, on the clock of the database."""
    row = db.execute(f"select clock_timestamp() + interval '{HELD}'").fetchone()
    await until_async(lambda: db.execute("select clock_timestamp() >= %s", row).fetchone()[0])


async def after_the_workers(db: psycopg.Connection) -> int:
    """The rollbacks until now, with those of the workers, which count when their connections end."""
    await until_async(lambda: db.execute(CLOSED).fetchone()[0])
    return rollbacks(db)


def test_a_report_for_a_run_that_is_locked_for_seconds_causes_few_rollbacks(app, play, db, dsn):
    waiting = asyncio.Event()

    @app.operation
    async def act(n: int) -> int:
        await waiting.wait()
        return n

    app.publish(sw.Workflow("one", sw.Operation("act")))

    async def scenario():
        before = rollbacks(db)
        async with sw.Worker(app):
            held, other = [await app.start("one", {"n": no}) for no in range(2)]
            leased = "select count(*) = 2 from work_unit where lease_session_id is not null"
            await until_async(lambda: db.execute(leased).fetchone()[0])
            with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as holder:
                holder.execute("select from run_progress where run_id = %s for update", (held.id,))
                waiting.set()
                assert await other.result() == 1
                await over(db)
                holder.commit()
            assert await held.result() == 0
        return await after_the_workers(db) - before

    assert play(scenario) < MOST_ROLLBACKS


def test_claims_that_are_cancelled_again_and_again_cause_few_rollbacks(app, play, db, dsn):
    """The tenant has a cap, so a claim waits for its row; there it is cancelled as soon as it is seen."""
    cancelled = []

    @app.operation
    async def act(n: int) -> int:
        return n

    app.publish(sw.Workflow("one", sw.Operation("act")))
    db.execute("select fn_tenant_set('default', %s)", (Jsonb({"max_concurrency": 10}),))

    def cancel_or_end(until: tuple) -> bool:
        cancelled.append(db.execute(CANCEL).fetchone()[0])
        return db.execute("select clock_timestamp() >= %s", until).fetchone()[0]

    async def scenario():
        before = rollbacks(db)
        async with sw.Worker(app):
            with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as holder:
                holder.execute("select from tenant where tenant_id = 1 for update")
                run = await app.start("one", {"n": 7})
                until = db.execute(f"select clock_timestamp() + interval '{HELD}'").fetchone()
                await until_async(lambda: cancel_or_end(until))
                holder.commit()
            assert await run.result() == 7
        return await after_the_workers(db) - before

    assert play(scenario) < MOST_ROLLBACKS
    assert sum(cancelled) > 0, "no claim waited"
