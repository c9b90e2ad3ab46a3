"""Actions that wait for an approval, that are refused or capped, and that are reversed under policy."""

from __future__ import annotations

import psycopg
import pytest

import stepwell as sw
from stepwell.unit_numbers import short
from tests.support.deciding import PLACE, deciding
from tests.support.processes import stepwell
from tests.support.roles import client_environment
from tests.support.wait import until_async
from tests.worker.acting import failure, open_approval, put_in_force, receipts, rule, state_of, verdicts


@pytest.mark.requirement("RT-02", "RT-06", "RT-17")
def test_an_action_waits_for_its_approval_and_is_then_performed(app, play, db, ledger, acts):
    put_in_force(
        db, rule("ask", "needs_approval", two_person=True, tier="high", approvers=["ben", "cleo", "client"])
    )
    seen = []
    ledger.before = lambda action: seen.append(state_of(db))

    async def scenario():
        async with sw.Worker(app, slots=1) as worker:
            run = await acts({"fields": {"amount": 9, "password": "hunter22"}})
            await until_async(lambda: state_of(db) == "waiting")
            await until_async(lambda: worker.busy_count == 0)
            approval = await app.approval(open_approval(db))
            assert (approval.tier, approval.quorum, approval.acting) == (3, 2, f"worker:{worker.name}")
            assert approval.about["fields"] == {"amount": 9, "password": "[redacted]"}
            assert approval.about["rule"] == "ask"
            dialect = db.execute("select runtime_code from v_unit_dialect where scope = 'step'").fetchone()
            assert dialect == ("waiting_approval",)
            assert db.execute("select status from runtime_run").fetchone() == dialect
            with pytest.raises(sw.PermissionDenied, match="the requester of an approval"):
                await app.approval_decide(approval, "approve", "test")
            with pytest.raises(sw.PermissionDenied, match="cannot act as worker:"):
                await app.approval_decide(approval, "approve", f"worker:{worker.name}")
            with pytest.raises(psycopg.Error, match="the actor of an approval"):
                db.execute(deciding("approve"), (approval.approval_id, f"worker:{worker.name}"))
            with pytest.raises(sw.PermissionDenied, match="ben, cleo"):
                await app.acting_as("dan").approval_decide(approval, "approve", "dan")
            assert (
                await app.acting_as("cli:ben").approval_decide(approval, "approve", "cli:ben") == "requested"
            )
            assert await app.acting_as("ben").approval_decide(approval, "approve", "ben") == "requested"
            assert await app.acting_as("cleo").approval_decide(approval, "approve", "cleo") == "approved"
            assert (await run.result())[0]["amount"] == 9

    play(scenario)
    assert seen == ["in_progress"]
    assert len(ledger.keys()) == 1
    assert [effect for effect, _, _ in verdicts(db)] == ["needs_approval", "needs_approval"]
    approval_id = db.execute("select approval_id from approval_detail where action = 'act'").fetchone()
    assert db.execute("select approval_id from action_receipt").fetchone() == approval_id


@pytest.mark.parametrize("end", ["rejected", "expired", "cancelled"])
def test_an_approval_that_is_not_granted_fails_the_step_for_good(app, play, db, turn, ledger, acts, end):
    put_in_force(db, rule("ask", "needs_approval", expires_seconds=3600))

    async def scenario():
        async with sw.Worker(app):
            run = await acts({})
            await until_async(lambda: state_of(db) == "waiting")
            approval = open_approval(db)
            if end == "rejected":
                assert (
                    await app.acting_as("ben").approval_decide(
                        await app.approval(approval), "reject", "ben", reason="too much"
                    )
                    == "rejected"
                )
            elif end == "expired":
                turn.on(hours=2)
            else:
                await app.approval_withdraw(approval, "test")
            assert state_of(db) == "cannot_complete"
            with pytest.raises(sw.Conflict):
                await run.result()

    play(scenario)
    assert ledger.keys() == []
    failed = failure(db)
    assert failed[0] == f"approval_{end}"
    assert ("too much" in failed[1]) == (end == "rejected")


def test_a_replayed_step_requests_a_new_approval(app, play, db, ledger, acts):
    put_in_force(db, rule("ask", "needs_approval"))

    async def scenario():
        async with sw.Worker(app):
            run = await acts({})
            first = await until_async(lambda: open_approval(db))
            await until_async(lambda: state_of(db) == "waiting")
            await app.acting_as("ben").approval_decide(
                await app.approval(first), "reject", "ben", reason="not today"
            )
            with pytest.raises(sw.Conflict):
                await run.result()
            await run.retry("tomorrow")
            second = await until_async(lambda: open_approval(db))
            assert second != first
            await app.acting_as("ben").approval_decide(await app.approval(second), "approve", "ben")
            await run.result()

    play(scenario)
    assert len(ledger.keys()) == 1


def test_a_decision_before_the_step_waits_is_not_lost(app, play, db, ledger):
    """The approval commits before the report of the waiting step: a person can decide in between."""
    put_in_force(db, rule("ask", "needs_approval"))
    approve = deciding(PLACE, "ben", "quick")

    @app.operation
    async def book(ctx: sw.Context, word: str):
        try:
            return await ctx.act("ledger", "put", word)
        finally:
            if ctx.task_type == "RUN":
                db.execute(approve, (open_approval(db), word))

    app.publish(sw.Workflow("one", sw.Operation("book")))

    async def scenario():
        async with sw.Worker(app):
            assert (await (await app.start("one", {"word": "approve"})).result())["entry"] == "approve"
            with pytest.raises(sw.Conflict):
                await (await app.start("one", {"word": "reject"})).result()

    play(scenario)
    assert len(ledger.keys()) == 1
    assert failure(db)[0] == "approval_rejected"


