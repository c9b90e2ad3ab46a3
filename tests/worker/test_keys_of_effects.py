"""The keys of effects: made of step, target and fields; the order of calls does not matter; what two runs ask
for is found."""

from __future__ import annotations

import re

import pytest

import stepwell as sw
from stepwell.connectors import SecretRef, ServiceNowConnector, SlackConnector
from stepwell.connectors.base import effect_form
from tests.support.wait import until_async
from tests.worker.acting import put_in_force, receipts, rule, state_of, verdicts

SYS_ID = "0123456789abcdef0123456789abcdef"


@pytest.mark.requirement("RT-15")
def test_a_connector_gives_the_form_of_the_document():
    secret = SecretRef("env:NONE")
    now = ServiceNowConnector("snow", "https://acme.service-now.com", secret=secret)
    slack = SlackConnector("chat", secret=secret)
    assert effect_form(now, "update", f"incident/{SYS_ID}", {}) == f"sn:incident:update:acme:{SYS_ID}"
    assert effect_form(now, "create", "incident", {}) == "sn:incident:create:acme"
    assert effect_form(slack, "post", "C012345678", {"thread_ts": "17.1"}) == "slack:post:C012345678:17.1"
    # A key identifies the effect: two instances whose hosts begin alike have different keys.
    hosts = ["dev.acme.example", "dev.other.example", "127.0.0.1:8001", "127.0.0.1:8002"]
    elsewhere = [ServiceNowConnector("snow", f"http://{host}", secret=secret) for host in hosts]
    forms = [effect_form(one, "create", "incident", {}) for one in elsewhere]
    assert forms == [f"sn:incident:create:{host}" for host in hosts]


