"""Rate limits of a key: never do more jobs enter the queue within the window than allowed."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sql.drive import Engine
from tests.support.clock import Clock
from tests.support.sample import sample

pytestmark = pytest.mark.requirement("RT-04")

RATE = {"p_concurrency_key": "crm", "p_rate_count": 2, "p_rate_seconds": 60.0}


def test_jobs_enter_up_to_the_rate_and_the_next_ones_after_its_window(engine: Engine, clock: Clock):
    engine.enqueue("call", 5, **RATE)
    session = engine.worker()
    found = engine.claim(session)
    assert len(found) == 2
    engine.complete(session, *found)
    assert engine.claim(session) == []
    clock.advance(seconds=59)
    engine.timers()
    assert engine.claim(session) == []
    clock.advance(seconds=2)
    engine.timers()
    assert len(engine.claim(session)) == 2
    assert engine.faults() == {}


def test_a_key_can_have_a_limit_and_a_rate(engine: Engine, clock: Clock):
    engine.enqueue("call", 9, **{**RATE, "p_rate_count": 3}, p_max_concurrency=2)
    session = engine.worker()
    first = engine.claim(session)
    assert len(first) == 2
    engine.complete(session, *first)
    # The rate allows one more job, the limit two.
    second = engine.claim(session)
    assert len(second) == 1
    clock.advance(seconds=61)
    engine.timers()
    assert len(engine.claim(session)) == 1
    assert engine.faults() == {}


def test_the_reason_says_when_the_next_job_may_enter(engine: Engine):
    *_, last = engine.enqueue("call", 3, **RATE)
    engine.worker()
    code, sentence, *_ = engine.why(last)
    assert code == "rate"
    assert "at place 1; 2 may enter within 60 s, the next at " in sentence


def test_the_keeper_knows_when_the_next_job_may_enter(engine: Engine):
    engine.db.execute("insert into clock_shift (shift, stopped_at) values ('0', clock_timestamp())")
    engine.enqueue("call", 3, **RATE)
    due = engine.one("select next_due_at - stepwell.now() from fn_timers_fire()")
    assert due == timedelta(seconds=60)


@pytest.mark.parametrize("bad", [{"p_rate_count": 0}, {"p_rate_seconds": 0.0}, {"p_concurrency_key": None}])
def test_an_impossible_rate_is_refused(engine: Engine, bad):
    with pytest.raises(psycopg.Error, match="rate_limit: 1 or more within a time above zero"):
        engine.enqueue("call", 1, **{**RATE, **bad})


@sample(10)
@given(moves=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 40)), min_size=3, max_size=15))
def test_never_do_more_jobs_enter_within_the_window_than_the_rate_allows(engine: Engine, clock: Clock, moves):
    session = engine.worker()
    key = {"p_concurrency_key": engine.one("select gen_random_uuid()::text")}
    # (earliest, latest) possible time of each entry, by the clock of the database.
    entered: list[tuple[float, float]] = []
    for count, seconds in moves:
        before = clock.now().timestamp()
        engine.timers()
        if count:
            engine.enqueue("call", count, **{**RATE, **key})
        found = engine.claim(session)
        entered += [(before, clock.now().timestamp())] * len(found)
        engine.complete(session, *found)
        clock.advance(seconds=seconds)
    for first, _ in entered:
        assert sum(first <= low and high - first < 60 for low, high in entered) <= 2
    engine.db.execute("delete from job_line")
