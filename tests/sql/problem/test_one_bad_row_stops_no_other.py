"""A claim, a tick, a recovery or a report that fails because of one row goes on with the others."""

from __future__ import annotations

import random

import psycopg
import pytest

from tests.sql.drive import Engine, operation
from tests.sql.problem.conftest import Poison
from tests.support.clock import Clock

CODES = ["22012", "0A000", "23514", "SW004", "XX000", "P0001"]


def problems(engine: Engine) -> list[tuple[str, str]]:
    """(duty, subject) of what is open."""
    rows = engine.db.execute(
        "select duty, subject from governance_problem where closed_at is null order by 1, 2"
    )
    return rows.fetchall()


def delayed(engine: Engine, clock: Clock, count: int) -> list[int]:
    """Jobs whose time has come."""
    job_ids = engine.enqueue("op", count, p_process_after=clock.now().replace(year=2090))
    engine.db.execute("update timer set due_at = stepwell.now()")
    return job_ids


@pytest.mark.parametrize("code", CODES)
def test_a_timer_that_cannot_fire_stops_no_other(engine: Engine, clock: Clock, poison: Poison, code: str):
    job_ids = delayed(engine, clock, 7)
    poison(job_ids[3], code=code)
    assert engine.timers() == 6
    assert engine.one("select count(*) from job_ready") == 6
    assert problems(engine) == [("timers", str(job_ids[3]))]
    row = engine.db.execute("select error_code, reason, seen_count from governance_problem").fetchone()
    assert row == (code, f"unit {job_ids[3]} is poisoned", 1)
    assert engine.why(job_ids[3])[0] == "set_aside"


def test_what_was_set_aside_is_tried_later_and_later_and_closed_when_it_goes_on(
    engine: Engine, clock: Clock, poison: Poison
):
    (job_id,) = delayed(engine, clock, 1)
    poison(job_id)
    assert engine.timers() == 0
    # Not hot: nothing is due before the time of the problem.
    assert engine.timers() == 0
    assert engine.one("select seen_count from governance_problem") == 1
    clock.advance(seconds=31)
    assert engine.timers() == 0
    wait = "select extract(epoch from retry_at - last_seen_at)::int from governance_problem"
    assert engine.one("select seen_count from governance_problem") == 2
    assert engine.one(wait) == 60
    poison()
    clock.advance(seconds=61)
    assert engine.one("select fn_problems_settle()") == 0
    assert engine.timers() == 1
    assert engine.one("select fn_problems_settle()") == 1
    assert problems(engine) == []
    assert engine.events(job_id)[-2:] == ["problem.opened", "problem.resolved"]
    assert engine.faults() == {}


@pytest.mark.parametrize("seed", range(5))
def test_whichever_rows_are_bad_exactly_those_are_set_aside(
    engine: Engine, clock: Clock, poison: Poison, seed: int
):
    chance = random.Random(seed)
    job_ids = delayed(engine, clock, chance.randint(2, 40))
    bad = chance.sample(job_ids, chance.randint(1, len(job_ids)))
    poison(*bad, code=chance.choice(CODES))
    assert engine.timers() == len(job_ids) - len(bad)
    assert {int(subject) for _, subject in problems(engine)} == set(bad)


def test_more_bad_rows_than_one_call_sets_aside_are_found_by_the_next(
    engine: Engine, clock: Clock, poison: Poison
):
    job_ids = delayed(engine, clock, 120)
    poison(*job_ids[:110])
    fired = [engine.timers() for _ in range(4)]
    assert sum(fired) == 10
    assert len(problems(engine)) == 110


@pytest.mark.parametrize("code", ["40001", "55P03", "53100", "57P03"])
def test_what_is_no_fault_of_a_row_ends_the_whole_call(
    engine: Engine, clock: Clock, poison: Poison, code: str
):
    job_ids = delayed(engine, clock, 3)
    poison(job_ids[1], code=code)
    with pytest.raises(psycopg.Error) as caught:
        engine.timers()
    assert caught.value.sqlstate == code
    assert problems(engine) == []
    poison()
    assert engine.timers() == 3