def test_cancelling_the_run_cancels_the_approval_of_its_action(app, play, db, ledger, acts):
    put_in_force(db, rule("ask", "needs_approval"))

    async def scenario():
        async with sw.Worker(app):
            run = await acts({})
            await until_async(lambda: state_of(db) == "waiting")
            approval = open_approval(db)
            await run.cancel()
            assert (await app.approval(approval)).state_code == "cancelled"
            with pytest.raises(sw.Conflict):
                await app.acting_as("ben").approval_decide(await app.approval(approval), "approve", "ben")

    play(scenario)
    assert ledger.keys() == []


def test_a_refused_effect_fails_for_good_and_an_unavailable_one_is_retried(app, play, db, turn, ledger, acts):
    put_in_force(db, rule("free", "allow"))

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict):
                await (await acts({"fields": {"fail": "refused"}})).result()
            assert (failure(db)[0], receipts(db)[0][0]) == ("effect_refused", "void")
            run = await acts({"fields": {"fail": "unavailable"}})
            await until_async(lambda: (failure(db) or "")[0] == "effect_unavailable")
            late = db.execute(
                "select next_eligible_at - failed_at from unit_failure order by failed_at desc limit 1"
            ).fetchone()
            assert late[0].total_seconds() == 5
            await run.cancel()

    play(scenario)
    assert ledger.keys() == []
    assert {state for state, _ in receipts(db)} == {"void"}
    assert db.execute("select sum(write_count) from run_write_count").fetchone() == (0,)


def test_a_run_makes_no_more_writes_than_its_cap(app, play, db, ledger, acts):
    put_in_force(db, rule("free", "allow"))
    db.execute("update tenant set max_writes_per_run = 2 where tenant_id = 1")

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict):
                await (await acts(*[{"target": name} for name in "ABC"])).result()
            assert verdicts(db)[-1][:2] == ("deny", "writes_exhausted")
            db.execute("update workflow_registry set max_writes_per_run = 3")
            await (await acts(*[{"target": name} for name in "ABC"], {"op": "read"})).result()

    play(scenario)
    assert len(ledger.keys()) == 2 + 3


@pytest.mark.requirement("RT-09")
def test_an_effect_is_reversed_under_policy_with_its_own_receipt(app, play, db, ledger, acts):
    put_in_force(
        db,
        rule("undo", "needs_approval", "$.reverses > 0", priority=1),
        rule("free", "allow", priority=2),
    )

    async def scenario():
        async with sw.Worker(app):
            await (await acts({"target": "A"}, {"target": "B", "op": "blind"})).result()
            blind, done = await app.receipts()
            with pytest.raises(sw.Conflict, match="cannot be reversed"):
                await app.reverse(blind.receipt_id)
            job = await app.acting_as("ada").reverse(done.receipt_id, reason="wrong order")
            assert (await app.acting_as("ada").reverse(done.receipt_id)).id == job.id
            await until_async(lambda: open_approval(db))
            approval = open_approval(db)
            with pytest.raises(sw.PermissionDenied):
                await app.acting_as("ada").approval_decide(await app.approval(approval), "approve", "ada")
            await app.acting_as("ben").approval_decide(await app.approval(approval), "approve", "ben")
            await job.result()
            undone = await app.receipt(done.receipt_id)
            undoing = await app.receipt(undone.reversed_by_receipt_id)
            assert undone.state_code == "reversed"
            assert (undoing.operation, undoing.reverses_receipt_id) == ("remove", done.receipt_id)
            assert (undoing.state_code, undoing.requested_by) == ("confirmed", "ada")
            with pytest.raises(sw.Conflict, match="reversed already"):
                await app.reverse(done.receipt_id)

    play(scenario)
    assert [line["op"] for line in ledger.lines()] == ["put", "blind", "remove"]


@pytest.mark.requirement("RT-06")
def test_a_denied_reversal_undoes_nothing_and_can_be_requested_again(app, play, db, ledger, acts):
    put_in_force(db, rule("once", "allow", '$.operation == "put"'))

    async def scenario():
        async with sw.Worker(app):
            await (await acts({})).result()
            (done,) = await app.receipts()
            job = await app.reverse(done.receipt_id)
            with pytest.raises(sw.Conflict):
                await job.result()
            put_in_force(db, rule("all", "allow"))
            again = await app.reverse(done.receipt_id)
            assert again.id != job.id
            await again.result()
            assert (await app.receipt(done.receipt_id)).state_code == "reversed"

    play(scenario)


def test_a_reversal_without_a_worker_tells_what_it_waits_for(app, play, db, ledger, acts, dsn):
    put_in_force(db, rule("all", "allow"))

    async def scenario():
        async with sw.Worker(app):
            await (await acts({})).result()
        return (await app.receipts())[0].receipt_id

    receipt = short(play(scenario))
    done = stepwell("reverse", receipt, "--wait-seconds", "1.1", env=client_environment(dsn))
    assert done.returncode == 0, done.stderr
    why = "stepwell.reverse can run, but no live worker serves executor default."
    assert done.stderr == f"receipt {receipt} is not reversed yet: {why} Ctrl-C stops waiting.\n"
    (job_id,) = db.execute("select job_id from job_queue where operation = 'stepwell.reverse'").fetchone()
    assert done.stdout == (
        f"receipt {receipt} will be reversed by job {short(job_id)}, which has not ended: {why}\n"
    )
