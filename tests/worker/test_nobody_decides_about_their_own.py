"""Separation of duties along the whole line: who began something does not decide about it."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from psycopg.types.json import Jsonb

import stepwell as sw
from tests.sql.binding import bind
from tests.support.wait import until_async
from tests.worker.acting import open_approval, put_in_force, rule, state_of


@pytest.fixture
def nested(app, db, ledger):
    """A run whose sub-workflow acts, once its `obstacles` are gone."""
    obstacles: list[str] = []
    for name in ("carl", "dora", "emil", "fred"):
        db.execute("select fn_person_set(1, %s)", (name,))

    @app.operation
    async def book(ctx: sw.Context):
        if obstacles:
            return sw.Dead(obstacles.pop())
        return (await ctx.act("ledger", "put", "A", {"amount": 5}))["entry"]

    app.publish(sw.Workflow("inner", sw.Operation("book")))
    app.publish(sw.Workflow("outer", sw.SubWorkflow("inner")))
    return obstacles


async def asked(db) -> int:
    await until_async(lambda: open_approval(db))
    return open_approval(db)


async def none_decides(app: sw.App, approval: int, *names: str) -> None:
    for name in names:
        with pytest.raises(sw.PermissionDenied, match="cannot decide it"):
            await app.acting_as(name).approval_decide(await app.approval(approval), "approve", name)


@pytest.mark.requirement("RT-06")
def test_who_started_a_run_does_not_approve_the_action_of_its_sub_workflow(app, play, db, ledger, nested):
    put_in_force(db, rule("ask", "needs_approval"))

    async def scenario():
        async with sw.Worker(app):
            run = await app.acting_as("ada").start("outer")
            approval = await asked(db)
            await none_decides(app, approval, "ada", "cli:ada", "slack:ada")
            await app.acting_as("ben").approval_decide(await app.approval(approval), "approve", "ben")
            assert await run.result() == "A"

    play(scenario)
    assert db.execute("select requested_by from approval_detail where action = 'act'").fetchone() == ("ada",)


SCHEDULE = "select fn_schedule_set(1, 'nightly', 'outer', '0 0 * * *', 'UTC', %s, 'latest', 1, %s, %s)"
FIRE = "select run_id from fn_schedule_fire(1, 'nightly', %s, array[%s]::timestamptz[], %s)"
DEAD = "select unit_id from job_dead_letter where resolved_at is null"


@pytest.mark.requirement("RT-06")
def test_who_published_scheduled_or_repeated_it_does_not_decide(app, play, db, turn, ledger, nested):
    put_in_force(db, rule("ask", "needs_approval"))
    nested.append("a door is locked")
    # The worker publishes the same graph again: the version stays that of dora.
    graph = app.graphs["outer"].canonical.decode()
    db.execute("select fn_workflow_publish(1, %s::jsonb, 'cli:dora')", (graph,))
    times = ["2031-01-01T00:00Z", "2031-01-02T00:00Z"]

    async def scenario():
        async with sw.Worker(app):
            # Whoever changes what a schedule starts is behind it as well, and stays so when it is deleted.
            db.execute(SCHEDULE, (Jsonb({}), times[0], "api:emil"))
            db.execute(SCHEDULE, (Jsonb({"more": 1}), times[0], "carl"))
            db.execute(SCHEDULE, (Jsonb({"more": 1}), times[0], "ben"))
            db.execute(FIRE, (times[0], times[0], times[1]))
            await until_async(lambda: db.execute(DEAD).fetchone())
            db.execute("select fn_schedule_delete(1, 'nightly')")
            db.execute("select fn_job_retry(1, %s, 'fred', 'the way is free')", db.execute(DEAD).fetchone())
            approval = await asked(db)
            await none_decides(app, approval, "carl", "dora", "emil", "fred")
            await app.acting_as("ben").approval_decide(await app.approval(approval), "approve", "ben")
            await until_async(lambda: ledger.keys())

    play(scenario)


@contextmanager
def acting(db, text: str):
    """A transaction of the API, bound by the token."""
    with db.transaction():
        db.execute("set local role stepwell_api")
        bind(db, text)
        yield


@pytest.mark.requirement("RT-06")
def test_who_made_the_token_of_an_agent_does_not_approve_what_the_agent_began(app, play, db, ledger, nested):
    """carl makes a service, its token makes a token of an agent, and the agent starts the run."""
    put_in_force(db, rule("ask", "needs_approval"))
    db.execute("select fn_person_set(1, 'carl', '{admin}')")
    db.execute("select fn_principal_set(1, 'service', 'builder', '{admin}')")
    db.execute("select fn_principal_set(1, 'agent', 'helper')")
    make = "select token from stepwell.fn_token_create(1, %s, 'for the agent', 60)"
    (carl,) = db.execute(make, ("carl",)).fetchone()
    with acting(db, carl):
        (builder,) = db.execute(make, ("builder",)).fetchone()
    with acting(db, builder):
        (helper,) = db.execute(make, ("helper",)).fetchone()

    async def scenario():
        async with sw.Worker(app):
            with acting(db, helper):
                db.execute(
                    "select stepwell.fn_run_start(1, 'outer', array['{}'::jsonb], p_actor => 'mcp:helper')"
                )
            approval = await asked(db)
            for name, words in {"carl": "cannot decide it", "helper": "cannot decide it"}.items():
                with pytest.raises(sw.PermissionDenied, match=words):
                    await app.acting_as(name).approval_decide(await app.approval(approval), "approve", name)
            await app.acting_as("ben").approval_decide(await app.approval(approval), "approve", "ben")
            await until_async(lambda: ledger.keys())

    play(scenario)
    assert db.execute("select started_by from run_detail order by run_id").fetchall()[0] == ("mcp:helper",)


@pytest.mark.requirement("RT-06")
def test_who_started_a_run_does_not_approve_that_another_undoes_it(app, play, db, ledger, nested):
    put_in_force(
        db, rule("undo", "needs_approval", "$.reverses > 0", priority=1), rule("free", "allow", priority=2)
    )

    async def scenario():
        async with sw.Worker(app):
            await (await app.acting_as("ada").start("outer")).result()
            (done,) = await app.receipts()
            job = await app.acting_as("carl").reverse(done.receipt_id)
            approval = await asked(db)
            await none_decides(app, approval, "ada", "carl")
            await app.acting_as("ben").approval_decide(await app.approval(approval), "approve", "ben")
            await job.result()

    play(scenario)


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize(
    "tightened",
    [{"role": "lead"}, {"approvers": ["cleo", "dora"]}, {"two_person": True}, {"tier": "high"}, {}],
    ids=["role", "approvers", "quorum", "tier", "policy version"],
)
def test_a_rule_made_stricter_while_the_question_is_open_asks_again(app, play, db, ledger, nested, tightened):
    put_in_force(db, rule("ask", "needs_approval"))

    async def scenario():
        async with sw.Worker(app):
            run = await app.acting_as("ada").start("outer")
            first = await asked(db)
            put_in_force(db, rule("ask", "needs_approval", **tightened), rule("other", "deny", priority=99))
            await app.acting_as("ben").approval_decide(await app.approval(first), "approve", "ben")
            await until_async(lambda: open_approval(db) not in (None, first))
            assert ledger.keys() == []
            assert state_of(db) == "waiting" or await run.state() == "in_progress"
            await run.cancel()

    play(scenario)
    assert ledger.keys() == []


@pytest.mark.requirement("RT-06")
def test_two_runs_with_one_key_both_go_on(app, play, db, ledger):
    put_in_force(db, rule("ask", "needs_approval"))

    @app.operation
    async def book(ctx: sw.Context):
        return (await ctx.act("ledger", "put", "A", {"amount": 5}, key="order-7"))["entry"]

    app.publish(sw.Workflow("one", sw.Operation("book")))
    waiting = "select count(*) from v_approval where state_code = 'requested'"

    async def scenario():
        async with sw.Worker(app):
            runs = [await app.acting_as("ada").start("one") for _ in range(2)]
            await until_async(lambda: db.execute(waiting).fetchone() == (2,))
            for (approval,) in db.execute(
                "select approval_id from v_approval where action = 'act'"
            ).fetchall():
                await app.acting_as("ben").approval_decide(await app.approval(approval), "approve", "ben")
            assert [await run.result() for run in runs] == ["A", "A"]

    play(scenario)
    assert ledger.keys() == ["order-7"]
