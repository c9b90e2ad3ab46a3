"""A handler whose result is too large fails once, with the size and the limit; other steps continue."""

from __future__ import annotations

import logging

import pytest

import stepwell as sw
from stepwell.worker import execute

MIB = 1024 * 1024


@pytest.mark.parametrize("mib", [2, 30])
def test_a_step_whose_result_is_too_large_is_not_retried(app, play, db, caplog, mib):
    caplog.set_level(logging.WARNING)
    attempts = []

    @app.operation(retry=sw.Retry(max_attempts=5, initial=0))
    async def fetch(mib: int):
        attempts.append(mib)
        return "x" * (mib * MIB)

    app.publish(sw.Workflow("one", sw.Operation("fetch")))

    async def scenario():
        async with sw.Worker(app):
            run, other = await app.start("one", {"mib": mib}), await app.start("one", {"mib": 0})
            with pytest.raises(sw.Conflict):
                await run.result()
            assert await other.result() == ""

    play(scenario)
    assert sorted(attempts) == [0, mib]
    ((failure_class, message),) = db.execute("select failure_class, error ->> 'message' from unit_failure")
    assert failure_class == "result_too_large"
    assert message.startswith(f"result: {mib * MIB + 2} bytes; at most 1048576 bytes are accepted")
    assert "sw.Ref" in message
    (line,) = [record for record in caplog.records if "attempt failed" in record.getMessage()]
    assert line.levelname == "ERROR"
    assert "next=none" in line.getMessage()


@pytest.mark.parametrize("value", ["x" * 2000, "ä" * 2000], ids=["ascii", "wide"])
def test_a_result_larger_than_any_limit_is_not_sent(app, play, db, monkeypatch, value):
    monkeypatch.setattr(execute, "SEND_LIMIT_BYTES", 1000)

    @app.operation
    async def fetch():
        return value

    app.publish(sw.Workflow("one", sw.Operation("fetch")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            with pytest.raises(sw.Conflict):
                await run.result()

    play(scenario)
    ((message,),) = db.execute("select error ->> 'message' from unit_failure")
    assert message.startswith(f"result: {len(value.encode()) + 2} bytes;")


@pytest.mark.parametrize("way", ["checkpoint", "event"])
def test_checkpoints_and_events_of_a_handler_have_a_limit(app, play, db, way):
    attempts = []

    @app.operation(retry=sw.Retry(max_attempts=5, initial=0))
    async def fetch(ctx: sw.Context):
        attempts.append(ctx.attempt)
        if way == "checkpoint":
            await ctx.step("part", lambda: "x" * (2 * MIB))
        else:
            await ctx.emit("part", {"x": "x" * (2 * MIB)})

    app.publish(sw.Workflow("one", sw.Operation("fetch")))

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict):
                await (await app.start("one")).result()

    play(scenario)
    assert attempts == [1]
    ((failure_class, message),) = db.execute("select failure_class, error ->> 'message' from unit_failure")
    assert failure_class == "limit_exceeded"
    assert f"{way} part: " in message
    assert "at most 1048576 bytes are accepted" in message


def test_the_output_of_a_person_has_the_same_limit(app, play, db):
    app.publish(sw.Workflow("one", sw.Human("look", role="r")))

    async def scenario():
        run = await app.start("one")
        with pytest.raises(sw.LimitExceeded, match=r"output: \d+ bytes; at most 1048576 .* reference"):
            await app.acting_as("ada").step_complete((run.id, "look"), "ada", {"x": "x" * (2 * MIB)})

    db.execute("select fn_person_set(1, 'ada', '{r}')")
    play(scenario)
