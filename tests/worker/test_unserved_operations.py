"""A worker claims only what it has a handler for: nothing is released, and what nobody serves waits."""

from __future__ import annotations

import pytest

import stepwell as sw
from tests.support.roles import client_app
from tests.support.wait import until_async


@pytest.fixture
def other(dsn) -> sw.App:
    """The app of another service on the same database."""
    app = client_app(dsn)

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


def test_what_nobody_serves_waits_and_says_so(app, ours, other, play, db):
    async def scenario():
        async with sw.Worker(ours, name="ours") as worker:
            run = await app.start("foreign")
            # However often it looks, it does not take it; what it serves it takes.
            for _ in range(5):
                worker.hint()
                assert await (await app.enqueue("mine")).result() == 1
            assert why(db) == ("no_handler", "theirs can run, but no live worker serves operation theirs.")
            async with other, sw.Worker(other, name="theirs"):
                assert await run.result() == 1

    play(scenario)
    assert (failure_count(db), released_count(db)) == (0, 0)


def test_two_services_do_each_others_runs(app, ours, other, play, db):
    async def scenario():
        async with other, sw.Worker(ours, name="ours"), sw.Worker(other, name="theirs"):
            runs = [await app.start("both") for _ in range(30)]
            assert [await run.result() for run in runs] == [1] * 30

    play(scenario)
    assert (failure_count(db), released_count(db)) == (0, 0)


def test_a_handler_that_is_registered_later_is_found(app, ours, play, db):
    async def scenario():
        async with sw.Worker(ours, lease_seconds=1):
            run = await app.start("foreign")
            await until_async(lambda: why(db)[0] == "no_handler")

            @ours.operation
            async def theirs(ctx: sw.Context):
                return ctx.attempt

            assert await run.result() == 1

    play(scenario)
    assert released_count(db) == 0


def test_a_job_of_another_tenant_is_served_by_name(app, ours, other, play, db, dsn):
    """The same name is another operation for each tenant, and the same handler."""
    db.execute("select fn_tenant_set('second')")
    second = client_app(dsn, tenant="second")
    second.operation(other.handlers["theirs"].function, name="theirs")

    async def scenario():
        async with sw.Worker(ours), second:
            job = await second.enqueue("theirs")
            async with other, sw.Worker(other):
                assert await job.result() == 1

    play(scenario)
    assert (failure_count(db), released_count(db)) == (0, 0)
