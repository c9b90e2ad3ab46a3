"""When one row makes a claim, a tick, a recovery or a report fail, the other rows are still done."""

from __future__ import annotations

import random

import psycopg
import pytest

from tests.sql.drive import Engine, operation
from tests.sql.problem.conftest import Poison
from tests.support.clock import Clock

CODES = ["22012", "0A000", "23514", "SW004", "XX000", "P0001"]


def problems(engine: Engine) -> list[tuple[str, str]]:
    """(duty, subject) of each open problem."""
    rows = engine.db.execute(
        "select duty, subject from governance_problem where category_code = 'set_aside'"
        " and closed_at is null order by 1, 2"
    )
    return rows.fetchall()


def delayed(engine: Engine, clock: Clock, count: int) -> list[int]:
    """Delayed jobs that are due now."""
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
    row = engine.db.execute(
        "select error_code, reason, seen_count from governance_problem where category_code = 'set_aside'"
    ).fetchone()
    assert row == (code, f"unit {job_ids[3]} is poisoned", 1)
    assert engine.why(job_ids[3])[0] == "set_aside"


def test_a_unit_set_aside_is_tried_at_growing_intervals_until_it_succeeds(
    engine: Engine, clock: Clock, poison: Poison
):
    (job_id,) = delayed(engine, clock, 1)
    poison(job_id)
    assert engine.timers() == 0
    # The timer is not due again before the retry time of the problem.
    assert engine.timers() == 0
    assert engine.one("select seen_count from governance_problem where category_code = 'set_aside'") == 1
    clock.advance(seconds=31)
    assert engine.timers() == 0
    wait = "select extract(epoch from retry_at - last_seen_at)::int from v_governance_problem"
    assert engine.one("select seen_count from governance_problem where category_code = 'set_aside'") == 2
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
def test_exactly_the_bad_rows_are_set_aside(engine: Engine, clock: Clock, poison: Poison, seed: int):
    chance = random.Random(seed)
    job_ids = delayed(engine, clock, chance.randint(2, 40))
    bad = chance.sample(job_ids, chance.randint(1, len(job_ids)))
    poison(*bad, code=chance.choice(CODES))
    assert engine.timers() == len(job_ids) - len(bad)
    assert {int(subject) for _, subject in problems(engine)} == set(bad)


def test_the_next_calls_find_the_bad_rows_that_one_call_left(engine: Engine, clock: Clock, poison: Poison):
    job_ids = delayed(engine, clock, 120)
    poison(*job_ids[:110])
    fired = [engine.timers() for _ in range(4)]
    assert sum(fired) == 10
    assert len(problems(engine)) == 110


@pytest.mark.parametrize("code", ["40001", "55P03", "53100", "57P03"])
def test_an_error_that_no_row_caused_ends_the_whole_call(
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
    assert engine.one("select seen_count from governance_problem where category_code = 'set_aside'") == 1
    poison()
    clock.advance(seconds=31)
    assert engine.one("select fn_leases_recover()") == 1
    assert engine.one("select fn_problems_settle()") == 1
    assert engine.one("select count(*) from worker_session where closed_at is null") == 0
    assert engine.faults() == {}


def test_a_queue_row_whose_unit_is_not_ready_is_set_aside(engine: Engine):
    job_ids = engine.enqueue("op", 4)
    session = engine.worker()
    leases = engine.claim(session, 1)
    engine.complete(session, *leases)
    engine.db.execute(
        "insert into job_ready (tenant_id, executor_class_id, rank, operation_id, unit_id, is_retry)"
        " select tenant_id, executor_class_id, -priority, operation_id, unit_id, false from work_unit"
        " where unit_id = %s",
        (job_ids[0],),
    )
    with pytest.raises(psycopg.Error):
        engine.claim(session)
    rows = engine.db.execute("select unit_id from fn_job_claim_each(%s, 100)", (session,)).fetchall()
    assert sorted(unit_id for (unit_id,) in rows) == job_ids[1:]
    assert problems(engine) == [("claim", str(job_ids[0]))]
    # The unit had ended before, so nothing is left to do for it.
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


def test_a_unit_that_cannot_be_set_aside_keeps_its_lease_and_has_a_problem(engine: Engine, poison: Poison):
    (job_id,) = engine.enqueue("op")
    session = engine.worker()
    (lease,) = engine.claim(session)
    poison(job_id)
    call = "select fn_job_report_set_aside(%s, 1, %s, %s, '22012', 'no')"
    assert engine.one(call, (session, job_id, lease.lease_no)) is False
    assert problems(engine) == [("report", str(job_id))]
