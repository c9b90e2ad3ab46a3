"""A worker can die at any point around an effect: the effect happens exactly once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.connectors.base import Action, Connector, Effect
from stepwell.errors import DatabaseUnavailable, LeaseLost
from stepwell.govern import actions
from stepwell.govern.actions import Acting, Awaiting
from stepwell.store.calls.leases import Lease
from stepwell.store.connection import perform
from stepwell.store.connection.call import Call
from stepwell.testing import check_invariants
from tests.sql.drive import Engine, operation
from tests.support.deciding import deciding
from tests.support.sample import some
from tests.worker.acting import Ledger, put_in_force, rule

# Fewer do not reach each boundary.
SEEDS = some(120, 500)
CRASH_LIMIT = 6


class Crash(BaseException):
    """Stands for the death of the process: nothing after it runs."""


class Fate:
    """Decides at every boundary whether the process dies there, and stores where it did."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.deaths: list[str] = []

    def may_die(self, place: str) -> None:
        if len(self.deaths) < CRASH_LIMIT and self.random.random() < 0.3:
            self.deaths.append(place)
            raise Crash(place)


class Mortal:
    """The database calls of a worker: each commits by itself, and the process can die before or after it."""

    def __init__(
        self, db: psycopg.Connection[Any], session_key: int, connector: Connector, fate: Fate
    ) -> None:
        self._db = db
        self._fate = fate
        self.session_key = session_key
        self.connectors = {connector.name: connector}

    async def perform_action(self, call: Call[Any], *, is_limited: bool = False) -> Any:
        return await self.perform(call)

    async def perform(self, call: Call[Any]) -> Any:
        name = call.text.split("stepwell.")[1].split("(")[0]
        self._fate.may_die(f"before {name}")
        found = await perform.on_connection(self._db, call)
        self._fate.may_die(f"after {name}")
        return found


class MortalLedger(Ledger):
    """The process dies before the effect, between effect and answer, or while it confirms the effect."""

    fate: Fate

    async def perform(self, action: Action) -> Effect:
        self.fate.may_die("before the effect")
        found = await super().perform(action)
        self.fate.may_die("after the effect")
        return found

    async def confirm(self, action: Action) -> Effect | None:
        self.fate.may_die("before confirm")
        found = await super().confirm(action)
        self.fate.may_die("after confirm")
        return found


@pytest.fixture
def engine(db) -> Engine:
    return Engine(db)


def lease_of(engine: Engine) -> tuple[int, Lease] | None:
    session = engine.worker()
    rows = engine.db.execute("select * from fn_job_claim(%s, 1)", (session,)).fetchall()
    return (session, Lease._make(rows[0][1:])) if rows else None


def expire(engine: Engine, session: int) -> None:
    """Lets the session expire; the keeper recovers its leases."""
    engine.db.execute(
        "update worker_session set expires_at = stepwell.now() - interval '1 s' where session_id = ("
        "select _session_id_of(%s))",
        (session,),
    )
    engine.one("select fn_leases_recover()")


def person_settles(engine: Engine, ledger: Ledger) -> bool:
    """A person looks into the ledger and settles the receipt."""
    row = engine.db.execute(
        "select receipt_id, idempotency_key from v_action_receipt where state_code = 'unconfirmed'"
    ).fetchone()
    if row is None:
        return False
    outcome = "confirmed" if ledger.has(row[1]) else "void"
    engine.one(
        "select fn_receipt_settle(1, %s, %s, 'ben', 'looked into the ledger', null, %s)",
        (row[0], outcome, Jsonb("the ledger has it") if outcome == "confirmed" else None),
    )
    return True


def run_to_the_end(engine: Engine, ledger: Ledger, fate: Fate, operation: str, amount: int) -> Any:
    """Makes attempts of one job until one completes; returns its result."""
    for _ in range(40):
        taken = lease_of(engine)
        if taken is None:
            assert person_settles(engine, ledger), "nothing can be claimed and no receipt waits for a person"
            continue
        session, lease = taken
        acting = Acting(lease, Mortal(engine.db, session, ledger, fate))
        try:
            result = asyncio.run(acting.act("ledger", operation, "A", {"amount": amount}))
            fate.may_die("before the report")
        except Crash:
            expire(engine, session)
        except Awaiting as awaiting:
            body = {"event": awaiting.event, "facet": "waiting_human"}
            engine.report(session, (lease, "waiting", body))  # type: ignore[arg-type]
        else:
            engine.complete(session, lease, output=result)  # type: ignore[arg-type]
            return result
    raise AssertionError(f"the job does not end; the process died at {fate.deaths}")


