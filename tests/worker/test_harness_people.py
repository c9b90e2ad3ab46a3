"""Human steps and approvals in a test: one line for each call, and the clock does not move past them."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta

import pytest

import stepwell as sw
from stepwell.testing import Harness, Stuck, check_invariants
from tests.worker.acting import Ledger, put_in_force, rule

FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}


def rehearse(app, scenario, dsn, **options):
    async def whole():
        async with Harness(app, dsn=dsn, **options) as harness:
            return await scenario(harness)

    result = asyncio.run(whole())
    assert check_invariants(dsn) == []
    return result


@pytest.fixture
def office():
    app = sw.App()

    @app.operation(retry=sw.Retry(max_attempts=2, initial="1h", max="1h"))
    async def draft(ctx: sw.Context):
        if ctx.attempt == 1:
            raise ConnectionError("no answer")

    @app.operation
    async def send(ok: bool):
        return {"sent": ok}

    app.publish(
        sw.Workflow(
            "letter",
            sw.Sequential(
                sw.Operation("draft"),
                sw.Human("sign-off", role="boss", form=FORM, deadline="4h"),
                sw.Operation("send", inputs={"ok": '$.steps."sign-off".output.ok'}),
            ),
        )
    )
    return app


def test_a_person_completes_a_step_in_one_line(office, dsn):
    async def scenario(harness):
        run = await harness.start("letter")
        # The draft is retried after an hour: the clock moves until the human step is open.
        await harness.complete("sign-off", by="ada", output={"ok": True})
        assert await run.state() == "completed"
        assert (await harness.end(run)).result == {"sent": True}

    rehearse(office, scenario, dsn)


def test_each_call_of_a_person_is_one_line(office, dsn):
    async def scenario(harness):
        run = await harness.start("letter")
        await harness.person("eve", "boss", "reviewer")
        await harness.claim("sign-off", by="ada")
        await harness.delegate((run, "sign-off"), by="ada", to="eve")
        await harness.release("sign-off", by="eve")
        await harness.assign("sign-off", to="ada", by="eve")
        await harness.claim("sign-off", by="ada")
        await harness.block("sign-off", by="ada", reason="other", detail="no pen")
        assert (await harness.states(run))["sign-off"] == "blocked"
        await harness.unblock("sign-off", by="ada", resolution="pen:1")
        await harness.cannot_complete("sign-off", by="ada", evidence="mail:7")
        ended = await harness.end(run)
        assert (ended.state, ended.states["sign-off"]) == ("failed", "cannot_complete")

    rehearse(office, scenario, dsn)


def test_the_harness_refuses_what_the_engine_refuses(office, dsn):
    async def scenario(harness):
        await harness.person("bob", "cook")
        await harness.start("letter")
        with pytest.raises(sw.StepwellError):
            await harness.complete("sign-off", by="bob", output={"ok": True})
        with pytest.raises(sw.InvalidInput, match=r"output\.ok: the field is missing"):
            await harness.complete("sign-off", by="ada", output={})
        await harness.complete("sign-off", by="ada", output={"ok": False})

    rehearse(office, scenario, dsn)


def test_the_clock_does_not_move_past_an_open_step(office, dsn):
    async def scenario(harness):
        run = await harness.start("letter")
        with pytest.raises(Stuck) as raised:
            await harness.end(run)
        opened_at = await harness.now()
        assert str(raised.value).startswith(f"run {run.id} waits for people, so the clock does not move:")
        assert raised.value.reasons["sign-off"] == "sign-off waits for a person (role: boss). (ready)"
        assert "waits for sign-off" in raised.value.reasons["send"]
        assert "past_people=True" in str(raised.value)
        with pytest.raises(Stuck):
            await harness.end(run)
        assert await harness.now() == opened_at
        # With past_people=True the clock moves until no timer is left: the deadline passes.
        with pytest.raises(Stuck, match="does not move"):
            await harness.end(run, past_people=True)
        assert await harness.now() == opened_at + timedelta(hours=4)

    rehearse(office, scenario, dsn)


@pytest.fixture
def acting(dsn, db, tmp_path):
    app = sw.App()
    app.connector(Ledger(tmp_path / "ledger"))
    put_in_force(db, rule("ask", "needs_approval", expires_seconds=3600))

    @app.operation
    async def book(ctx: sw.Context):
        return await ctx.act("ledger", "put", "A", {"amount": 9})

    @app.operation
    async def nap(ctx: sw.Context):
        await ctx.sleep("2h")

    app.publish(sw.Workflow("pay", sw.Operation("book")))
    app.publish(sw.Workflow("around", sw.SubWorkflow("pay")))
    app.publish(sw.Workflow("nap", sw.Operation("nap")))
    return app


def test_an_approval_is_one_line(acting, dsn):
    async def scenario(harness):
        run = await harness.start("pay")
        assert await harness.approve(by="ben") == "approved"
        assert (await harness.end(run)).result["amount"] == 9
        other = await harness.start("pay")
        assert await harness.reject((other, "book"), by="ben", reason="too much") == "rejected"
        assert (await harness.end(other)).state == "failed"

    rehearse(acting, scenario, dsn)


@pytest.mark.parametrize("workflow", ["pay", "around"])
def test_an_open_approval_expires_only_with_past_people(acting, dsn, workflow):
    async def scenario(harness):
        run = await harness.start(workflow)
        before = await harness.now()
        with pytest.raises(Stuck, match=r"act of book waits for a decision \(0 of 1\), until ") as stuck:
            await harness.end(run)
        # Approvals have the numbers that people type.
        assert re.search(r"approval \d+: ", str(stuck.value))
        assert not re.search(r"\d{7}", str(stuck.value))
        assert await harness.now() == before
        ended = await harness.end(run, past_people=True)
        assert (ended.state, await harness.now()) == ("failed", before + timedelta(hours=1))

    rehearse(acting, scenario, dsn)


def test_the_clock_does_not_move_past_the_approval_of_another_run(acting, dsn):
    async def scenario(harness):
        paying = await harness.start("pay")
        sleeping = await harness.start("nap")
        with pytest.raises(Stuck, match="after an approval of another run"):
            await harness.end(sleeping)
        await harness.approve(by="ben")
        assert (await harness.end(sleeping)).state == "completed"
        assert (await harness.end(paying)).state == "completed"

    rehearse(acting, scenario, dsn)


def test_an_ambiguous_or_closed_step_is_an_error(office, dsn):
    async def scenario(harness):
        first, second = [await harness.start("letter") for _ in range(2)]
        await harness.jump("1h")
        with pytest.raises(
            sw.StepwellError, match=r"2 open items match step sign-off: 1/sign-off, 2/sign-off"
        ):
            await harness.complete("sign-off", by="ada", output={"ok": True})
        await harness.complete((second, "sign-off"), by="ada", output={"ok": True})
        await harness.complete("sign-off", by="ada", output={"ok": True})
        assert await first.state() == "completed"
        with pytest.raises(Stuck, match="no step sign-off is open, and nothing is due"):
            await harness.complete("sign-off", by="ada")
        with pytest.raises(Stuck, match="no approval about book is open"):
            await harness.approve("book", by="ben")

    rehearse(office, scenario, dsn)


def test_the_error_names_each_step_that_waits_also_in_sub_runs(dsn):
    app = sw.App()

    @app.operation
    async def known(): ...

    app.publish(sw.Workflow("inner", sw.Wait("parcel", timeout="1d")))
    app.publish(sw.Workflow("outer", sw.Sequential(
        sw.Parallel(sw.SubWorkflow("inner"), sw.Wait("never"), sw.Operation("elsewhere")),
        sw.Operation("known"),
    )))  # fmt: skip

    async def scenario(harness):
        run = await harness.start("outer")
        await run.pause()
        with pytest.raises(Stuck) as raised:
            await harness.end(run)
        await run.resume()
        return raised.value.reasons

    reasons = rehearse(app, scenario, dsn)
    assert set(reasons) == {"inner", "inner → parcel", "never", "elsewhere", "known"}
    assert "The app of this test has no operation elsewhere." in reasons["elsewhere"]


def test_the_error_names_a_handler_that_does_not_return(dsn):
    app = sw.App()
    release = asyncio.Event()

    @app.operation
    async def hang():
        await release.wait()

    app.publish(sw.Workflow("w", sw.Operation("hang")))

    async def scenario(harness):
        run = await app.start("w")
        with pytest.raises(Stuck, match=r"work has not ended after 0.5 s of real time:\n  1/hang: .*harness"):
            await harness.until_idle()
        release.set()
        assert (await harness.end(run)).state == "completed"

    rehearse(app, scenario, dsn, limit_seconds=0.5)
