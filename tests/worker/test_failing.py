"""Failures: failure classes, attempts, retry delays, dead letters, time limits."""

from __future__ import annotations

import asyncio
import threading

import pytest

import stepwell as sw
from tests.support.wait import until_async
from tests.worker.crunching import die


def states(db):
    return dict(db.execute("select step_id, state_code from step_run").fetchall())


@pytest.mark.requirement("LN-09", "RT-08")
def test_after_the_last_attempt_the_step_is_dead_and_the_run_failed(app, play, db, turn):
    attempts = []

    @app.operation(retry=sw.Retry(max_attempts=3, initial="10s", max="1m"))
    async def fragile(ctx: sw.Context):
        attempts.append(ctx.attempt)
        raise ConnectionError(f"attempt {ctx.attempt}")

    @app.operation
    async def after():
        raise AssertionError("never runs")

    app.publish(sw.Workflow("one", sw.Sequential(sw.Operation("fragile"), sw.Operation("after"))))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            for count in (1, 2):
                await until_async(lambda count=count: _failure_count(db) == count)
                assert states(db)["fragile"] == "failed"
                turn.on(minutes=1)
            with pytest.raises(sw.Conflict, match="failed"):
                await run.result()

    play(scenario)
    assert attempts == [1, 2, 3]
    assert states(db) == {"fragile": "cannot_complete", "after": "cancelled"}
    history = db.execute(
        "select attempt_count, error ->> 'type', error ->> 'message', next_eligible_at - failed_at,"
        " failure_class, classification from unit_failure order by attempt_count"
    ).fetchall()
    assert [row[:3] for row in history] == [(n, "ConnectionError", f"attempt {n}") for n in (1, 2, 3)]
    # Full jitter: any delay up to the limit of the attempt; the row stores it.
    assert all(row[3].total_seconds() <= bound for row, bound in zip(history, (10, 20), strict=False))
    assert history[2][3] is None
    assert {row[5] for row in history} == {"transient"}
    letter = db.execute(
        "select attempt_count, error ->> 'message', resolved_at from job_dead_letter"
    ).fetchone()
    assert letter == (3, "attempt 3", None)


def _failure_count(db) -> int:
    return db.execute("select count(*) from unit_failure").fetchone()[0]


@pytest.mark.requirement("RT-08")
def test_a_non_retryable_error_ends_the_step_at_once(app, play, db):
    @app.operation(retry=sw.Retry(max_attempts=5, non_retryable=("PermissionError",)))
    async def locked():
        raise PermissionError("no")

    app.publish(sw.Workflow("one", sw.Operation("locked")))
    play(lambda: _fails(app))
    assert db.execute("select attempt_count, error ->> 'type' from job_dead_letter").fetchone() == (
        1, "PermissionError",
    )  # fmt: skip


async def _fails(app, workflow: str = "one"):
    async with sw.Worker(app):
        with pytest.raises(sw.Conflict, match="failed"):
            await (await app.start(workflow)).result()


def test_the_outcome_dead_ends_the_step_at_once_and_keeps_its_reason(app, play, db):
    @app.operation
    async def hopeless():
        return sw.Dead("the supplier is gone")

    app.publish(sw.Workflow("one", sw.Operation("hopeless")))
    play(lambda: _fails(app))
    assert db.execute("select attempt_count, error ->> 'message' from job_dead_letter").fetchone() == (
        1, "the supplier is gone",
    )  # fmt: skip


