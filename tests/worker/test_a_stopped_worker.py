"""A real worker that is frozen or drains: it finishes what it has begun and claims no more."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

import stepwell as sw
from stepwell.worker import ahead
from tests.support.wait import until_async


class Stage:
    """A handler that says when it began, and ends when the test allows it."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()
        self.done: list[int] = []

    async def play(self, n: int) -> None:
        self.began.set()
        await self.may_end.wait()
        self.done.append(n)


@pytest.fixture
def stage(app: sw.App) -> Stage:
    made = Stage()

    @app.operation
    async def act(n: int) -> None:
        await made.play(n)

    return made


def counted(db: psycopg.Connection, query: str) -> int:
    row = db.execute(query).fetchone()
    assert row is not None
    return int(row[0])


READY = "select count(*) from job_ready"
DONE = "select count(*) from work_unit where state_code = 'completed'"
HELD = "select held_count from worker_session"


@pytest.mark.requirement("GV-07")
@pytest.mark.parametrize("kind", ["drain", "freeze"])
def test_a_stopped_worker_finishes_its_handler_and_claims_again_when_it_may(
    app: sw.App, play, db: psycopg.Connection, stage: Stage, kind: str
):
    stop = app.worker_drain if kind == "drain" else app.worker_freeze
    go_on = app.worker_drain_end if kind == "drain" else app.worker_unfreeze

    async def scenario() -> None:
        async with sw.Worker(app, slots=1) as worker:
            await app.enqueue("act", {"n": 1})
            await stage.began.wait()
            (row,) = await app.workers()
            assert (row.version, row.host is not None) == (sw.__version__, True)
            assert "act" in (row.operations or [])
            await stop(row.session_id, "the host is updated")
            await app.enqueue_many("act", [{"n": 2}, {"n": 3}])
            await worker.beat()
            assert counted(db, HELD) == 1
            stage.may_end.set()
            await until_async(lambda: counted(db, DONE) == 1, what="the handler has ended")
            # It asks, and gets nothing; the beat after that tells that it has nothing.
            worker.hint()
            await until_async(lambda: worker.busy_count == 0, what="the worker has nothing")
            await worker.beat()
            assert (counted(db, READY), counted(db, HELD)) == (2, 0)
            if kind == "drain":
                assert (await app.worker(row.session_id)).is_drained
            await go_on(row.session_id, "it is updated")
            await until_async(lambda: counted(db, DONE) == 3, what="the others are done")

    play(scenario)
    assert sorted(stage.done) == [1, 2, 3]


@pytest.mark.requirement("GV-07")
def test_what_waits_for_a_slot_goes_back_to_others(
    app: sw.App, play, db: psycopg.Connection, stage: Stage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ahead, "WAIT_SECONDS", 1e6)
    monkeypatch.setattr(ahead, "RELEASE_SECONDS", 1e6)
    leased = "select count(*) from work_unit where lease_session_id is not null"

    async def scenario() -> None:
        async with sw.Worker(app, slots=1) as worker:
            stage.may_end.set()
            await app.enqueue_many("act", [{"n": n} for n in range(50)])
            await until_async(lambda: counted(db, DONE) == 50, what="short handlers")
            stage.may_end.clear()
            stage.began.clear()
            await app.enqueue_many("act", [{"n": n} for n in range(50, 60)])
            await stage.began.wait()
            await until_async(lambda: counted(db, leased) > 1, what="leases ahead")
            (row,) = await app.workers()
            await app.worker_drain(row.session_id, "the host is updated")
            await worker.beat()
            await until_async(lambda: counted(db, leased) == 1, what="the rest is released")
            assert counted(db, READY) == 9
            stage.may_end.set()
            await until_async(lambda: counted(db, DONE) == 51, what="the handler has ended")
            assert counted(db, READY) == 9

    play(scenario)
