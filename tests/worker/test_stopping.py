"""Stopped workers, cancelled runs and lost leases: no work is lost, and none is completed twice."""

from __future__ import annotations

import asyncio
import threading

import psycopg
import pytest

import stepwell as sw
from tests.support.wait import until_async


class Stage:
    """A handler that says when it began, and ends when the test allows it."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()
        self.ended: list[str] = []
        self.contexts: list[sw.Context] = []

    async def play(self, ctx: sw.Context) -> str:
        self.contexts.append(ctx)
        self.began.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled" if ctx.cancelled else "released")
            raise
        self.ended.append("done")
        return "done"


@pytest.fixture
def stage(app):
    made = Stage()

    @app.operation
    async def act(ctx: sw.Context):
        return await made.play(ctx)

    app.publish(sw.Workflow("one", sw.Operation("act")))
    return made


def events(db, kind: str) -> int:
    return db.execute("select count(*) from event_log where event_type = %s", (kind,)).fetchone()[0]


def unit(db) -> tuple[str, int, int | None]:
    return db.execute(
        "select state_code, attempt_count, lease_session_id from work_unit where scope = 'step'"
    ).fetchone()


def test_a_worker_that_stops_finishes_its_handlers_and_claims_no_more(app, play, db, stage):
    async def scenario():
        async with sw.Worker(app, slots=1) as worker:
            run = await app.start("one")
            second = await app.start("one")
            await stage.began.wait()
            worker.ask_stop()
            stage.may_end.set()
        assert await run.state() == "completed"
        assert await second.state() == "in_progress"
        assert db.execute("select count(*) from job_ready").fetchone() == (1,)

    play(scenario)
    assert stage.ended == ["done"]
    assert db.execute("select count(*) from worker_session where closed_at is null").fetchone() == (0,)


def test_a_lease_that_arrives_while_the_worker_stops_is_released_at_once(app, play, db, dsn, stage):
    """The report of the first step waits for a lock and asks for more work; only then the worker stops."""

    def is_waiting() -> bool:
        waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = %s"
        return db.execute(waiting, (db.info.dbname,)).fetchone()[0] > 0

    async def scenario():
        async with sw.Worker(app, slots=1) as worker:
            await app.start("one")
            await app.start("one")
            await stage.began.wait()
            with psycopg.connect(dsn) as holder:
                holder.execute("select from stepwell.run_progress for update")
                holder.execute("select from stepwell.work_unit where scope = 'workflow_run' for update")
                stage.may_end.set()
                await until_async(is_waiting, what="the report waits")
                worker.ask_stop()
                await until_async(lambda: worker._exchange.is_stopping, what="the worker stops")
        assert worker.busy_count == 0, "a report was left to the end of the session"

    play(scenario)
    assert stage.ended == ["done"]


@pytest.mark.parametrize("how", ["second signal", "grace is over"])
def test_a_lease_that_does_not_finish_is_released_without_counting_an_attempt(app, play, db, stage, how):
    async def scenario():
        async with sw.Worker(app, grace_seconds=0.05 if how == "grace is over" else 600) as worker:
            run = await app.start("one")
            await stage.began.wait()
            worker.ask_stop()
            if how == "second signal":
                worker.ask_stop()
        assert unit(db) == ("ready", 0, None)
        assert stage.ended == ["released"]
        stage.may_end.set()
        async with sw.Worker(app):
            assert await run.result() == "done"

    play(scenario)
    assert [ctx.attempt for ctx in stage.contexts] == [1, 1]


def test_a_handler_that_ignores_its_cancellation_does_not_stop_the_close(app, play, db, monkeypatch):
    monkeypatch.setattr("stepwell.worker.worker.CANCEL_LIMIT_SECONDS", 0.05)
    began = asyncio.Event()
    may_end = asyncio.Event()

    @app.operation
    async def stubborn():
        began.set()
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue

    app.publish(sw.Workflow("one", sw.Operation("stubborn")))

    async def scenario():
        async with sw.Worker(app) as worker:
            await app.start("one")
            await began.wait()
            worker.ask_stop()
            worker.ask_stop()
        assert unit(db) == ("ready", 0, None)
        may_end.set()

    play(scenario)


@pytest.mark.requirement("SM-15")
def test_the_next_heartbeat_cancels_the_handler_of_a_cancelled_run(app, play, db, stage):
    async def scenario():
        async with sw.Worker(app) as worker:
            run = await app.start("one")
            await stage.began.wait()
            assert await run.cancel("not needed any more") == "cancelled"
            await worker.beat()
            await until_async(lambda: stage.ended)
            await until_async(lambda: worker.busy_count == 0)
            with pytest.raises(sw.Conflict, match="cancelled"):
                await run.result()

    play(scenario)
    assert stage.ended == ["cancelled"]
    assert unit(db)[0] == "cancelled"
    assert events(db, "step.cancelled") == 1


def test_the_worker_sends_heartbeats_by_itself(app, play, db, stage):
    async def scenario():
        async with sw.Worker(app, lease_seconds=1):
            run = await app.start("one")
            await stage.began.wait()
            await run.cancel()
            await until_async(lambda: stage.ended)

    play(scenario)
    assert stage.ended == ["cancelled"]


def test_a_handler_in_a_thread_sees_that_it_was_cancelled(app, play, db):
    began = threading.Event()
    seen = threading.Event()

    @app.operation
    def works(ctx: sw.Context):
        began.set()
        while not ctx.cancelled:
            seen.wait(0.01)
        seen.set()

    app.publish(sw.Workflow("one", sw.Operation("works")))

    async def scenario():
        async with sw.Worker(app) as worker:
            run = await app.start("one")
            await asyncio.to_thread(began.wait, 60)
            await run.cancel()
            await worker.beat()
            assert await asyncio.to_thread(seen.wait, 60)
            await until_async(lambda: worker.busy_count == 0)

    play(scenario)


@pytest.mark.requirement("LN-03", "LN-05", "RT-03")
def test_a_lost_lease_cancels_the_handler_and_its_checkpoint_is_refused(app, play, db, stage, turn):
    async def scenario():
        async with sw.Worker(app, name="slow") as slow:
            run = await app.start("one")
            await stage.began.wait()
            # The session expires, and the keeper recovers its lease: the unit is ready again.
            turn.on(minutes=5, keep_sessions=False)
            assert unit(db)[:2] == ("ready", 1)
            ctx = stage.contexts[0]
            with pytest.raises(sw.LeaseLost):
                await ctx.step("late", lambda: "must not be kept")
            await slow.beat()
            await until_async(lambda: stage.ended == ["cancelled"])
            assert ctx.cancelled
            stage.may_end.set()
            assert await run.result() == "done"

    play(scenario)
    assert stage.ended == ["cancelled", "done"]
    assert [ctx.attempt for ctx in stage.contexts] == [1, 2]
    assert events(db, "step.lease_expired") == 1
    assert events(db, "step.completed") == 1
    assert db.execute("select count(*) from unit_checkpoint").fetchone() == (0,)
    assert db.execute("select failure_class, error ->> 'type' from unit_failure").fetchall() == [
        ("lease_expired", "LEASE_EXPIRED")
    ]


@pytest.mark.requirement("LN-05")
def test_a_report_after_the_lease_expired_changes_nothing(app, play, db, stage, turn):
    """The handler ends before the worker knows that its lease is lost."""

    async def scenario():
        async with sw.Worker(app, name="slow"):
            await app.start("one")
            await stage.began.wait()
            turn.on(minutes=5, keep_sessions=False)
            db.execute("delete from job_ready")
            stage.may_end.set()
            await until_async(lambda: stage.ended == ["done"])
            assert unit(db)[:2] == ("ready", 1)
        db.execute(
            "insert into job_ready (tenant_id, executor_class_id, rank, operation_id, unit_id, is_retry)"
            " select tenant_id, executor_class_id, 0, operation_id, unit_id, false from work_unit"
            " where scope = 'step'"
        )

    play(scenario)
    assert events(db, "step.completed") == 0


@pytest.mark.requirement("SM-15")
def test_a_paused_run_starts_no_step_and_continues_when_resumed(app, play, db, stage):
    app.publish(sw.Workflow("two", sw.Sequential(sw.Operation("act"), sw.Operation("act", id="then"))))

    async def scenario():
        async with sw.Worker(app) as worker:
            run = await app.start("two")
            await stage.began.wait()
            assert await run.pause() == "paused"
            stage.may_end.set()
            await until_async(lambda: worker.busy_count == 0)
            assert db.execute("select state_code from step_run order by step_no").fetchall() == [
                ("completed",), ("ready",),
            ]  # fmt: skip
            assert db.execute("select count(*) from job_ready").fetchone() == (0,)
            assert await run.resume() == "in_progress"
            assert await run.result() == "done"

    play(scenario)


@pytest.mark.requirement("SM-08")
def test_a_change_of_a_run_or_a_job_happens_once_for_its_key(app, play, db, stage):
    app.publish(sw.Workflow("one", sw.Operation("act")))

    async def scenario():
        run = await app.start("one")
        assert await run.pause(key="p") == "paused"
        assert await run.resume(key="r") == "in_progress"
        # Sent again by somebody who got no answer: nothing happens.
        assert await run.pause(key="p") == "paused"
        assert await run.state() == "in_progress"
        for _ in range(2):
            assert await run.cancel("no longer needed", key="c") == "cancelled"
        job = await app.enqueue("act")
        for _ in range(2):
            assert await job.cancel("a duplicate", key="c") == "cancelled"

    play(scenario)
    words = ("workflow.paused", "workflow.resumed", "workflow.cancelled", "job.cancelled")
    assert [events(db, word) for word in words] == [1, 1, 1, 1]