@pytest.mark.requirement("RT-08")
def test_retry_later_waits_for_the_given_time(app, play, db, turn):
    @app.operation
    async def later(ctx: sw.Context):
        return "done" if ctx.attempt == 2 else sw.RetryLater(after="1h", reason="not yet")

    app.publish(sw.Workflow("one", sw.Operation("later")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await until_async(lambda: _failure_count(db) == 1)
            delay, message = db.execute(
                "select next_eligible_at - failed_at, error ->> 'message' from unit_failure"
            ).fetchone()
            assert (delay.total_seconds(), message) == (3600, "not yet")
            turn.on(minutes=59)
            assert states(db) == {"later": "failed"}
            turn.on(minutes=2)
            assert await run.result() == "done"

    play(scenario)


def test_a_handler_that_exits_or_cancels_itself_fails_only_its_step(app, play, db):
    @app.operation(retry=sw.Retry(max_attempts=1))
    async def exits():
        raise SystemExit(3)

    @app.operation(retry=sw.Retry(max_attempts=1))
    def exits_in_a_thread():
        raise SystemExit(3)

    @app.operation(retry=sw.Retry(max_attempts=1))
    async def cancels():
        raise asyncio.CancelledError

    @app.operation
    async def lives():
        return "alive"

    for name in ("exits", "exits_in_a_thread", "cancels", "lives"):
        app.publish(sw.Workflow(name.replace("_", "-"), sw.Operation(name)))

    async def scenario():
        async with sw.Worker(app):
            for name in ("exits", "exits-in-a-thread", "cancels"):
                with pytest.raises(sw.Conflict, match="failed"):
                    await (await app.start(name)).result()
            assert await (await app.start("lives")).result() == "alive"

    play(scenario)
    types = {row[0] for row in db.execute("select error ->> 'type' from unit_failure")}
    assert types == {"SystemExit", "CancelledError"}


def test_a_message_that_postgres_cannot_store_is_made_readable(app, play, db):
    @app.operation(retry=sw.Retry(max_attempts=1))
    async def garbles():
        raise ValueError("a\x00b\ud800c")

    app.publish(sw.Workflow("one", sw.Operation("garbles")))
    play(lambda: _fails(app))
    assert db.execute("select error ->> 'message' from unit_failure").fetchone() == ("a\ufffdb?c",)


def test_a_coroutine_is_cancelled_at_its_time_limit(app, play, db):
    ended = []

    @app.operation(timeout="50ms", retry=sw.Retry(max_attempts=1))
    async def hangs():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    app.publish(sw.Workflow("one", sw.Operation("hangs")))
    play(lambda: _fails(app))
    assert ended == [True]
    assert db.execute("select failure_class, error ->> 'message' from unit_failure").fetchone() == (
        "timeout", "the handler ran longer than 0.05 s",
    )  # fmt: skip


def test_a_thread_past_its_limit_fails_and_keeps_its_slot_until_it_returns(app, play, db):
    may_return = threading.Event()

    @app.operation(timeout="50ms", retry=sw.Retry(max_attempts=1))
    def hangs():
        may_return.wait(60)

    @app.operation
    async def next_one():
        return "ran"

    app.publish(sw.Workflow("one", sw.Operation("hangs")))
    app.publish(sw.Workflow("two", sw.Operation("next_one")))

    async def scenario():
        async with sw.Worker(app, slots=1) as worker:
            run = await app.start("one")
            with pytest.raises(sw.Conflict, match="failed"):
                await run.result()
            assert worker.abandoned_count == 1
            # The waiter is notified before the worker has the answer to its report.
            await until_async(lambda: worker.busy_count == 1)
            second = await app.start("two")
            worker.hint()
            assert await second.state() == "in_progress"
            assert db.execute("select count(*) from job_ready").fetchone() == (1,)
            may_return.set()
            assert await second.result() == "ran"
            assert worker.abandoned_count == 0

    play(scenario)


def test_a_killed_process_fails_its_attempt_and_the_next_gets_a_new_process(app, play, db):
    app.operation(die, executor="process", retry=sw.Retry(max_attempts=2, initial="0s", max="0s"))
    app.publish(sw.Workflow("one", sw.Operation("die")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await until_async(lambda: _failure_count(db) == 1)
            db.execute("select fn_timers_fire()")
            with pytest.raises(sw.Conflict, match="failed"):
                await run.result()

    play(scenario)
    assert {row[0] for row in db.execute("select error ->> 'type' from unit_failure")} == {
        "BrokenProcessPool"
    }