@pytest.mark.requirement("RT-05", "RT-15")
def test_a_retry_that_acts_in_another_order_finds_what_was_done(app, play, db, turn, ledger):
    put_in_force(db, rule("free", "allow"))

    @app.operation(retry=sw.Retry(max_attempts=3))
    async def book(ctx: sw.Context):
        calls = [("A", {"n": 1}), ("B", {"n": 1}), ("A", {"n": 2}), ("A", {"n": 1})]
        for target, fields in calls if ctx.attempt == 1 else reversed(calls):
            await ctx.act("ledger", "add", target, fields)
        if ctx.attempt == 1:
            raise RuntimeError("after it")

    app.publish(sw.Workflow("one", sw.Operation("book")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await until_async(lambda: state_of(db) == "failed")
            turn.on(minutes=1)
            await run.result()
            return run.id

    unit = (play(scenario) << 20) + 1
    assert len(ledger.keys()) == 4
    step = rf"[0-9a-f]{{12}}:{unit}:0"
    forms = [r"A:[0-9a-f]{16}@" + step, r"B:[0-9a-f]{16}@" + step, r"A:[0-9a-f]{16}@" + step]
    keys = [key for _, key in receipts(db)]
    for key, form in zip(keys, [*forms, forms[0] + "#2"], strict=True):
        assert re.fullmatch("ledger:add:" + form, key), key
    found = db.execute(
        "select idempotency_key from runtime_receipt where run_id = %s", (unit >> 20,)
    ).fetchall()
    assert {key for (key,) in found} == set(keys)


@pytest.mark.requirement("RT-15")
@pytest.mark.parametrize(("same", "count"), [("again", 2), ("return", 1), ("refuse", 1)])
def test_the_same_effect_of_two_runs_follows_the_policy(app, play, db, ledger, acts, same: str, count: int):
    put_in_force(db, rule("free", "allow", same_effect=same))

    async def scenario():
        async with sw.Worker(app):
            first = await (await acts({"fields": {"amount": 5}, "op": "add"})).result()
            other = await acts({"fields": {"amount": 5}, "op": "add"})
            if same == "refuse":
                with pytest.raises(sw.Conflict):
                    await other.result()
            else:
                assert await other.result() == first
            # Other fields are another effect.
            await (await acts({"fields": {"amount": 6}, "op": "add"})).result()

    play(scenario)
    assert len(ledger.keys()) == count + 1
    keys = [key for _, key in receipts(db)]
    assert all(("@" in key) == (same == "again") for key in keys)
    if same == "refuse":
        assert ("deny", "same_effect", "free") in verdicts(db)
        reason = db.execute("select reason from policy_verdict where reason_code = 'same_effect'").fetchone()
        assert "has asked for the same effect (receipt" in reason[0]


@pytest.mark.requirement("RT-05", "RT-15")
def test_an_effect_that_certainly_did_not_happen_is_made_by_the_run_that_asks_next(
    app, play, db, ledger, acts
):
    put_in_force(db, rule("free", "allow", same_effect="return"))
    refused = {"fail": "refused"}

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict):
                await (await acts({"fields": refused, "op": "add"})).result()
            refused_by = db.execute("select run_id from action_receipt").fetchone()
            ledger.before = lambda action: action.fields.clear()  # now the ledger takes it
            again = await acts({"fields": refused, "op": "add"})
            await again.result()
            return refused_by, (again.id,)

    first, second = play(scenario)
    assert first != second
    assert db.execute("select run_id from action_receipt").fetchall() == [second]
    assert [state for state, _ in receipts(db)] == ["confirmed"]


@pytest.mark.requirement("RT-05", "RT-15")
def test_a_receipt_of_an_earlier_release_is_found_by_its_step(app, play, db, turn, ledger):
    put_in_force(db, rule("free", "allow"))

    @app.operation(retry=sw.Retry(max_attempts=3))
    async def book(ctx: sw.Context):
        await ctx.act("ledger", "add", "A", {"amount": 1})
        if ctx.attempt == 1:
            raise RuntimeError("after it")

    app.publish(sw.Workflow("one", sw.Operation("book")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await until_async(lambda: state_of(db) == "failed")
            # The key as it was: installation, unit, correction cycle, number of the call.
            db.execute(
                "update action_receipt set idempotency_key = "
                "split_part(idempotency_key, '@', 2) || ':ledger.add#1'"
            )
            turn.on(minutes=1)
            await run.result()

    play(scenario)
    assert len(ledger.keys()) == 1
    assert len(receipts(db)) == 1


@pytest.mark.requirement("RT-05", "RT-15")
@pytest.mark.parametrize("same", ["return", "refuse"])
def test_an_effect_that_was_reversed_is_made_again_for_another_run(app, play, db, ledger, acts, same: str):
    """003, 4.2: a stored result is returned if its status is success; what was undone is not there."""
    put_in_force(
        db, rule("undo", "allow", "$.reverses > 0", priority=1), rule("free", "allow", same_effect=same)
    )

    async def scenario():
        async with sw.Worker(app):
            for _ in range(3):
                await (await acts({"fields": {"amount": 5}, "op": "add"})).result()
                newest, *_ = await app.receipts()
                assert newest.state_code == "confirmed"
                await (await app.reverse(newest.receipt_id, reason="a mistake")).result()

    play(scenario)
    assert [line["op"] for line in ledger.lines()] == ["add", "remove"] * 3
    made = [line["key"] for line in ledger.lines() if line["op"] == "add"]
    assert len(set(made)) == 3, "three effects have three keys"


@pytest.mark.requirement("RT-05", "RT-15")
def test_a_connector_with_another_form_finds_what_the_step_did(app, play, db, turn, ledger):
    """A step may be retried after a release that gives the keys of a connector another form."""
    put_in_force(db, rule("free", "allow"))

    @app.operation(retry=sw.Retry(max_attempts=3))
    async def book(ctx: sw.Context):
        ledger.effect_form = lambda *_: f"form-{ctx.attempt}"
        for _ in range(2):
            await ctx.act("ledger", "add", "A", {"n": 1})
        if ctx.attempt == 1:
            raise RuntimeError("after it")

    app.publish(sw.Workflow("one", sw.Operation("book")))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one")
            await until_async(lambda: state_of(db) == "failed")
            turn.on(minutes=1)
            await run.result()

    play(scenario)
    assert len(ledger.keys()) == 2
    assert all(key.startswith("form-1:") for _, key in receipts(db))
