"""Schedules, tenants and workflows in Python: they use the same database functions as the commands."""

from __future__ import annotations

import asyncio
from datetime import UTC, timedelta

import pytest

import stepwell as sw
from stepwell.keeper import Keeper


def test_a_schedule_is_set_shown_paused_and_deleted(square, play, db):
    async def scenario():
        made = await square.schedule_set(
            "nightly", "square", "0 3 * * *", time_zone="Europe/Berlin", input={"n": 2}, misfire="all"
        )
        assert (made.workflow, made.input, made.misfire, made.created_by) == (
            "square", {"n": 2}, "all", "client:test",
        )  # fmt: skip
        assert [made] == await square.schedules()
        times = await square.schedule_times("nightly", 3)
        assert times[0] == made.next_at
        assert {at.astimezone(UTC).hour for at in times} <= {1, 2}
        await square.schedule_pause("nightly")
        assert (await square.schedule("nightly")).is_paused
        await square.schedule_resume("nightly")
        changed = await square.acting_as("ada").schedule_set("nightly", "square", "*/5 * * * *")
        assert (changed.cron, changed.is_paused) == ("*/5 * * * *", False)
        await square.schedule_delete("nightly")
        with pytest.raises(sw.NotFound, match="schedule nightly does not exist"):
            await square.schedule("nightly")

    play(scenario)


def test_a_schedule_set_from_python_starts_runs(square, play, dsn, clock):
    async def scenario():
        await square.schedule_set("often", "square", "* * * * *", input={"n": 2})
        clock.advance(timedelta(minutes=2))
        assert Keeper(dsn).run_once().started_count == 1
        (run,) = await square.runs()
        assert (run.workflow, run.input, run.started_by) == ("square", {"n": 2}, "schedule:often")

    play(scenario)


@pytest.mark.parametrize(
    ("change", "field"),
    [({"cron": "x y"}, "cron"), ({"time_zone": "Mars/Olympus"}, "time_zone"), ({"misfire": "no"}, "misfire")],
    ids=str,
)
def test_the_error_for_a_wrong_schedule_names_the_field(square, play, change, field):
    given = {"cron": "0 3 * * *", **change}

    async def scenario():
        with pytest.raises(sw.InvalidInput) as caught:
            await square.schedule_set("s", "square", **given)
        assert caught.value.field == field
        assert await square.schedules() == []

    play(scenario)


def test_tenants_and_caps_are_set_and_removed(dsn):
    async def scenario():
        # Only the owner of the schema sets tenants.
        async with sw.App(database_url=dsn) as owner:
            made = await owner.tenant_set("acme", weight=3, max_concurrency=50)
            assert (made.name, made.weight, made.max_concurrency) == ("acme", 3, 50)
            assert (await owner.tenant_set("acme", max_concurrency=None)).has_caps is False
            assert [tenant.name for tenant in await owner.tenants()] == ["acme", "default"]
            with pytest.raises(sw.NotFound, match="tenant unknown does not exist"):
                await owner.tenant("unknown")
            with pytest.raises(sw.InvalidInput, match="weight"):
                await owner.tenant_set("acme", weight=0)

    asyncio.run(scenario())


def test_workflows_and_their_versions_are_read(square, play):
    async def scenario():
        found = await square.workflows()
        assert [(one.name, one.title, one.version_no) for one in found] == [
            ("broken", None, 1),
            ("square", "A square", 1),
        ]
        assert [one.name for one in await square.workflows(after="broken")] == ["square"]
        square.publish(sw.Workflow("square", sw.Sequential(sw.Operation("square"), sw.Operation("broken"))))
        newest, first = await square.workflow_versions("square")
        assert (newest.version_no, newest.step_count, first.step_count) == (2, 2, 1)
        assert first.graph.title == "A square"
        assert (await square.workflow("square")).version_count == 2
        capped = await square.workflow_caps_set("square", max_runs_per_min=7)
        assert (capped.name, capped.max_runs_per_min) == ("square", 7)
        assert [one.name for one in await square.workflows(has_caps=True)] == ["square"]
        for missing in (square.workflow("none"), square.workflow_versions("none")):
            with pytest.raises(sw.NotFound, match="workflow none is not published"):
                await missing

    play(scenario)


def test_acting_as_sets_the_actor_of_all_calls(square, play, db):
    async def scenario():
        await square.person_set("ada")
        ada = square.acting_as("ada")
        run = await ada.start("square", {"n": 1})
        await run.cancel("not needed")
        await square.start("square", {"n": 2})
        await ada.schedule_set("s", "square", "0 3 * * *")
        assert (await square.schedule("s")).created_by == "ada"
        assert [one.started_by for one in await square.runs()] == ["client:test", "ada"]
        return run.id

    run_id = play(scenario)
    who = "select distinct actor from event_log where unit_id = %s and to_state = 'cancelled'"
    assert db.execute(who, (run_id << 20,)).fetchall() == [("ada",)]


def test_migrate_creates_the_schema_in_an_empty_database(empty_dsn):
    async def scenario():
        app = sw.App(database_url=empty_dsn)
        first = await app.migrate()
        assert first.applied
        assert first.routines_applied
        assert (await app.migrate()).applied == ()
        assert await app.run_count() == 0
        await app.close()

    asyncio.run(scenario())
