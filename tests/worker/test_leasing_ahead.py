"""A worker with short handlers leases ahead; no more handlers run at once than it has slots."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

import stepwell as sw
from stepwell.worker import ahead
from tests.support.wait import until_async

# After so many short handlers a worker of a few slots leases many units ahead.
MANY = 600


def leased(db: psycopg.Connection) -> int:
    row = db.execute("select count(lease_session_id) from work_unit").fetchone()
    assert row is not None
    return int(row[0])


async def open_jobs(db: psycopg.Connection, count: int) -> None:
    """Waits until so many jobs have not ended."""
    await until_async(
        lambda: (
            db.execute(
                "select count(*) from work_unit where scope = 'job' and completed_at is null"
            ).fetchone()
            == (count,)
        ),
        what=f"{count} open jobs",
    )


@pytest.fixture
def always_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units are leased ahead however long the handlers take, also on a busy machine."""
    monkeypatch.setattr(ahead, "WAIT_SECONDS", 1e6)
    monkeypatch.setattr(ahead, "RELEASE_SECONDS", 60.0)


@pytest.mark.usefixtures("always_ahead")
def test_no_more_handlers_run_at_once_than_there_are_slots(app: sw.App, play, db: psycopg.Connection):
    running: set[int] = set()
    most = leased_at_once = 0

    @app.operation
    async def short(n: int) -> None:
        nonlocal most, leased_at_once
        running.add(n)
        most, leased_at_once = max(most, len(running)), max(leased_at_once, worker.busy_count)
        await asyncio.sleep(0)
        running.discard(n)

    async def scenario() -> None:
        async with worker:
            await app.enqueue_many("short", [{"n": n} for n in range(MANY)])
            await open_jobs(db, 0)

    worker = sw.Worker(app, slots=3)
    play(scenario)
    assert most == 3
    assert leased_at_once > 10


def test_units_behind_a_long_handler_are_released_to_other_workers(app: sw.App, play, db: psycopg.Connection):
    free = asyncio.Event()
    begun: list[int] = []

    @app.operation
    async def short(n: int) -> None:
        pass

    @app.operation
    async def mixed(ctx: sw.Context, n: int) -> int:
        assert ctx.attempt == 1, "a released lease is no attempt"
        begun.append(n)
        if n == 0:
            await free.wait()
        return n

    async def scenario() -> None:
        async with sw.Worker(app, slots=1):
            await app.enqueue_many("short", [{"n": n} for n in range(MANY)])
            await open_jobs(db, 0)
            await app.enqueue_many("mixed", [{"n": n} for n in range(30)])
            await until_async(lambda: 0 in begun, what="the long handler")
            async with sw.Worker(app, slots=1):
                # All but the long one end, although it still holds the only slot of the first worker.
                await open_jobs(db, 1)
                assert sorted(begun) == list(range(30))
                free.set()
                await open_jobs(db, 0)

    play(scenario)
    assert db.execute("select count(*) from worker_lease").fetchone() == (0,)


@pytest.mark.usefixtures("always_ahead")
def test_a_worker_that_stops_releases_what_waits(app: sw.App, play, db: psycopg.Connection):
    free = asyncio.Event()

    @app.operation
    async def short(n: int) -> None:
        pass

    @app.operation
    async def long(n: int) -> None:
        await free.wait()

    async def scenario() -> None:
        worker = sw.Worker(app, slots=1)
        async with worker:
            await app.enqueue_many("short", [{"n": n} for n in range(MANY)])
            await open_jobs(db, 0)
            await app.enqueue_many("long", [{"n": n} for n in range(20)])
            await until_async(lambda: worker.busy_count > 1, what="leases that wait")
            worker.ask_stop()
            await until_async(lambda: leased(db) == 1, what="only the lease of the handler that runs")
            free.set()

    play(scenario)
    assert leased(db) == 0
    ready = "select count(*) from work_unit where scope = 'job' and state_code = 'ready'"
    assert db.execute(ready).fetchone() == (19,)