# Five hundred crashes take more than the usual 120 s.
@pytest.mark.timeout(900)
@pytest.mark.requirement("RT-05")
def test_every_effect_happens_once_despite_hundreds_of_random_crashes(engine: Engine, dsn, tmp_path):
    put_in_force(engine.db, rule("free", "allow"))
    ledger = MortalLedger(tmp_path / "ledger")
    crashed: dict[str, int] = {}
    for seed in range(SEEDS):
        fate = ledger.fate = Fate(seed)
        operation = ("put", "add", "blind")[seed % 3]
        before = len(ledger.keys())
        engine.enqueue("op", p_max_attempts=100)
        result = run_to_the_end(engine, ledger, fate, operation, seed)
        assert len(ledger.keys()) == before + 1, f"seed {seed}, {operation}, deaths {fate.deaths}"
        # An effect that a person confirmed has the result that the person named.
        assert result in ({"entry": "A", "amount": seed}, "the ledger has it")
        assert result != "the ledger has it" or operation == "blind"
        for place in fate.deaths:
            crashed[place] = crashed.get(place, 0) + 1
    assert len(set(ledger.keys())) == SEEDS
    assert engine.one("select count(*) from v_action_receipt where state_code = 'confirmed'") == SEEDS
    assert engine.one("select count(*) from action_receipt") == SEEDS
    # The process died at each boundary at least once.
    assert {
        "before fn_action_propose", "after fn_action_propose", "before the effect", "after the effect",
        "before fn_action_settle", "after fn_action_settle", "before confirm", "after confirm",
        "before the report",
    } <= set(crashed)  # fmt: skip
    assert sum(crashed.values()) >= SEEDS
    assert check_invariants(dsn) == []


def half_done(engine: Engine, ledger: Ledger, where: str, operation: str = "add") -> tuple[int, Acting]:
    """An attempt that stops at this place, as the attempt of a stopped process."""
    engine.enqueue("op", p_max_attempts=100)
    taken = lease_of(engine)
    assert taken is not None
    session, lease = taken
    acting = Acting(lease, Mortal(engine.db, session, ledger, Fate(0)))
    acting._worker._fate.may_die = die_at(where)  # type: ignore[attr-defined]
    with pytest.raises(Crash):
        asyncio.run(acting.act("ledger", operation, "A", {}))
    acting._worker._fate.may_die = lambda place: None  # type: ignore[attr-defined]
    return session, acting


def die_at(where: str) -> Callable[[str], None]:
    def may_die(place: str) -> None:
        if place == where:
            raise Crash(place)

    return may_die


@pytest.mark.requirement("RT-05")
def test_a_late_confirmation_counts_until_another_worker_has_the_lease(engine: Engine, dsn, tmp_path):
    """The effect has happened, so its worker can confirm it although it lost its lease."""
    put_in_force(engine.db, rule("free", "allow"))
    ledger = Ledger(tmp_path / "ledger")
    session, acting = half_done(engine, ledger, "before fn_action_settle")
    expire(engine, session)
    (receipt_id, state) = engine.db.execute("select receipt_id, state_code from v_action_receipt").fetchone()  # type: ignore[misc]
    assert state == "unconfirmed"
    asyncio.run(acting._confirm(receipt_id, ledger.effect(Action(1, "ledger", "add", "A"))))
    new_session, new_lease = lease_of(engine)  # type: ignore[misc]
    again = Acting(new_lease, Mortal(engine.db, new_session, ledger, Fate(0)))
    again._worker._fate.may_die = lambda place: None  # type: ignore[attr-defined]
    assert asyncio.run(again.act("ledger", "add", "A", {})) == {"entry": "A", "amount": None}
    assert len(ledger.keys()) == 1


@pytest.mark.requirement("RT-05", "LN-05")
def test_a_worker_whose_lease_was_taken_over_settles_nothing(engine: Engine, dsn, tmp_path):
    put_in_force(engine.db, rule("free", "allow"))
    ledger = Ledger(tmp_path / "ledger")
    session, acting = half_done(engine, ledger, "before fn_action_settle")
    expire(engine, session)
    new_session, new_lease = lease_of(engine)  # type: ignore[misc]
    again = Acting(new_lease, Mortal(engine.db, new_session, ledger, Fate(0)))
    again._worker._fate.may_die = die_at("after fn_action_propose")  # type: ignore[attr-defined]
    with pytest.raises(Crash):
        asyncio.run(again.act("ledger", "add", "A", {}))
    receipt_id = engine.one("select receipt_id from action_receipt")
    with pytest.raises(LeaseLost):
        asyncio.run(acting._settle(receipt_id, "void", {}))
    assert engine.one("select state_code from v_action_receipt") == "unconfirmed"


