"""Parents of a job that end at the same time, a delay and a refresh beside them: the job is released once."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.interleave.conftest import LIMIT_SECONDS, Session
from tests.sql.drive import Engine
from tests.sql.job_graphs.graphing import (
    any_of,
    emitted,
    finish,
    generator,
    job,
    perform,
    register,
    states,
    status,
)
from tests.support.clock import Clock

ENDS = {"completed": "completed", "dead": "cannot_complete"}
READY = "select count(*) from event_log where event_type = 'step.ready' and unit_id & 1048575 = 3"


def end(session: Session, worker: int, lease: Any, outcome: str) -> None:
    """As a worker does: a run that another transaction holds is tried again."""
    while True:
        try:
            finish(session, worker, [lease], outcome)
            session.commit()
            return
        except psycopg.errors.LockNotAvailable:
            session.rollback()


def refresh(session: Session, number: int) -> Any:
    found = session.one("select fn_job_workflow_refresh(1, %s)", (number,))
    session.commit()
    return found["status"]


@pytest.mark.requirement("JW-06")
@pytest.mark.parametrize("first", ENDS)
@pytest.mark.parametrize("second", ENDS)
@pytest.mark.parametrize("delayed", [False, True])
def test_two_parents_that_end_at_the_same_time_decide_once(
    engine: Engine, sessions: Any, clock: Clock, first: str, second: str, delayed: bool
):
    more = {"delay_seconds": 60} if delayed else {}
    number = emitted(engine, job("a"), job("b"), any_of("c", "a", "b", **more))
    worker = engine.worker(lease_seconds=3600)
    held = {lease.step_id: lease for lease in engine.claim(worker)}
    one, two, three = sessions(), sessions(), sessions()
    finish(one, worker, [held["a"]], first)
    if delayed:
        # The timer of a run that a report holds is left for the next pass.
        clock.advance(seconds=60)
        assert three.one("select fn_timers_fire()") is not None
        three.commit()
    ending = two.start_call(lambda: end(two, worker, held["b"], second))
    refreshing = three.start_call(lambda: refresh(three, number))
    one.commit()
    ending.result(LIMIT_SECONDS)
    assert refreshing.result(LIMIT_SECONDS) in ("active", "failed")
    engine.one("select fn_timers_fire()")
    is_released = "completed" in (first, second)
    assert states(engine, number) == {
        "a": ENDS[first],
        "b": ENDS[second],
        "c": "ready" if is_released else "cancelled",
    }
    assert engine.one(READY) == int(is_released)
    if is_released:
        perform(engine, worker, "c")
    expected = {2: "succeeded", 1: "partially_failed", 0: "failed"}[(first, second).count("completed")]
    assert status(engine, number) == expected
    assert engine.faults() == {}


EMIT = "select fn_mot_graph_emit(1, 't', '{}', 'c-1', 'planner', %s)"


@pytest.mark.requirement("JW-02")
@pytest.mark.parametrize("key", ["k", None])
def test_two_emits_at_the_same_time_are_one_graph_with_a_key_and_two_without(
    engine: Engine, sessions: Any, key: str | None
):
    """A correlation id only connects graphs: a key makes two emits one."""
    register(engine, "t", job("a"), job("b", "a"))
    generator(engine)
    one, two = sessions(), sessions()
    first = one.one(EMIT, (key,))
    emitting = two.start_call(lambda: two.one(EMIT, (key,)))
    one.commit()
    second = emitting.result(LIMIT_SECONDS)
    two.commit()
    assert (first["is_new"], second["is_new"]) == (True, key is None)
    assert (first["step_job_ids"] == second["step_job_ids"]) is (key is not None)
    count = 1 if key is not None else 2
    assert engine.one("select count(*) from job_workflow where correlation_id = 'c-1'") == count
    assert engine.one("select count(*) from job_queue") == 2 * count
