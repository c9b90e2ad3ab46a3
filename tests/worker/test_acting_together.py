"""Handlers that act at the same time share round trips and commits; none of them depends on another."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import stepwell as sw
from stepwell.errors import PolicyDenied
from stepwell.store.connection.call import Call
from stepwell.worker import action_calls
from stepwell.worker.action_calls import ActionCalls
from tests.worker.acting import put_in_force, receipts, rule

COUNT = 60
WAITS = Call("select current_setting('synchronous_commit')", (), lambda rows: rows[0][0])


async def never(call: Call[Any], is_limited: bool) -> Any:
    raise AssertionError("nothing failed")


def test_calls_that_wait_together_wait_for_the_disk_once(dsn: str):
    async def scenario() -> list[str]:
        calls = ActionCalls(dsn, never)
        try:
            return await asyncio.gather(*(calls.perform(WAITS, is_limited=False) for _ in range(COUNT)))
        finally:
            await calls.close()

    found = asyncio.run(scenario())
    assert len(found) == COUNT
    # One that travels alone waits by itself.
    assert found.count("on") <= action_calls.LINE_LIMIT


def test_a_call_that_fails_is_asked_again_alone(dsn: str):
    asked: list[bool] = []

    async def alone(call: Call[Any], is_limited: bool) -> str:
        asked.append(is_limited)
        return "alone"

    async def scenario() -> list[str]:
        calls = ActionCalls(dsn, alone)
        bad = Call("select 1 / %s", (0,), lambda rows: rows[0][0])
        try:
            return await asyncio.gather(
                *(calls.perform(bad if at == 3 else WAITS, is_limited=at == 3) for at in range(8))
            )
        finally:
            await calls.close()

    found = asyncio.run(scenario())
    assert found[3] == "alone"
    assert asked == [True]
    assert "alone" not in found[:3] + found[4:]


def test_a_handler_that_is_ended_asks_for_nothing_more(dsn: str, db):
    db.execute("create table public.kept (number int)")
    insert = Call("insert into public.kept values (1)", (), lambda rows: None)

    async def scenario() -> None:
        calls = ActionCalls(dsn, never)
        ended = asyncio.create_task(calls.perform(insert, is_limited=False))
        # It waits, and no round trip has begun.
        await asyncio.sleep(0)
        ended.cancel()
        await asyncio.gather(ended, return_exceptions=True)
        assert await calls.perform(WAITS, is_limited=False) == "on"
        await calls.close()

    asyncio.run(scenario())
    assert db.execute("select count(*) from public.kept").fetchone() == (0,)


def test_many_handlers_act_and_one_that_is_denied_fails_alone(app, play, db, ledger):
    put_in_force(db, rule("dear", "deny", "$.fields.amount == 13", 5), rule("free", "allow"))
    together = asyncio.Barrier(COUNT)

    @app.operation(retry=sw.Retry(max_attempts=1))
    async def book(ctx: sw.Context, amount: int):
        await together.wait()
        try:
            return (await ctx.act("ledger", "put", f"A{amount}", {"amount": amount}))["amount"]
        except PolicyDenied as error:
            return error.reason_code

    app.publish(sw.Workflow("w", sw.Operation("book")))

    async def scenario():
        async with sw.Worker(app, slots=COUNT):
            runs = await app.start_many("w", [{"amount": amount} for amount in range(COUNT)])
            return [await run.result() for run in runs]

    found = play(scenario)
    assert found == [("rule" if amount == 13 else amount) for amount in range(COUNT)]
    assert sorted(set(ledger.keys())) == sorted(ledger.keys())
    assert len(ledger.keys()) == COUNT - 1
    assert {state for state, _ in receipts(db)} == {"confirmed"}


@pytest.mark.requirement("RT-05")
def test_a_cut_connection_between_verdict_and_confirmation_loses_nothing(app, play, db, ledger):
    put_in_force(db, rule("free", "allow"))
    cut = (
        "select count(pg_terminate_backend(pid, 30000)) from pg_stat_activity"
        " where datname = current_database() and application_name = 'stepwell worker'"
        " and query like '%fn_action_%'"
    )
    cut_count: list[int] = []

    def once(action: Any) -> None:
        if len(cut_count) < 3:
            cut_count.append(db.execute(cut).fetchone()[0])

    ledger.after = once

    @app.operation(retry=sw.Retry(max_attempts=1))
    async def book(ctx: sw.Context, amount: int):
        await ctx.act("ledger", "put", f"A{amount}", {"amount": amount})

    app.publish(sw.Workflow("w", sw.Operation("book")))

    async def scenario():
        async with sw.Worker(app):
            for run in await app.start_many("w", [{"amount": amount} for amount in range(20)]):
                await run.result()

    play(scenario)
    assert sum(cut_count) > 0
    assert len(ledger.keys()) == len(set(ledger.keys())) == 20
    assert {state for state, _ in receipts(db)} == {"confirmed"}
