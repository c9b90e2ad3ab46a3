"""An effect whose answer was lost is resolved by its key, by confirming it or by a person, under policy."""

from __future__ import annotations

import pytest

import stepwell as sw
from stepwell.connectors.base import Action, EffectUnavailable, EffectUnknown
from tests.support.wait import until_async
from tests.worker.acting import Ledger, failure, put_in_force, receipts, rule, state_of, verdicts


def lose(ledger: Ledger, *, effect: bool) -> list[str]:
    """Loses the first answer, with or without its effect; returns the list of all later calls."""
    calls: list[str] = []

    def once(action: Action) -> None:
        calls.append(f"perform {action.operation}")
        if len(calls) == 1:
            raise EffectUnknown("the line broke")

    if effect:
        ledger.after = once
    else:
        ledger.before = once
    ledger.asked = lambda action: calls.append(f"confirm {action.operation}")
    return calls


@pytest.mark.requirement("RT-05")
@pytest.mark.parametrize(
    ("operation", "effect", "asked"),
    [
        pytest.param("put", True, ["perform put", "perform put"], id="repeated with its key, done"),
        pytest.param("put", False, ["perform put", "perform put"], id="repeated with its key, not done"),
        pytest.param("add", True, ["perform add", "confirm add"], id="confirmed, done"),
        pytest.param("add", False, ["perform add", "confirm add", "perform add"], id="confirmed, not done"),
    ],
)
def test_the_next_attempt_resolves_the_effect(app, play, db, turn, ledger, acts, operation, effect, asked):
    put_in_force(db, rule("free", "allow"))
    calls = lose(ledger, effect=effect)

    async def scenario():
        async with sw.Worker(app):
            run = await acts({"op": operation, "fields": {"amount": 3}})
            await until_async(lambda: state_of(db) == "failed")
            assert failure(db)[0] == "effect_unknown"
            assert receipts(db)[0][0] == "unconfirmed"
            turn.on(minutes=1)
            assert await run.result() == [{"entry": "A", "amount": 3}]

    play(scenario)
    assert calls == asked
    assert len(ledger.keys()) == 1
    assert [state for state, _ in receipts(db)] == ["confirmed"]
    assert db.execute("select write_count from run_write_count").fetchone() == (1,)


@pytest.mark.requirement("RT-05")
@pytest.mark.parametrize("outcome", ["confirmed", "void"])
def test_a_person_settles_an_effect_that_cannot_be_confirmed(app, play, db, ledger, acts, outcome):
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
            # A confirmation needs the result for the handler; an effect that did not happen has none.
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
def test_under_a_stricter_policy_the_effect_is_confirmed_and_not_repeated(
    app, play, db, turn, ledger, acts, effect
):
    """An effect of the old rules is recorded; an action that was not performed is judged by the new rules."""
    put_in_force(db, rule("free", "allow"))
    calls = lose(ledger, effect=effect)

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
    assert calls == ["perform put", "confirm put"]
    assert len(ledger.keys()) == (1 if effect else 0)
    assert receipts(db)[0][0] == ("confirmed" if effect else "void")
    assert verdicts(db)[-1] == ("deny", "rule", "closed")


def test_an_unavailable_second_try_leaves_the_first_unconfirmed(app, play, db, turn, ledger, acts):
    put_in_force(db, rule("free", "allow"))
    calls = lose(ledger, effect=True)

    def closed(action: Action) -> None:
        if len(calls) == 1:
            calls.append("closed")
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


def test_an_unexpected_error_of_a_connector_leaves_the_effect_unknown(app, play, db, turn, ledger, acts):
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
