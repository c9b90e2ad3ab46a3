"""The events of a run as an iterator: read, continued, followed until the end; each event comes once."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

import stepwell as sw
from stepwell import events
from tests.support.wait import until_async


@pytest.fixture
def gated(app):
    """A workflow that waits for an event between two steps."""

    @app.operation
    async def step(n: int = 0) -> int:
        return n

    app.publish(
        sw.Workflow(
            "gated", sw.Sequential(sw.Operation("step"), sw.Wait("go"), sw.Operation("step", id="after"))
        )
    )
    return app


def test_the_log_is_read_and_continued(gated, play):
    async def scenario():
        run = await gated.start("gated")
        first = [event async for event in run.events()]
        assert [event.event_type for event in first] == ["workflow.started", "step.ready"]
        assert (first[0].step_id, first[1].step_id) == (None, "step")
        async with sw.Worker(gated):
            await run.signal("go")
            await run.result()
        more = [event async for event in run.events(after=first[-1].event_id)]
        assert more[-1].event_type == "workflow.completed"
        assert [event async for event in run.events()] == first + more
        for follow in (False, True):
            with pytest.raises(sw.NotFound, match="run 999999 does not exist"):
                await anext(sw.RunHandle(run.client, 999_999).events(follow=follow))

    play(scenario)


def test_a_follower_gets_new_events_until_the_end(gated, play):
    async def scenario():
        run = await gated.start("gated")
        seen: list[sw.RunEvent] = []
        waits = asyncio.Event()

        async def follow() -> None:
            async for event in run.events(follow=True):
                seen.append(event)
                if event.to_state == "waiting":
                    waits.set()

        async with sw.Worker(gated):
            following = asyncio.create_task(follow())
            await waits.wait()
            assert not following.done()
            await run.signal("go")
            await following
        assert [event.event_id for event in seen] == [event.event_id async for event in run.events()]
        assert seen[-1].event_type == "workflow.completed"

    play(scenario)


def test_a_follower_waits_for_a_notification_and_does_not_poll(gated, play, monkeypatch):
    """Without polling, notifications still report every change of the run."""
    monkeypatch.setattr(events, "LOOK_SECONDS", 3600.0)

    async def scenario():
        run = await gated.start("gated")
        async with sw.Worker(gated):
            following = asyncio.create_task(_collect(run.events(follow=True)))
            await until_async(lambda: _is(run, "wait"))
            await run.signal("go")
            seen = await following
        assert seen[-1].event_type == "workflow.completed"

    play(scenario)


def test_a_follower_does_not_miss_an_event_that_commits_late(gated, play, dsn, monkeypatch):
    """One transaction gets an event id and stays open while others commit higher ids."""
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.01)
    emit = "select stepwell._event_append(1, %s, 'event.emitted', 'test', %s)"

    async def scenario():
        run = await gated.start("gated")
        seen: list[object] = []

        async def follow() -> None:
            async for event in run.events(follow=True):
                if event.event_type == "event.emitted":
                    seen.append(event.payload["payload"])

        following = asyncio.create_task(follow())
        async with (
            await psycopg.AsyncConnection.connect(dsn) as late,
            await psycopg.AsyncConnection.connect(dsn, autocommit=True) as early,
        ):
            for name, connection in (("late", late), ("early", early)):
                payload = f'{{"type": "t", "payload": "{name}"}}'
                await connection.execute(emit, (run.id << 20, payload))
            await until_async(lambda: seen == ["early"])
            for number in range(3):
                payload = f'{{"type": "t", "payload": {number}}}'
                await early.execute(emit, (run.id << 20, payload))
                await until_async(lambda number=number: seen[-1] == number)
            await late.commit()
            await until_async(lambda: seen[-1] == "late")
        await run.cancel()
        await following
        assert seen == ["early", 0, 1, 2, "late"]

    play(scenario)


def test_a_run_counts_as_followed_for_at_most_a_minute(gated, play, db):
    async def scenario():
        run = await gated.start("gated")
        await anext(run.events(follow=True))
        (rest,) = db.execute("select followed_until - stepwell.now() from run_progress").fetchone()
        assert 0 < rest.total_seconds() <= 60

    play(scenario)


def test_a_blocking_follower_gets_events_until_the_end(gated):
    with gated.sync as calls:
        run = calls.start("gated")
        log = run.events(follow=True)
        assert next(log).event_type == "workflow.started"
        assert next(log).event_type == "step.ready"
        run.cancel()
        assert [event.to_state for event in log][-1] == "cancelled"
        assert [event.event_id for event in run.events()] == [event.event_id for event in run.events()]


async def _collect(log) -> list[sw.RunEvent]:
    return [event async for event in log]


async def _is(run, kind: str) -> bool:
    return any(step.step_kind == kind and step.state_code == "waiting" for step in await run.steps())
