"""Effects whose answer was lost: found out by the key, by asking, or by a person; policy is asked again."""

from __future__ import annotations

import pytest

import stepwell as sw
from stepwell.connectors.base import Action, EffectUnavailable, EffectUnknown
from tests.support.wait import until_async
from tests.worker.acting import Ledger, failure, put_in_force, receipts, rule, state_of, verdicts


def lose(ledger: Ledger, *, effect: bool) -> list[str]:
    """The first answer is lost, with or without its effect; returns what is asked afterwards."""
    told: list[str] = []

    def once(action: Action) -> None:
        told.append(f"perform {action.operation}")
        if len(told) == 1:
            raise EffectUnknown("the line broke")

    if effect:
        ledger.after = once
    else:
        ledger.before = once
    ledger.asked = lambda action: told.append(f"confirm {action.operation}")
    return told


@pytest.mark.requirement("RT-05")
@pytest.mark.parametrize(
    ("operation", "effect", "asked"),
    [
        pytest.param("put", True, ["perform put", "perform put"], id="by its key, done"),
        pytest.param("put", False, ["perform put", "perform put"], id="by its key, not done"),
        pytest.param("add", True, ["perform add", "confirm add"], id="by asking, done"),
        pytest.param("add", False, ["perform add", "confirm add", "perform add"], id="by asking, not done"),
    ],
)
def test_the_next_attempt_finds_out(app, play, db, turn, ledger, acts, operation, effect, asked):
    put_in_force(db, rule("free", "allow"))
    told = lose(ledger, effect=effect)

    async def scenario():
        async with sw.Worker(app):
            run = await acts({"op": operation, "fields": {"amount": 3}})
            await until_async(lambda: state_of(db) == "failed")
            assert failure(db)[0] == "effect_unknown"
            assert receipts(db)[0][0] == "unconfirmed"
            turn.on(minutes=1)
            assert await run.result() == [{"entry": "A", "amount": 3}]

    play(scenario)
    assert told == asked
    assert len(ledger.keys()) == 1
    assert [state for state, _ in receipts(db)] == ["confirmed"]
    assert db.execute("select write_count from run_write_count").fetchone() == (1,)


@pytest.mark.requirement("RT-05")
@pytest.mark.parametrize("outcome", ["confirmed", "void"])
def test_what_cannot_be_found_out_is_for_a_person_to_say(app, play, db, ledger, acts, outcome):
    put_in_force(db, rule("free", "allow"))
    lose(ledger, effect=outcome == "confirmed")

    async def scenario():
        async with sw.Worker(app):
            run = await acts({"op": "blind", "fields": {"amount": 3}})
            await until_async(lambda: state_of(db) == "waiting")
            (receipt,) = await app.receipts(state="unconfirmed")
            why = db.execute(
                "select sentence_en from fn_why_not_running(%s)", (receipt.receipt_id,)
            ).fetchone()
            assert "finds out whether it happened" in why[0]
            assert receipt.waits_for == "person"
            ben = app.acting_as("ben")
            found = {"result": {"entry": "A", "amount": 3}} if outcome == "confirmed" else {}
            with pytest.raises(sw.InvalidInput):
                await ben.receipt_settle(receipt.receipt_id, outcome, " ", **found)
            # Who confirms says what the handler gets; what did not happen has no result.
            with pytest.raises(sw.InvalidInput, match="result"):
                await ben.receipt_settle(
                    receipt.receipt_id, outcome, "I looked", **({} if found else {"result": 1})
                )
            assert await ben.receipt_settle(receipt.receipt_id, outcome, "I looked", **found) == outcome
            assert await run.result() == [{"entry": "A", "amount": 3}]
            with pytest.raises(sw.Conflict, match="is confirmed"):
                await app.acting_as("ben").receipt_settle(receipt.receipt_id, "void", "I looked again")

    play(scenario)
    assert len(ledger.keys()) == 1


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize("effect", [True, False])
def test_a_policy_that_has_changed_meanwhile_lets_nothing_be_done_again(
    app, play, db, turn, ledger, acts, effect
):
    """What was done under the old rules is recorded; what was not done is judged by the new ones."""
    put_in_force(db, rule("free", "allow"))
    told = lose(ledger, effect=effect)

    async def scenario():
        async with sw.Worker(app):
            run = await acts({"op": "put"})
            await until_async(lambda: state_of(db) == "failed")
            put_in_force(db, rule("closed", "deny"))
            turn.on(minutes=1)
            if effect:
                await run.result()
            else:
                with pytest.raises(sw.Conflict):
                    await run.result()

    play(scenario)
    assert told == ["perform put", "confirm put"]
    assert len(ledger.keys()) == (1 if effect else 0)
    assert receipts(db)[0][0] == ("confirmed" if effect else "void")
    assert verdicts(db)[-1] == ("deny", "rule", "closed")


def test_a_try_that_surely_did_nothing_says_nothing_of_the_one_before(app, play, db, turn, ledger, acts):
    put_in_force(db, rule("free", "allow"))
    told = lose(ledger, effect=True)

    def closed(action: Action) -> None:
        if len(told) == 1:
            told.append("closed")
            raise EffectUnavailable("not now")

    ledger.before = closed

    async def scenario():
        async with sw.Worker(app):
            ledger.before = lambda action: None
            run = await acts({"op": "put"})
            await until_async(lambda: state_of(db) == "failed")
            ledger.before = closed
            turn.on(minutes=1)
            await until_async(lambda: failure(db)[0] == "effect_unavailable")
            assert receipts(db)[0][0] == "unconfirmed"
            turn.on(minutes=5)
            await run.result()

    play(scenario)
    assert len(ledger.keys()) == 1


def test_a_connector_that_breaks_in_an_unforeseen_way_leaves_doubt(app, play, db, turn, ledger, acts):
    put_in_force(db, rule("free", "allow"))
    broken = []

    def crash(action: Action) -> None:
        if not broken:
            broken.append(action.operation)
            raise ZeroDivisionError("secret things")

    ledger.after = crash

    async def scenario():
        async with sw.Worker(app):
            run = await acts({"op": "add"})
            await until_async(lambda: state_of(db) == "failed")
            assert failure(db) == ("effect_unknown", "connector ledger raised ZeroDivisionError")
            turn.on(minutes=1)
            await run.result()

    play(scenario)
    assert len(ledger.keys()) == 1