@pytest.mark.parametrize("code", CODES)
def test_a_lease_that_cannot_be_recovered_stops_no_other(
    engine: Engine, clock: Clock, poison: Poison, code: str
):
    engine.enqueue("op", 5)
    leases = engine.claim(engine.worker("first", lease_seconds=5), 3)
    leases += engine.claim(engine.worker("second", lease_seconds=5))
    clock.advance(seconds=6)
    poison(leases[1].unit_id, code=code)
    assert engine.one("select fn_leases_recover()") == 4
    assert problems(engine) == [("recovery", str(leases[1].unit_id))]
    assert engine.one("select fn_leases_recover()") == 0
    assert engine.one("select seen_count from governance_problem") == 1
    poison()
    clock.advance(seconds=31)
    assert engine.one("select fn_leases_recover()") == 1
    assert engine.one("select fn_problems_settle()") == 1
    assert engine.one("select count(*) from worker_session where closed_at is null") == 0
    assert engine.faults() == {}


def test_a_row_of_the_queue_without_a_ready_unit_stops_no_claim(engine: Engine):
    job_ids = engine.enqueue("op", 4)
    session = engine.worker()
    leases = engine.claim(session, 1)
    engine.complete(session, *leases)
    engine.db.execute(
        "insert into job_ready (tenant_id, executor_class_id, rank, unit_id, is_retry)"
        " select tenant_id, executor_class_id, -priority, unit_id, false from work_unit where unit_id = %s",
        (job_ids[0],),
    )
    with pytest.raises(psycopg.Error):
        engine.claim(session)
    rows = engine.db.execute("select unit_id from fn_job_claim_each(%s, 100)", (session,)).fetchall()
    assert sorted(unit_id for (unit_id,) in rows) == job_ids[1:]
    assert problems(engine) == [("claim", str(job_ids[0]))]
    # It had ended long ago: nothing of it is left to do.
    assert engine.one("select fn_problems_settle()") == 1
    assert engine.faults() == {}


def test_a_unit_that_cannot_be_leased_waits_outside_the_queue(engine: Engine, clock: Clock, poison: Poison):
    engine.publish("w", operation("a"), operation("b"), edges=[])
    run_id = engine.start("w")
    bad = engine.unit(run_id, "a")
    session = engine.worker()
    poison(bad)
    with pytest.raises(psycopg.Error):
        engine.claim(session)
    rows = engine.db.execute("select step_id from fn_job_claim_each(%s, 100)", (session,)).fetchall()
    assert rows == [("b",)]
    assert engine.claim(session) == []
    code, sentence, _, who = engine.why(bad)
    assert (code, who) == ("set_aside", "operator")
    assert f"unit {bad} is poisoned" in sentence
    assert engine.faults() == {}
    poison()
    clock.advance(seconds=31)
    assert engine.timers() == 1
    assert [lease.step_id for lease in engine.claim(session)] == ["a"]
    assert engine.one("select fn_problems_settle()") == 1


def test_a_unit_whose_report_is_refused_is_set_aside(engine: Engine, clock: Clock):
    engine.publish("w", operation("a", concurrency={"key": "k", "limit": 1}))
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    call = "select fn_job_report_set_aside(%s, 1, %s, %s, '22012', 'no')"
    assert engine.one(call, (session, lease.unit_id, lease.lease_no + 1)) is False
    assert engine.one(call, (session, lease.unit_id, lease.lease_no)) is True
    assert engine.states(run_id) == {"a": "ready"}
    assert engine.claim(session) == []
    assert engine.faults() == {}
    clock.advance(seconds=31)
    assert engine.timers() == 1
    assert len(engine.claim(session)) == 1


def test_a_unit_that_refuses_even_that_keeps_its_lease_and_has_a_problem(engine: Engine, poison: Poison):
    (job_id,) = engine.enqueue("op")
    session = engine.worker()
    (lease,) = engine.claim(session)
    poison(job_id)
    call = "select fn_job_report_set_aside(%s, 1, %s, %s, '22012', 'no')"
    assert engine.one(call, (session, job_id, lease.lease_no)) is False
    assert problems(engine) == [("report", str(job_id))]
