"""A worker releases a job without a handler: no attempt is counted, and no later claim gets it."""

from __future__ import annotations

import pytest

import stepwell as sw
from tests.support.wait import until_async


@pytest.fixture
def other(dsn) -> sw.App:
    """The app of another service on the same database."""
    app = sw.App(database_url=dsn)

    @app.operation
    async def theirs(ctx: sw.Context):
        return ctx.attempt

    return app


@pytest.fixture
def ours(app) -> sw.App:
    @app.operation
    async def mine(ctx: sw.Context):
        return ctx.attempt

    both = sw.Sequential(sw.Operation("mine"), sw.Operation("theirs"), sw.Operation("mine", id="again"))
    app.publish(sw.Workflow("both", both))
    app.publish(sw.Workflow("foreign", sw.Operation("theirs")))
    return app


def released_count(db) -> int:
    return db.execute("select count(*) from event_log where event_type like '%.released'").fetchone()[0]


def failure_count(db) -> int:
    return db.execute("select count(*) from unit_failure").fetchone()[0]


def why(db) -> tuple[str, str]:
    return db.execute(
        "select w.code, w.sentence_en from work_unit as u cross join fn_why_not_running(u.unit_id) as w"
        " where u.scope = 'step' and u.state_code = 'ready'"
    ).fetchone()


def test_a_job_that_no_worker_serves_waits_with_this_reason(app, ours, other, play, db):
    async def scenario():
        async with sw.Worker(ours, name="ours") as worker:
            run = await app.start("foreign")
            await until_async(lambda: released_count(db) == 1)
            assert why(db) == ("no_handler", "theirs can run, but no live worker serves operation theirs.")
            # However often it claims, it does not get this job again; it gets the jobs that it serves.
            for _ in range(5):
                worker.hint()
                assert await (await app.enqueue("mine")).result() == 1
            assert released_count(db) == 1
            async with other, sw.Worker(other, name="theirs"):
                assert await run.result() == 1

    play(scenario)
    assert failure_count(db) == 0


def test_two_services_complete_runs_with_steps_of_both(app, ours, other, play, db):
    async def scenario():
        async with other, sw.Worker(ours, name="ours"), sw.Worker(other, name="theirs"):
            runs = [await app.start("both") for _ in range(30)]
            assert [await run.result() for run in runs] == [1] * 30

    play(scenario)
    assert failure_count(db) == 0
    # Each worker found that it does not serve the operation of the other one.
    assert db.execute("select count(*) from worker_session where unserved_ids is not null").fetchone() == (2,)


def test_an_unserved_operation_is_logged_once(app, ours, play, db, caplog):
    async def scenario():
        async with sw.Worker(ours):
            for _ in range(3):
                await app.start("foreign")
            await until_async(lambda: released_count(db) >= 1)
            assert await app.run("mine.alone") == 1

    ours.publish(sw.Workflow("mine.alone", sw.Operation("mine")))
    play(scenario)
    said = [record for record in caplog.records if "no handler for the operation" in record.getMessage()]
    assert [record.levelname for record in said] == ["WARNING"]
    assert "operation=theirs run=" in said[0].getMessage()


def test_a_handler_that_is_registered_later_is_found(app, ours, play, db):
    async def scenario():
        async with sw.Worker(ours, lease_seconds=1):
            run = await app.start("foreign")
            await until_async(lambda: released_count(db) == 1)

            @ours.operation
            async def theirs(ctx: sw.Context):
                return ctx.attempt

            assert await run.result() == 1

    play(scenario)
    assert db.execute("select unserved_ids from worker_session").fetchone() == (None,)


def test_an_unserved_operation_is_known_for_each_tenant_separately(app, ours, other, play, db, dsn):
    """The same name is a different operation for each tenant."""
    db.execute("select fn_tenant_set('second')")
    second = sw.App(database_url=dsn, tenant="second")
    second.operation(other.handlers["theirs"].function, name="theirs")

    async def scenario():
        async with sw.Worker(ours):
            await app.start("foreign")
            await until_async(lambda: released_count(db) == 1)
            async with second:
                job = await second.enqueue("theirs")
                await until_async(lambda: released_count(db) == 2)
                async with other, sw.Worker(other):
                    assert await job.result() == 1

    play(scenario)
    assert failure_count(db) == 0
