"""Actions of a handler in other systems: judged by policy, recorded, performed once."""

from __future__ import annotations

import pytest

import stepwell as sw
from tests.support.wait import until_async
from tests.worker.acting import failure, put_in_force, receipts, rule, state_of, verdicts


@pytest.mark.requirement("RT-05", "RT-06", "RT-01")
def test_an_allowed_action_is_performed_once_and_recorded(app, play, db, ledger, acts):
    put_in_force(db, rule("free", "allow", '$.connector == "ledger"'))

    async def scenario():
        async with sw.Worker(app):
            run = await acts({"target": "A", "fields": {"amount": 5}}, {"target": "B"})
            assert await run.result() == [{"entry": "A", "amount": 5}, {"entry": "B", "amount": None}]

    play(scenario)
    assert len(ledger.keys()) == 2
    assert [state for state, _ in receipts(db)] == ["confirmed", "confirmed"]
    kept = db.execute(
        """select connector, operation, target, request_metadata, response_metadata, external_id, prior,
               reversible, reversal, provider, model, input_tokens, output_tokens, cost_micros, currency,
               rule_name, policy_version, try_count, requested_by
           from v_action_receipt order by receipt_id limit 1"""
    ).fetchone()
    assert kept == (
        "ledger", "put", "A", {"fields": {"amount": 5}}, {"result": {"entry": "A", "amount": 5}}, "ext-A",
        {"amount": 0}, True, {"operation": "remove", "target": "A", "fields": {"amount": 0}}, "ledger",
        "book-1", 3, 5, 1200, "EUR", "free", 1, 1, "client:test",
    )  # fmt: skip
    # The same by the names of document 003: attempted, happened, reversible and how.
    told = db.execute(
        """select step_id, request_metadata, response_metadata, reversible, reversal, status
           from runtime_receipt order by receipt_id limit 1"""
    ).fetchone()
    assert told == ("book", kept[3], kept[4], True, kept[8], "success")
    events = db.execute(
        "select event_type from event_log where event_type like 'action.%' order by event_id"
    ).fetchall()
    assert [event_type for (event_type,) in events] == ["action.judged", "action.performed"] * 2


@pytest.mark.requirement("RT-05")
def test_a_later_attempt_gets_the_stored_result(app, play, db, turn, ledger):
    put_in_force(db, rule("free", "allow"))

    @app.operation(retry=sw.Retry(max_attempts=3))
    async def book(ctx: sw.Context):
        found = await ctx.act("ledger", "add", "A", {"amount": 1})
        if ctx.attempt == 1:
            raise RuntimeError("after it")
        return found

    app.publish(sw.Workflow("one", sw.Operation("book")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await until_async(lambda: state_of(db) == "failed")
            turn.on(minutes=1)
            assert await run.result() == {"entry": "A", "amount": 1}

    play(scenario)
    assert len(ledger.keys()) == 1
    assert [state for state, _ in receipts(db)] == ["confirmed"]


@pytest.mark.requirement("RT-05")
def test_one_key_is_one_effect_for_the_whole_tenant(app, play, db, ledger, acts):
    put_in_force(db, rule("free", "allow"))

    async def scenario():
        async with sw.Worker(app):
            first = await (await acts({"key": "order-7", "fields": {"amount": 5}})).result()
            second = await (await acts({"key": "order-7", "fields": {"amount": 5}})).result()
            assert first == second
            other = await acts({"key": "order-7", "fields": {"amount": 6}})
            with pytest.raises(sw.Conflict):
                await other.result()

    play(scenario)
    assert ledger.keys() == ["order-7"]
    failed = failure(db)
    assert failed[0] == "action_conflict"
    assert "order-7" in failed[1]


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize(
    ("rules", "reason_code"),
    [
        ((), "no_policy"),
        ((rule("never", "deny"),), "rule"),
        ((rule("x", "allow", '$.target == "Z"'),), "no_match"),
    ],
)
def test_an_action_that_policy_does_not_allow_is_not_performed(
    app, play, db, ledger, acts, rules, reason_code
):
    if rules:
        put_in_force(db, *rules)

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict):
                await (await acts({})).result()

    play(scenario)
    assert ledger.keys() == []
    assert receipts(db) == []
    assert verdicts(db)[0][:2] == ("deny", reason_code)
    assert failure(db)[0] == "policy_denied"
    assert db.execute("select attempt_count from job_dead_letter").fetchone() == (1,)


@pytest.mark.requirement("RT-06")
def test_a_policy_timeout_is_a_recorded_deny(app, play, db, ledger, acts):
    put_in_force(db, *(rule(f"r{at}", "allow", '$.target starts with "A"', at) for at in range(150)))
    db.execute("update dot_config set config_value = '1' where config_key = 'policy.timeout_ms'")

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict):
                await (await acts({})).result()

    play(scenario)
    assert ledger.keys() == []
    assert verdicts(db) == [("deny", "policy_timeout", None)]
    assert "policy_timeout" in failure(db)[1]


@pytest.mark.requirement("RT-06")
def test_a_handler_can_catch_a_deny_and_do_something_else(app, play, db, ledger):
    put_in_force(db, rule("reads", "allow", "$.writes == false"))

    @app.operation
    async def book(ctx: sw.Context):
        try:
            await ctx.act("ledger", "put", "A")
        except sw.PolicyDenied as denied:
            return [denied.reason_code, await ctx.act("ledger", "read", "A")]

    app.publish(sw.Workflow("one", sw.Operation("book")))

    async def scenario():
        async with sw.Worker(app):
            found = await (await app.start("one")).result()
            assert found == ["no_match", {"entry": "A", "amount": None}]

    play(scenario)
    assert ledger.keys() == []
    assert [effect for effect, *_ in verdicts(db)] == ["deny", "allow"]


def test_an_unknown_connector_or_operation_is_named(app, play, db, ledger):
    put_in_force(db, rule("free", "allow"))

    @app.operation
    async def book(ctx: sw.Context, connector: str, operation: str):
        await ctx.act(connector, operation, "A")

    app.publish(sw.Workflow("one", sw.Operation("book")))

    async def scenario():
        async with sw.Worker(app):
            for connector, operation in (("mail", "send"), ("ledger", "burn")):
                with pytest.raises(sw.Conflict):
                    await (await app.start("one", {"connector": connector, "operation": operation})).result()

    play(scenario)
    said = [
        message for (message,) in db.execute("select error ->> 'message' from unit_failure order by unit_id")
    ]
    assert said == ["connector mail is not registered", "connector ledger has no operation burn"]
    traces = [t for (t,) in db.execute("select error ->> 'traceback' from unit_failure")]
    assert len(traces) == 2


def test_a_handler_in_a_thread_can_act(app, play, db, ledger):
    put_in_force(db, rule("free", "allow"))

    @app.operation
    def book(ctx: sw.Context):
        return ctx.act_sync("ledger", "put", "A", {"amount": 2})

    app.publish(sw.Workflow("one", sw.Operation("book")))

    async def scenario():
        async with sw.Worker(app):
            assert await (await app.start("one")).result() == {"entry": "A", "amount": 2}

    play(scenario)
