"""What the context offers a handler: checkpoints, sleeps, waits, events and its own ids."""

from __future__ import annotations

import asyncio
import os
import socket
import threading

import pytest

import stepwell as sw
from tests.support.wait import until_async


def state_of(db, step_id: str) -> str:
    return db.execute("select state_code from step_run where step_id = %s", (step_id,)).fetchone()[0]


def checkpoints(db) -> dict[str, object]:
    return dict(db.execute("select checkpoint_name, checkpoint_value from unit_checkpoint").fetchall())


def test_a_checkpoint_does_not_run_again_after_a_failure(app, play, db, turn):
    done = []

    @app.operation(retry=sw.Retry(max_attempts=3))
    async def careful(ctx: sw.Context):
        async def charge(amount: int) -> dict[str, int]:
            done.append("charge")
            return {"charged": amount}

        charged = await ctx.step("charge", charge, 5)
        mailed = await ctx.step("mail", lambda: done.append("mail"))
        if ctx.attempt == 1:
            raise RuntimeError("after both")
        return [charged, mailed]

    app.publish(sw.Workflow("one", sw.Operation("careful")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await until_async(lambda: state_of(db, "careful") == "failed")
            turn.on(minutes=1)
            assert await run.result() == [{"charged": 5}, None]

    play(scenario)
    assert done == ["charge", "mail"]
    assert checkpoints(db) == {"charge": {"charged": 5}, "mail": None}
    assert db.execute("select count(*) from event_log where event_type = 'checkpoint.saved'").fetchone() == (
        2,
    )


def test_a_handler_in_a_thread_has_checkpoints(app, play, db, turn):
    done = []

    @app.operation
    def careful(ctx: sw.Context):
        value = ctx.step_sync("work", lambda: done.append(1) or "kept")
        if ctx.attempt == 1:
            raise RuntimeError("after it")
        return value

    app.publish(sw.Workflow("one", sw.Operation("careful")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await until_async(lambda: state_of(db, "careful") == "failed")
            turn.on(minutes=1)
            assert await run.result() == "kept"

    play(scenario)
    assert done == [1]


def test_a_sleep_frees_the_slot_and_the_handler_continues_after_it(app, play, db, turn):
    passed = []

    @app.operation
    async def naps(ctx: sw.Context):
        await ctx.step("before", lambda: passed.append("before"))
        await ctx.sleep("2h")
        await ctx.step("between", lambda: passed.append("between"))
        await ctx.sleep("1d")
        return ctx.task_type

    @app.operation
    async def quick():
        return "ran meanwhile"

    app.publish(sw.Workflow("one", sw.Operation("naps")))
    app.publish(sw.Workflow("two", sw.Operation("quick")))

    async def scenario():
        async with sw.Worker(app, slots=1) as worker:
            run = await app.start("one")
            await until_async(lambda: state_of(db, "naps") == "waiting")
            assert await (await app.start("two")).result() == "ran meanwhile"
            await until_async(lambda: worker.busy_count == 0)
            turn.on(hours=1)
            assert state_of(db, "naps") == "waiting"
            turn.on(hours=2)
            await until_async(lambda: "between" in passed and state_of(db, "naps") == "waiting")
            turn.on(days=2)
            assert await run.result() == "SLEPT"

    play(scenario)
    assert passed == ["before", "between"]


def test_a_handler_in_a_thread_can_sleep(app, play, db, turn):
    @app.operation
    def naps(ctx: sw.Context):
        ctx.sleep("2h")
        return "awake"

    app.publish(sw.Workflow("one", sw.Operation("naps")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await until_async(lambda: state_of(db, "naps") == "waiting")
            turn.on(hours=3)
            assert await run.result() == "awake"

    play(scenario)


@pytest.mark.requirement("LN-07", "LN-10")
def test_a_wait_emits_its_outbound_events_and_ends_with_its_event(app, play, db):
    app.event_type("question")

    @app.operation
    async def asks(ctx: sw.Context):
        if ctx.task_type == "RUN":
            return sw.Waiting("answer", timeout="1d", outbound=[sw.OutboundEvent("question", {"q": 1})])
        return [ctx.task_type, ctx.event]

    app.publish(sw.Workflow("one", sw.Operation("asks")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one", key="K")
            await until_async(lambda: state_of(db, "asks") == "waiting")
            sent = await app.signal(("one", "K"), "answer", {"a": 42}, event_id="once")
            again = await app.signal(run, "answer", {"a": 43}, event_id="once")
            assert (sent.accepted, again.accepted) == (True, False)
            assert sent.woken_unit_id == again.woken_unit_id
            assert await run.result() == ["RESUMED", {"a": 42}]

    play(scenario)
    emitted = db.execute("select payload from event_log where event_type = 'event.emitted'").fetchall()
    assert emitted == [({"type": "question", "payload": {"q": 1}},)]


@pytest.mark.requirement("LN-10")
def test_an_early_event_is_kept_for_a_later_wait(app, play, db):
    may_wait = asyncio.Event()

    @app.operation
    async def asks(ctx: sw.Context):
        await may_wait.wait()
        return sw.Waiting("answer") if ctx.task_type == "RUN" else ctx.event

    app.publish(sw.Workflow("one", sw.Sequential(sw.Operation("asks"), sw.Wait("second"))))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            assert (await app.signal(run, "answer", {"n": 1})).woken_unit_id is None
            assert (await app.signal(run, "second", {"n": 2})).woken_unit_id is None
            may_wait.set()
            assert await run.result() == {"n": 2}

    play(scenario)
    assert db.execute("select output from step_run where step_id = 'asks'").fetchone() == ({"n": 1},)


@pytest.mark.requirement("LN-08")
def test_the_handler_sees_that_its_wait_timed_out(app, play, db, turn):
    @app.operation
    async def asks(ctx: sw.Context):
        return sw.Waiting("answer", timeout="1h") if ctx.task_type == "RUN" else [ctx.task_type, ctx.event]

    app.publish(sw.Workflow("one", sw.Operation("asks")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await until_async(lambda: state_of(db, "asks") == "waiting")
            turn.on(hours=2)
            assert await run.result() == ["WAITING_TIMEOUT", None]

    play(scenario)


@pytest.mark.requirement("LN-10")
def test_the_handler_of_a_replayed_step_begins_again_and_gets_its_event_when_it_waits(app, play, db):
    seen = []

    @app.operation
    async def asks(ctx: sw.Context):
        seen.append((ctx.task_type, ctx.event))
        if ctx.task_type == "RUN":
            return sw.Waiting("answer")
        return sw.Dead("not yet") if len(seen) == 2 else ctx.event

    app.publish(sw.Workflow("one", sw.Operation("asks")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await app.signal(run, "answer", {"a": 42})
            with pytest.raises(sw.RunFailed):
                await run.result()
            await run.retry("it is mended")
            assert await run.result() == {"a": 42}

    play(scenario)
    assert seen == [("RUN", None), ("RESUMED", {"a": 42})] * 2


@pytest.mark.requirement("LN-11")
def test_a_worker_is_named_after_app_host_and_process(app, play, db):
    @app.operation
    async def who():
        return db.execute("select locked_by from workflow_step").fetchone()[0]

    app.publish(sw.Workflow("one", sw.Operation("who")))

    async def scenario():
        async with sw.Worker(app) as worker:
            return worker.name, await (await app.start("one")).result()

    name, locked_by = play(scenario)
    assert locked_by == name
    *first, suffix = name.rsplit(":", 3)
    assert first == [app.name, socket.gethostname(), str(os.getpid())]
    assert suffix != sw.Worker(app).name.rsplit(":", 1)[1], "two workers of one process are told apart"


@pytest.mark.requirement("LN-08")
def test_a_wait_step_that_times_out_fails_its_run(app, play, db, turn):
    app.publish(sw.Workflow("one", sw.Wait("answer", timeout="1h")))

    async def scenario():
        run = await app.start("one")
        turn.on(hours=2)
        with pytest.raises(sw.Conflict, match="failed"):
            await run.result()

    play(scenario)
    assert db.execute("select failure_class from job_dead_letter").fetchone() == ("waiting_timeout",)


def test_a_handler_knows_its_ids_and_can_emit_events(app, play, db):
    seen = {}
    app.event_type("my.event")

    @app.operation
    async def speaks(ctx: sw.Context):
        await ctx.emit("my.event", {"n": 1})
        await ctx.heartbeat()
        seen.update(step=ctx.step_id, run=ctx.run_id, attempt=ctx.attempt, of=ctx.max_attempts)
        seen.update(trace=ctx.trace_id, correlation=ctx.correlation_id, key=ctx.idempotency_key)

    app.publish(sw.Workflow("one", sw.Operation("speaks", id="says")))
    trace = "0af7651916cd43dd8448eb211c80319c"

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one", trace_id=trace, correlation_id="c-1")
            await run.result()
            assert seen == {
                "step": "says", "run": run.id, "attempt": 1, "of": 5, "trace": trace, "correlation": "c-1",
                "key": f"stepwell:1:{(run.id << 20) + 1}",
            }  # fmt: skip

    play(scenario)
    assert db.execute("select payload from event_log where event_type = 'event.emitted'").fetchall() == [
        ({"type": "my.event", "payload": {"n": 1}},)
    ]


@pytest.mark.requirement("SM-18")
def test_an_event_of_a_handler_that_is_refused_is_kept(app, play, db):
    app.event_type("order.counted", schema={"type": "object", "properties": {"n": {"type": "integer"}}})

    @app.operation(retry=sw.Retry(max_attempts=1))
    async def counts(ctx: sw.Context):
        with pytest.raises(sw.Refused, match=r"order\.counted"):
            await ctx.emit("order.counted", {"n": "many"})
        with pytest.raises(sw.Refused, match="is not registered"):
            await ctx.emit("order.lost", {"n": 1})

    app.publish(sw.Workflow("one", sw.Operation("counts")))

    async def scenario():
        async with sw.Worker(app):
            await (await app.start("one")).result()

    play(scenario)
    kept = "select event_type, unit_id & 1048575, payload ->> 'n' from event_validation_audit order by 1"
    assert db.execute(kept).fetchall() == [("order.counted", 1, "many"), ("order.lost", 1, "1")]


def test_an_error_names_a_checkpoint_that_cannot_be_stored(app, play, db):
    @app.operation
    async def careless(ctx: sw.Context):
        await ctx.step("thing", threading.Lock)

    app.publish(sw.Workflow("one", sw.Operation("careless")))

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict, match="failed"):
                await (await app.start("one")).result()

    play(scenario)
    assert (
        "checkpoint thing: Unable to serialize unknown type"
        in db.execute("select error ->> 'message' from unit_failure").fetchone()[0]
    )
