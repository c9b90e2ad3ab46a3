"""What the engine writes is intact, and an edit of it is found: job graphs, holds, corrections, retention."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.govern.sealing import check, seal
from tests.sql.drive import Engine, human, operation
from tests.sql.holds.conftest import Holding
from tests.sql.job_graphs.graphing import any_of, emitted, job
from tests.sql.people.asking import People
from tests.support.clock import Clock
from tests.support.databases import configure
from tests.support.deciding import deciding

HOUR = 3600


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


@pytest.fixture
def people(engine: Engine) -> People:
    made = People(engine)
    made.add("ada", "office")
    made.add("ben", "office", "lead", "reviewer")
    return made


@pytest.fixture
def intact(db: psycopg.Connection) -> Callable[..., None]:
    """Everything is sealed and intact; each of these edits is found."""

    def act(*edits: str) -> None:
        seal(db)
        assert check(db).problems == []
        for edit in edits:
            with db.transaction(force_rollback=True):
                db.execute("set session_replication_role = replica")
                assert db.execute(edit.encode()).rowcount > 0, edit
                assert check(db).problems != [], edit

    return act


def test_a_graph_of_jobs_with_delays_and_any_of(engine: Engine, intact: Callable[..., None]):
    emitted(
        engine, job("a"), job("b"), job("c", "a", "b", delay_seconds=60), any_of("d", "a", "b"),
        any_of("e", "a", "b", delay_seconds=30),
    )  # fmt: skip
    edits = [
        f"update workflow_step_def set pending_count = pending_count + 1 where step_id = '{step}'"
        for step in "abcde"
    ]
    intact(*edits)
    engine.drain(engine.worker())
    intact(*edits)


@pytest.fixture
def signed(engine: Engine, people: People) -> int:
    """A step that ada has to sign within an hour."""
    engine.publish("w", human("sign", role="office", deadline=HOUR), operation("after"))
    unit = engine.unit(engine.start("w"), "sign")
    people.claim(unit, "ada")
    return unit


LATER = "update work_unit set deadline_at = deadline_at + interval '1 hour' where deadline_at is not null"
SOME = "update work_unit set deadline_at = now() where unit_id = {}"
NONE = "update work_unit set deadline_at = null where unit_id = {}"


def test_a_deadline_that_a_hold_moves(
    engine: Engine, people: People, clock: Clock, intact: Callable[..., None], signed: int
):
    holding = Holding(engine)
    hold = holding.open("workflow", "w")
    intact(SOME.format(signed))
    clock.advance(hours=5)
    holding.release(hold)
    holding.end()
    intact(LATER, NONE.format(signed))
    people.deadline_change(signed, "ada", clock.now())
    intact(LATER, NONE.format(signed))
    again = holding.open("tenant", "default")
    intact(SOME.format(signed))
    holding.release(again)
    holding.end()
    intact(LATER, NONE.format(signed))


def test_a_held_step_that_is_opened_again(
    engine: Engine, people: People, clock: Clock, intact: Callable[..., None], signed: int
):
    people.deadline_change(signed, "ada", clock.now())
    people.complete(signed, "ada", {})
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (signed,))
    engine.one(deciding("approve", "ben"), (approval,))
    people.reopen_for_correction(signed, "ben", "data_error", approval)
    intact(NONE.format(signed))
    holding = Holding(engine)
    hold = holding.open("workflow", "w")
    intact(SOME.format(signed))
    clock.advance(hours=1)
    holding.release(hold)
    holding.end()
    intact(LATER, NONE.format(signed))


def test_one_approval_for_the_whole_run(engine: Engine, people: People, intact: Callable[..., None]):
    engine.publish("w", human("sign", role="office"), human("pack", role="office"))
    run_id = engine.start("w")
    steps = [engine.unit(run_id, name) for name in ("sign", "pack")]
    for unit in steps:
        people.claim(unit, "ada")
        people.complete(unit, "ada", {})
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (run_id << 20,))
    engine.one(deciding("approve", "ben"), (approval,))
    people.reopen_for_correction(steps[0], "ben", "data_error", approval, "reopen")
    other = "update step_run_correction_cycle set root_unit_id = {} where unit_id = {}"
    intact(other.format(steps[1], steps[0]), other.format(steps[1], steps[1]), other.format(7, steps[1]))


@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_month_that_was_never_sealed_is_not_dropped_in_silence(
    engine: Engine, clock: Clock, intact: Callable[..., None], is_sealed: bool
):
    """It stays until it is sealed; while nothing is to be sealed, the log says that it was dropped."""
    if not is_sealed:
        configure(engine.db, "audit.seal_interval_seconds", "0")
    engine.publish("w", operation("a"))
    engine.start("w")
    engine.drain(engine.worker())
    clock.advance(days=4000)
    engine.db.execute("select fn_partitions_ensure(stepwell.now())")
    engine.db.execute("select * from fn_retention_sweep()")
    kept = engine.one("select count(*) from event_log where event_type = 'workflow.published'")
    assert kept == int(is_sealed)
    intact()


def test_a_step_that_begins_again_by_an_earlier_clock(
    engine: Engine, clock: Clock, intact: Callable[..., None]
):
    """A session reads the clock, waits for a lock, and changes the unit after one that read it later."""
    engine.publish("w", operation("call", retry={"max_attempts": 3, "initial_seconds": 0}))
    unit = engine.unit(engine.start("w"), "call")
    engine.claim(engine.worker(lease_seconds=60))
    clock.advance(minutes=10)
    assert engine.one("select fn_leases_recover()") == 1
    engine.timers()
    clock.advance(minutes=-20)
    session = engine.worker()
    (lease,) = engine.claim(session)
    engine.complete(session, lease)
    assert lease.unit_id == unit
    intact(
        f"update work_unit set started_at = last_transition_at where unit_id = {unit}",
        f"update work_unit set completed_at = started_at where unit_id = {unit}",
    )
