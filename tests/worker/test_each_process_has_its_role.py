"""Workers and keepers with their own roles do what the owner could do, also after every cut connection."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

import stepwell as sw
from tests.support.roles import as_process, bound_token, process_settings
from tests.support.wait import until_async

CUT = """select count(pg_terminate_backend(pid)) from pg_stat_activity
         where datname = current_database() and usename = any (%s)"""
LEASED = "select count(*) > 0 from worker_lease"


def users(db: psycopg.Connection) -> set[str]:
    query = "select distinct usename from pg_stat_activity where datname = current_database()"
    return {name for (name,) in db.execute(query)}


@pytest.fixture
def bound_app(dsn: str) -> sw.App:
    """Nothing of it is the owner: the client has the role of the API and a token."""
    made = sw.App(database_url=dsn)
    made.use_settings(process_settings(dsn, token=bound_token(dsn)))
    return made


def test_a_client_a_worker_and_its_keeper_use_three_roles(bound_app, db):
    """Retries come: the keeper of the worker reads the clock of the database with its own role."""
    seen: list[set[str]] = []

    @bound_app.operation(retry=sw.Retry(max_attempts=3, initial="0.1s"))
    async def flaky(ctx: sw.Context) -> int:
        seen.append(users(db))
        if ctx.attempt == 1:
            raise ValueError("once")
        return ctx.attempt

    bound_app.publish(sw.Workflow("flaky", sw.Operation("flaky")))

    async def whole() -> object:
        async with asyncio.timeout(60), bound_app, sw.Worker(bound_app):
            run = await bound_app.start("flaky")
            return await run.result()

    assert asyncio.run(whole()) == 2
    assert {"stepwell_api", "stepwell_worker", "stepwell_keeper"} <= seen[-1]


def test_a_worker_goes_on_after_every_connection_was_cut(bound_app, dsn, db):
    """Before, one cut connection stopped the worker for ever: it could not ask which leases it has."""
    gate: asyncio.Event

    @bound_app.operation
    async def hold(n: int) -> int:
        await gate.wait()
        return n

    bound_app.publish(sw.Workflow("hold", sw.Operation("hold")))
    roles = ["stepwell_worker", "stepwell_keeper"]

    async def whole() -> list[object]:
        nonlocal gate
        gate = asyncio.Event()
        async with asyncio.timeout(60), bound_app, sw.Worker(bound_app, lease_seconds=5):
            first = await bound_app.start("hold", {"n": 1})
            await until_async(lambda: db.execute(LEASED).fetchone() == (True,))
            assert db.execute(CUT, (roles,)).fetchone() != (0,)
            second = await bound_app.start("hold", {"n": 2})
            gate.set()
            return [await run.result() for run in (first, second)]

    assert asyncio.run(whole()) == [1, 2]


def test_a_worker_without_the_role_of_a_keeper_says_so_and_works(dsn, db, caplog):
    app = sw.App(database_url=as_process(dsn, "worker"))

    @app.operation
    async def plain() -> int:
        return 1

    app.publish(sw.Workflow("plain", sw.Operation("plain")))

    async def whole() -> None:
        async with asyncio.timeout(60), app, sw.Worker(app):
            await app.start("plain")
            done = "select count(*) = 1 from workflow_run where state_code = 'completed'"
            await until_async(lambda: db.execute(done).fetchone() == (True,))
            await until_async(lambda: "STEPWELL_KEEPER_URL" in caplog.text)

    asyncio.run(whole())
    assert caplog.text.count("no keeper runs here") == 1


def test_the_api_role_without_a_token_is_told_what_it_needs(dsn):
    async def connect() -> None:
        async with sw.App(database_url=as_process(dsn, "api")):
            pass

    with pytest.raises(sw.PermissionDenied) as caught:
        asyncio.run(connect())
    assert "bound to no tenant" in caught.value.message
    assert caught.value.hint is not None
    assert "STEPWELL_TOKEN" in caught.value.hint
