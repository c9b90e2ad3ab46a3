"""Jobs of a graph that are opened again: any-of and delays hold as before, and a long chain of jobs ends."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine
from tests.sql.job_graphs.graphing import any_of, emitted, finish, job, perform, states, status
from tests.sql.people.asking import People
from tests.support.clock import Clock
from tests.support.deciding import deciding


def reopened(engine: Engine, number: int, local_id: str) -> None:
    people = People(engine)
    people.add("ada", "reviewer")
    people.add("ben", "reviewer")
    unit = engine.unit(number, local_id)
    made = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (unit,))
    engine.one(deciding("approve", "ben"), (made,))
    people.reopen_for_correction(unit, "ben", "data_error", made)


def invariants(engine: Engine) -> list[object]:
    return engine.db.execute("select * from fn_invariants_check() where not ok").fetchall()


@pytest.mark.requirement("JW-06")
def test_any_of_waits_for_one_parent_also_after_a_correction_of_another(engine: Engine):
    number = emitted(engine, job("a"), job("b"), any_of("c", "a", "b"))
    worker = engine.worker()
    held = {lease.step_id: lease for lease in engine.claim(worker)}
    finish(engine, worker, [held["a"]], "dead")
    reopened(engine, number, "a")
    perform(engine, worker, "a")
    assert states(engine, number)["c"] == "ready"
    assert invariants(engine) == []
    finish(engine, worker, [held["b"]], "dead")
    perform(engine, worker, "c")
    assert status(engine, number) == "partially_failed"


@pytest.mark.requirement("JW-06")
def test_a_delay_holds_also_after_a_correction_of_a_parent(engine: Engine, clock: Clock):
    number = emitted(engine, job("a"), job("late", "a", delay_seconds=3600))
    worker = engine.worker()
    perform(engine, worker, "a")
    reopened(engine, number, "a")
    perform(engine, worker, "a")
    assert states(engine, number) == {"a": "completed", "late": "not_started"}
    clock.advance(seconds=3601)
    engine.timers()
    assert states(engine, number)["late"] == "ready"
    assert invariants(engine) == []


def test_a_long_chain_of_any_of_ends_with_the_death_of_its_first_job(engine: Engine):
    count = 1500
    chain = [any_of(f"j{at}", f"j{at - 1}", job_kind="link") for at in range(1, count)]
    number = emitted(engine, job("j0", job_kind="link"), *chain)
    worker = engine.worker()
    perform(engine, worker, "j0", outcome="dead")
    assert status(engine, number) == "failed"
    assert (
        engine.one("select count(*) from work_unit where scope = 'step' and state_code = 'cancelled'")
        == count - 1
    )