class Cut(Mortal):
    """The connection breaks once for each call, after the commit: the answer is lost, the change is not."""

    def __init__(self, db: psycopg.Connection[Any], session_key: int, connector: Connector) -> None:
        super().__init__(db, session_key, connector, Fate(0))
        self._fate.may_die = lambda place: None  # type: ignore[method-assign]
        self.cuts: list[str] = []

    async def perform_action(self, call: Call[Any], *, is_limited: bool = False) -> Any:
        return await self.perform(call)

    async def perform(self, call: Call[Any]) -> Any:
        found = await super().perform(call)
        if call.text not in self.cuts:
            self.cuts.append(call.text)
            raise DatabaseUnavailable("the connection was cut")
        return found


@pytest.mark.requirement("RT-05")
def test_a_lost_answer_of_the_database_is_read_again(engine: Engine, dsn, tmp_path, monkeypatch):
    """The worker repeats the call and gets the same answer: no effect waits for a person."""
    monkeypatch.setattr(actions, "PAUSES_SECONDS", (0.0,))
    put_in_force(engine.db, rule("free", "allow"))
    ledger = Ledger(tmp_path / "ledger")
    engine.enqueue("op", p_max_attempts=100)
    session, lease = lease_of(engine)  # type: ignore[misc]
    desk = Cut(engine.db, session, ledger)
    assert asyncio.run(Acting(lease, desk).act("ledger", "blind", "A", {})) == {"entry": "A", "amount": None}
    assert len(desk.cuts) == 2
    assert len(ledger.keys()) == 1
    assert engine.one("select state_code from v_action_receipt") == "confirmed"
    assert engine.one("select try_count from action_receipt") == 1
    assert engine.faults() == {}


@pytest.mark.requirement("SM-12")
def test_a_step_reopened_for_correction_acts_again(engine: Engine, dsn, tmp_path):
    """A correction is new work: its actions have new keys, and the receipt of the first effect is kept."""
    put_in_force(engine.db, rule("free", "allow"))
    ledger = Ledger(tmp_path / "ledger")
    engine.publish("w", operation("a"))
    run_id = engine.start("w")

    def act_and_end(amount: int) -> None:
        session, lease = lease_of(engine)  # type: ignore[misc]
        desk = Mortal(engine.db, session, ledger, Fate(0))
        desk._fate.may_die = lambda place: None  # type: ignore[method-assign]
        result = asyncio.run(Acting(lease, desk).act("ledger", "put", "A", {"amount": amount}))
        engine.complete(session, lease, output=result)  # type: ignore[arg-type]

    act_and_end(5)
    unit = engine.unit(run_id, "a")
    engine.one("select fn_person_set(1, 'ada', %s)", (["reviewer"],))
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (unit,))
    engine.one(deciding("approve", "ben"), (approval,))
    engine.one("select fn_step_reopen_for_correction(1, %s, 'ada', 'data_error', %s)", (unit, approval))
    act_and_end(6)
    assert len(set(ledger.keys())) == 2
    assert engine.one("select count(*) from v_action_receipt where state_code = 'confirmed'") == 2
    assert engine.faults() == {}


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        ("delete from action_receipt", "no particulars"),
        ("update run_write_count set write_count = 7", "counts 7 writes, its receipts 1"),
        ("update action_receipt set reversed_by_receipt_id = 5", "but receipt 5 reversed it"),
    ],
)
def test_the_invariants_name_a_planted_fault_of_a_receipt(
    engine: Engine, dsn, tmp_path, plant: str, words: str
):
    put_in_force(engine.db, rule("free", "allow"))
    ledger = MortalLedger(tmp_path / "ledger")
    ledger.fate = Fate(0)
    ledger.fate.deaths = [""] * CRASH_LIMIT
    engine.enqueue("op")
    run_to_the_end(engine, ledger, ledger.fate, "put", 1)
    assert engine.faults() == {}
    engine.db.execute(plant)
    assert words in engine.faults()["effects_agree_with_their_receipts"]


def test_without_the_lease_no_receipt_is_written(engine: Engine, dsn, tmp_path):
    put_in_force(engine.db, rule("free", "allow"))
    ledger = Ledger(tmp_path / "ledger")
    engine.enqueue("op", p_max_attempts=100)
    session, lease = lease_of(engine)  # type: ignore[misc]
    expire(engine, session)
    acting = Acting(lease, Mortal(engine.db, session, ledger, Fate(0)))
    acting._worker._fate.may_die = lambda place: None  # type: ignore[attr-defined]
    with pytest.raises(LeaseLost):
        asyncio.run(acting.act("ledger", "add", "A", {}))
    assert ledger.keys() == []
    assert engine.one("select count(*) from action_receipt") == 0
