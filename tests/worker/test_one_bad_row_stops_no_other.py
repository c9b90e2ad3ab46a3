"""One bad run, one bad unit or one open transaction does not stop the other work of a worker."""

from __future__ import annotations

import asyncio

import psycopg

import stepwell as sw
from tests.support.wait import until_async

CHILDREN = 300

REFUSE = """
create function public.refuse() returns trigger language plpgsql as $$ begin raise division_by_zero; end $$;
create trigger refuse before {event} on stepwell.{table}
for each row when ({when}) execute function public.refuse();
"""


def rollbacks(db) -> int:
    found = db.execute(
        "select pg_stat_get_db_xact_rollback(oid) from pg_database where datname = current_database()"
    ).fetchone()
    return found[0]


async def cost(app, db, workflow: str) -> int:
    """The number of rollbacks that a run causes, read after the last connection of its workers was closed."""
    before = rollbacks(db)
    async with sw.Worker(app, exchanges=4), sw.Worker(app, exchanges=4):
        await (await app.start(workflow)).result()
    quiet = (
        "select count(*) = 0 from pg_stat_activity where datname = current_database()"
        " and application_name in ('stepwell worker', 'stepwell keeper')"
    )
    await until_async(lambda: db.execute(quiet).fetchone()[0])
    return rollbacks(db) - before


def test_the_subruns_of_one_run_cause_few_rollbacks(app, play, db):
    """300 subworkflows end at the same time and cause about as many rollbacks as 300 steps of one run."""

    @app.operation
    async def act():
        await asyncio.sleep(0)

    app.publish(sw.Workflow("child", sw.Operation("act")))
    numbers = range(CHILDREN)
    app.publish(sw.Workflow("flat", sw.Parallel(*(sw.Operation("act", id=f"a{no}") for no in numbers))))
    app.publish(sw.Workflow("deep", sw.Parallel(*(sw.SubWorkflow("child", id=f"c{no}") for no in numbers))))

    async def scenario():
        return await cost(app, db, "flat"), await cost(app, db, "deep")

    flat, deep = play(scenario)
    # After its first collision each of the eight loops locks from the top for many calls.
    assert deep <= flat + CHILDREN // 10, (flat, deep)


def test_an_open_transaction_on_one_run_delays_no_other_run(app, play, db, dsn):
    waiting = asyncio.Event()

    @app.operation
    async def act(n: int) -> int:
        await waiting.wait()
        return n

    app.publish(sw.Workflow("one", sw.Operation("act")))

    async def scenario():
        async with sw.Worker(app, exchanges=1):
            held, *others = [await app.start("one", {"n": no}) for no in range(20)]
            leased = "select count(*) = 20 from work_unit where lease_session_id is not null"
            await until_async(lambda: db.execute(leased).fetchone()[0])
            with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as other:
                other.execute("select fn_signal(1, %s, 'note', '{}', 'k', 'ada')", (held.id,))
                waiting.set()
                assert [await run.result() for run in others] == list(range(1, 20))
                assert db.execute("select count(*) from job_dead_letter").fetchone() == (0,)
            assert await held.result() == 0

    play(scenario)


WAITING = (
    "select pid, xact_start from pg_stat_activity where datname = current_database()"
    " and wait_event_type = 'Lock' and application_name = 'stepwell worker' and query like '%fn_job_report%'"
)


def test_a_batch_waits_for_a_locked_run_once(app, play, db, dsn):
    """The wait has a limit. After it the other reports of the batch are sent without the locked run."""
    waiting = asyncio.Event()
    waits: set[tuple] = set()

    @app.operation
    async def act(n: int) -> int:
        await waiting.wait()
        return n

    app.publish(sw.Workflow("one", sw.Operation("act")))

    async def scenario():
        async with sw.Worker(app, exchanges=1):
            held, other = [await app.start("one", {"n": no}) for no in range(2)]
            leased = "select count(*) = 2 from work_unit where lease_session_id is not null"
            await until_async(lambda: db.execute(leased).fetchone()[0])
            with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as holder:
                holder.execute("select from run_progress where run_id = %s for update", (held.id,))

                def has_ended() -> bool:
                    waits.update(db.execute(WAITING).fetchall())
                    ended = "select finished_at is not null from run_detail where run_id = %s"
                    return db.execute(ended, (other.id,)).fetchone()[0]

                waiting.set()
                await until_async(has_ended)
            assert await held.result() == 0

    play(scenario)
    assert len(waits) == 1, waits


def test_a_unit_that_cannot_be_leased_stops_no_other(app, play, db):
    @app.operation
    async def act(n: int) -> int:
        return n

    app.publish(sw.Workflow("one", sw.Operation("act")))

    async def scenario():
        runs = [await app.start("one", {"n": no}) for no in range(10)]
        bad = runs[4].id
        when = f"new.unit_id = {bad << 20 | 1} and new.state_code = 'in_progress'"
        db.execute(REFUSE.format(event="update", table="work_unit", when=when))
        async with sw.Worker(app):
            assert [await run.result() for run in runs if run.id != bad] == [0, 1, 2, 3, 5, 6, 7, 8, 9]
            row = db.execute(
                "select duty, unit_id, reason from governance_problem where category_code = 'set_aside'"
            ).fetchone()
            assert row == ("claim", bad << 20 | 1, "division_by_zero")
            assert db.execute("select count(*) from job_ready").fetchone() == (0,)

    play(scenario)


def test_a_unit_whose_report_is_refused_in_every_form_is_set_aside(app, play, db):
    """The worker gives the unit back, and the handler is not called again at once."""
    calls = []

    @app.operation
    async def act(n: int) -> int:
        calls.append(n)
        return n

    app.publish(sw.Workflow("one", sw.Operation("act")))

    async def scenario():
        runs = [await app.start("one", {"n": no}) for no in range(10)]
        bad = runs[4].id << 20 | 1
        when = f"new.unit_id = {bad} and new.state_code in ('completed', 'failed')"
        db.execute(REFUSE.format(event="update", table="work_unit", when=when))
        async with sw.Worker(app) as worker:
            await until_async(
                lambda: db.execute(
                    "select unit_id from governance_problem where category_code = 'set_aside'"
                ).fetchone()
            )
            assert [await run.result() for run in runs if run is not runs[4]] == [0, 1, 2, 3, 5, 6, 7, 8, 9]
            await until_async(lambda: worker.busy_count == 0)
        assert db.execute(
            "select duty, unit_id from governance_problem where category_code = 'set_aside'"
        ).fetchall() == [("report", bad)]
        found = "select state_code, lease_session_id from work_unit where unit_id = %s"
        assert db.execute(found, (bad,)).fetchone() == ("ready", None)

    play(scenario)
    assert sorted(calls) == list(range(10))
