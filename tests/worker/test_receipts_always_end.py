"""However an attempt ends, its receipt does not stay intended: it is confirmed, void or unconfirmed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import stepwell as sw
from stepwell.config import Settings
from stepwell.connectors.base import Action, Effect
from stepwell.govern.actions import Acting
from stepwell.store.health.examine import examine
from stepwell.store.health.finding import Level
from stepwell.testing import check_invariants
from tests.sql.drive import Engine, Lease, operation
from tests.sql.graphs.publishing import publish
from tests.support.wait import until_async
from tests.worker.acting import Ledger, put_in_force, receipts, rule, state_of
from tests.worker.test_acting_crashes import Fate, Mortal, expire, lease_of

End = Callable[[Engine, int, Any], object]


@pytest.fixture
def engine(db) -> Engine:
    put_in_force(db, rule("free", "allow"))
    return Engine(db)


class Interrupted(BaseException):
    """Stops the handler in the middle of the effect, as the cancellation of its task does."""


class LedgerInTheMiddle(Ledger):
    """The effect happens; then the attempt is interrupted."""

    async def perform(self, action: Action) -> Effect:
        await super().perform(action)
        raise Interrupted


def interrupted(engine: Engine, ledger: Ledger) -> tuple[int, Any, Acting]:
    """An attempt whose effect has happened and whose receipt is intended."""
    taken = lease_of(engine)
    assert taken is not None
    session, lease = taken
    acting = Acting(lease, Mortal(engine.db, session, ledger, Fate(0)))
    acting._worker._fate.may_die = lambda place: None  # type: ignore[attr-defined]
    with pytest.raises(Interrupted):
        asyncio.run(acting.act("ledger", "add", "A", {}))
    assert [state for state, _ in receipts(engine.db)] == ["intended"]
    return session, lease, acting


def transition(engine: Engine, session: int, lease: Lease) -> None:
    verdict = engine.one(
        "select fn_state_transition_validate(%s, 'step', 'in_progress', 'cancelled', 'reviewer', 'rpc',"
        ' \'workflow_cancel\', \'{"audit_ref": "x", "actor": "ben"}\')',
        (lease.unit_id,),
    )
    assert verdict["ok"], verdict


ENDS: dict[str, End] = {
    "its run is cancelled": lambda e, s, x: e.one(
        "select fn_run_cancel(1, %s, 'cli:ben')", (x.unit_id >> 20,)
    ),
    "its step is cancelled": lambda e, s, x: e.one("select fn_job_cancel(1, %s, 'cli:ben')", (x.unit_id,)),
    "its step is changed by hand": transition,
    "it fails and is tried again": lambda e, s, x: e.report(s, (x, "failed", {"error": {"type": "E"}})),
    "it fails for good": lambda e, s, x: e.report(s, (x, "dead", {"error": {"type": "E"}})),
    "it is released": lambda e, s, x: e.report(s, (x, "released", None)),
    "it waits for something else": lambda e, s, x: e.report(s, (x, "waiting", {"event": "other"})),
    "its worker is lost": lambda e, s, x: expire(e, s),
    "its worker stops": lambda e, s, x: e.one("select fn_worker_close(%s)", (s,)),
    "it completes without it": lambda e, s, x: (e.complete(s, x), e.one("select fn_receipts_recover()")),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_receipt_is_never_intended_after_its_attempt(engine: Engine, dsn, tmp_path, end: End):
    engine.publish("flow", operation("a"))
    engine.start("flow")
    ledger = LedgerInTheMiddle(tmp_path / "ledger")
    session, lease, acting = interrupted(engine, ledger)
    end(engine, session, lease)
    assert [state for state, _ in receipts(engine.db)] == ["unconfirmed"]
    assert check_invariants(dsn) == []
    # The effect has happened: its worker can still confirm it.
    receipt_id = engine.one("select receipt_id from action_receipt")
    asyncio.run(acting._confirm(receipt_id, ledger.effect(Action(1, "ledger", "add", "A"))))
    assert [state for state, _ in receipts(engine.db)] == ["confirmed"]
    assert check_invariants(dsn) == []


def test_the_items_of_a_cancelled_map_leave_no_intended_receipt(engine: Engine, dsn, tmp_path):
    each = sw.Map("$.input.items", sw.Operation("item", id="item"), id="each")
    publish(engine, each, failure_policy="abort-dependents")
    engine.start("w", {"items": [1, 2]})
    ledger = LedgerInTheMiddle(tmp_path / "ledger")
    interrupted(engine, ledger)
    session = engine.worker()
    (other,) = engine.claim(session, 1)
    engine.report(session, (other, "dead", {"error": {"type": "E"}}))
    assert [state for state, _ in receipts(engine.db)] == ["unconfirmed"]
    assert check_invariants(dsn) == []


def test_a_cancelled_run_leaves_its_effect_unconfirmed_for_a_person(app, play, db, dsn, ledger, acts):
    """This happens without a crash: the handler is stopped while the other system works."""
    put_in_force(db, rule("free", "allow"))
    performed = asyncio.Event()

    class Slow:
        name = "slow"
        operations = ledger.operations
        canonical = ledger.canonical

        async def perform(self, action: Action) -> Effect:
            effect = await ledger.perform(action)
            performed.set()
            await asyncio.Event().wait()
            return effect

        async def confirm(self, action: Action) -> Effect | None:
            return None

    app.connector(Slow())

    @app.operation
    async def pay(ctx: sw.Context) -> None:
        await ctx.act("slow", "add", "A", {})

    app.publish(sw.Workflow("pays", sw.Operation("pay", id="pay")))

    async def scenario():
        async with sw.Worker(app, lease_seconds=3):
            run = await app.start("pays")
            await performed.wait()
            await run.cancel()
            await until_async(lambda: state_of(db, "pay") == "cancelled")
            (receipt,) = await app.receipts()
            assert (receipt.state_code, receipt.waits_for) == ("unconfirmed", "person")
            assert check_invariants(dsn) == []
            await app.acting_as("ben").receipt_settle(
                receipt.receipt_id, "confirmed", "it is in the ledger", result=None
            )

    play(scenario)
    assert [state for state, _ in receipts(db)] == ["confirmed"]


def test_the_doctor_counts_effects_that_only_a_person_can_settle(engine: Engine, dsn, tmp_path):
    engine.publish("flow", operation("a"))
    engine.start("flow")

    def finding() -> tuple[Level, str]:
        settings = Settings(database_url=dsn, data_dir=tmp_path)
        return next((f.level, f.detail) for f in examine(settings, dsn) if f.check == "receipts")

    assert finding() == (Level.OK, "no receipt waits for a person")
    session, lease, _ = interrupted(engine, LedgerInTheMiddle(tmp_path / "ledger"))
    engine.report(session, (lease, "failed", {"error": {"type": "E"}}))
    # The next attempt will resolve the effect.
    assert finding()[0] is Level.OK
    engine.one("select fn_run_cancel(1, %s, 'cli:ben')", (lease.unit_id >> 20,))
    assert finding() == (
        Level.WARNING,
        "1 effects may or may not have happened, and only a person can find out",
    )
