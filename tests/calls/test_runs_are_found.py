"""Runs in Python: listed by filters and pages, counted, found by id or key, waited for."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

import stepwell as sw


def test_runs_are_listed_newest_first_by_filters_and_pages(square, play, db, clock):
    async def scenario():
        await square.start_many("square", [{"n": n} for n in range(4)], keys=list("abcd"))
        (red,) = await square.start_many("broken", [{}])
        await (await square.find_run("square", "c")).pause()
        clock.advance(timedelta(hours=1))
        (late,) = await square.start_many("square", [{"n": 9}])
        now = db.execute("select stepwell.now()").fetchone()[0]

        newest = await square.runs()
        assert [run.run_id for run in newest][:2] == [late.id, red.id]
        assert [run.key for run in await square.runs(workflow="square")] == [None, *"dcba"]
        first = await square.runs(workflow="square", limit=2)
        second = await square.runs(workflow="square", limit=2, after=first[-1].run_id)
        assert [run.key for run in first + second] == [None, *"dcb"]
        assert [run.key for run in await square.runs(state="paused")] == ["c"]
        assert [run.colour for run in await square.runs(key="a")] == ["green"]
        square.publish(sw.Workflow("waits", sw.Wait("go")))
        (waits,) = await square.start_many("waits", [{}])
        assert [run.run_id for run in await square.runs(colour="yellow")] == [waits.id]
        await waits.signal("go")
        assert await square.run_count(colour="yellow") == 0
        recent = {"started_after": now - timedelta(minutes=30)}
        assert [run.run_id for run in await square.runs(**recent)] == [waits.id, late.id]
        assert await square.run_count(started_before=now - timedelta(minutes=30)) == 5
        assert await square.run_count() == 7
        assert await square.run_count(workflow="square", state="in_progress") == 4
        assert await square.run_count(workflow="nothing") == 0

    play(scenario)


def test_a_workflow_is_named_by_its_name_or_by_itself(square, play):
    other = sw.Workflow("other", sw.Wait("go"))
    square.publish(other)

    async def scenario():
        run = await square.start(other, key="a")
        await square.start("square", {"n": 1})
        assert [one.run_id for one in await square.runs(workflow=other)] == [run.id]
        assert await square.run_count(workflow=other) == 1
        assert (await square.schedule_set("nightly", other, "0 3 * * *")).workflow == "other"
        assert (await square.workflow(other)).name == "other"
        assert (await square.workflow_caps_set(other, max_concurrency=3)).max_concurrency == 3
        assert [one.version_no for one in await square.workflow_versions(other)] == [1]

    play(scenario)


def test_a_result_of_another_type_is_told_and_the_state_is_still_read(square, play):
    async def scenario():
        async with sw.Worker(square):
            run = await square.start("square", {"n": 3}, result_type=list)
            with pytest.raises(sw.InvalidInput, match=rf"run {run.id}: the result is not list") as caught:
                await run.result()
            assert "without a type" in caught.value.hint
            assert await run.state() == "completed"
            assert await (await square.find_run(run.id)).result() == 9

    play(scenario)


def test_the_blocking_calls_take_a_workflow_too(square):
    other = sw.Workflow("other", sw.Wait("go"))
    square.publish(other)
    with square.sync as calls:
        calls.start(other)
        assert (calls.run_count(workflow=other), len(calls.runs(workflow=other))) == (1, 1)


@pytest.mark.parametrize(
    ("only", "field", "words"),
    [
        ({"state": "faild"}, "state", "did you mean"),
        ({"colour": "blue"}, "colour", "'blue' is not known"),
        ({"limit": 0}, "limit", "limit is 0"),
        ({"stat": "failed"}, "stat", "is not a filter"),
        ({"started_after": datetime(2026, 1, 1)}, "started_after", "no time zone"),  # noqa: DTZ001
    ],
    ids=str,
)
def test_an_unknown_or_wrong_filter_is_refused(square, play, only, field, words):
    async def scenario():
        with pytest.raises(sw.InvalidInput) as caught:
            await square.runs(**only)
        assert caught.value.field == field
        assert words in caught.value.sentence()

    play(scenario)


def test_a_run_is_found_by_id_and_by_workflow_and_key(square, play):
    async def scenario():
        started = await square.start("square", {"n": 3}, key="K")
        for found in (await square.find_run(started.id), await square.find_run("square", "K")):
            assert (found.id, found.is_new) == (started.id, False)
        with pytest.raises(sw.NotFound, match="no run of square was started with key unknown"):
            await square.find_run("square", "unknown")
        with pytest.raises(sw.NotFound, match="run 999999 does not exist"):
            await square.find_run(999_999)
        with pytest.raises(sw.StepwellError, match="which run of square") as caught:
            await square.find_run("square")
        assert caught.value.field == "key"

    play(scenario)


def test_a_handle_returns_the_state_of_its_run(square, play):
    async def scenario():
        run = await square.start("square", {"n": 3})
        assert (await run.outcome()).has_ended is False
        async with sw.Worker(square):
            ended = await run.wait()
        assert (ended.run_id, ended.state, ended.result) == (run.id, "completed", 9)
        (step,) = await run.steps()
        assert (step.name, step.state_code, step.output) == ("square", "completed", 9)
        info = await run.info()
        assert (info.workflow, info.input, info.completed_count) == ("square", {"n": 3}, 1)

    play(scenario)


def test_the_error_of_a_failed_run_names_the_step_and_the_reason(square, play):
    async def scenario():
        async with sw.Worker(square):
            run = await square.start("broken")
            with pytest.raises(sw.RunFailed) as caught:
                await run.result()
            assert (await run.wait()).result is None
        error = caught.value
        assert (error.run_id, error.state, error.step) == (run.id, "failed", "broken")
        assert error.error["message"] == "no card"
        assert str(error) == f"run {run.id} failed: step broken: Dead: no card"

    play(scenario)


def test_calls_at_the_same_time_connect_once(square, dsn):
    async def scenario():
        await asyncio.gather(*(square.start("square", {"n": n}) for n in range(8)))
        assert await square.run_count() == 8
        await square.close()

    asyncio.run(scenario())


def test_a_time_is_compared_by_the_clock_of_the_database(square, play):
    async def scenario():
        await square.start("square", {"n": 1})
        assert await square.run_count(started_after=datetime(2000, 1, 1, tzinfo=UTC)) == 1
        assert await square.run_count(started_before=datetime(2000, 1, 1, tzinfo=UTC)) == 0

    play(scenario)


def test_runs_are_found_by_their_labels(square, play):
    async def scenario():
        acme = await square.start("square", {"n": 1}, key="one", labels={"customer": "Acme", "order": "17"})
        again = await square.start("square", {"n": 1}, key="one", labels={"customer": "Other"})
        assert (again.id, again.is_new) == (acme.id, False)
        others = await square.start_many("square", [{"n": 2}, {"n": 3}], labels={"customer": "Acme"})
        plain = await square.start("square", {"n": 4})
        assert (await acme.info()).labels == {"customer": "Acme", "order": "17"}
        assert (await plain.info()).labels == {}
        found = await square.runs(labels={"customer": "Acme"})
        assert [run.run_id for run in found] == [others[1].id, others[0].id, acme.id]
        assert [run.run_id for run in await square.runs(labels={"customer": "Acme", "order": "17"})] == [
            acme.id
        ]
        assert await square.run_count(labels={"customer": "Other"}) == 0
        assert await acme.label({"order": None, "state": "checked"}) == {
            "customer": "Acme",
            "state": "checked",
        }
        with pytest.raises(sw.InvalidInput) as caught:
            await square.start("square", {"n": 9}, key="bad", labels={"Customer": "x"})
        assert caught.value.field == "labels.Customer"
        assert await square.runs(key="bad") == [], "a start with a bad label starts nothing"

    play(scenario)
