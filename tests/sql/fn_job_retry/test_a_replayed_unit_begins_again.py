"""A unit that is replayed or corrected begins again: it is not told what had woken it before, and the events
that had woken it are kept for it.
"""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, Lease, operation
from tests.support.clock import Clock
from tests.support.deciding import deciding


def woken(engine: Engine, session: int, run_id: int, key: str = "k") -> Lease:
    """The only step of the run waits for `paid`, the event comes, and it is claimed again."""
    engine.report(session, (*engine.claim(session), "waiting", {"event": "paid", "seconds": 60}))
    engine.one("select accepted from fn_signal(1, %s, 'paid', %s, %s)", (run_id, Jsonb({"sum": 5}), key))
    (lease,) = engine.claim(session)
    assert lease.wake == {"task_type": "RESUMED", "event_type": "paid", "payload": {"sum": 5}}
    return lease


def started(engine: Engine) -> tuple[int, int]:
    engine.publish("w", operation("pay"))
    return engine.worker(), engine.start("w")


@pytest.mark.requirement("LN-08", "LN-10")
def test_a_replay_is_not_told_of_the_time_out_that_it_died_of(engine: Engine, clock: Clock):
    session, run_id = started(engine)
    engine.report(session, (*engine.claim(session), "waiting", {"event": "paid", "seconds": 60}))
    clock.advance(seconds=61)
    engine.timers()
    (lease,) = engine.claim(session)
    assert lease.wake["task_type"] == "WAITING_TIMEOUT"
    engine.kill(session, lease)
    engine.one("select fn_run_retry(1, %s, 'cli:ada')", (run_id,))
    (again,) = engine.claim(session)
    assert (again.wake, again.attempt) == (None, 1)
    engine.complete(session, again)
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


@pytest.mark.requirement("LN-10")
def test_the_event_that_woke_a_dead_step_wakes_its_replay_when_it_waits_again(engine: Engine):
    session, run_id = started(engine)
    engine.kill(session, woken(engine, session, run_id))
    engine.one("select fn_run_retry(1, %s, 'cli:ada')", (run_id,))
    (again,) = engine.claim(session)
    assert again.wake is None
    engine.report(session, (again, "waiting", {"event": "paid", "seconds": None}))
    (after,) = engine.claim(session)
    assert after.wake == {"task_type": "RESUMED", "event_type": "paid", "payload": {"sum": 5}}
    # The second delivery of the event is still refused, and names who has it.
    answer = "select accepted, woken_unit_id from fn_signal(1, %s, 'paid', '{}', 'k')"
    assert engine.db.execute(answer, (run_id,)).fetchone() == (False, after.unit_id)
    engine.complete(session, after)
    assert engine.faults() == {}


@pytest.mark.requirement("LN-10")
def test_another_attempt_without_a_replay_is_still_told_what_woke_the_step(engine: Engine, clock: Clock):
    session, run_id = started(engine)
    lease = woken(engine, session, run_id)
    engine.report(session, (lease, "failed", {"error": {"type": "E"}, "delay_seconds": 1}))
    clock.advance(seconds=2)
    engine.timers()
    (again,) = engine.claim(session)
    assert (again.wake, again.attempt) == (lease.wake, 2)


@pytest.mark.requirement("SM-12", "LN-10")
def test_a_corrected_operation_is_not_told_what_had_woken_it(engine: Engine):
    engine.person("ada")
    engine.one("select fn_person_set(1, 'ben', '{operator}')")
    session, run_id = started(engine)
    lease = woken(engine, session, run_id)
    engine.complete(session, lease)
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (lease.unit_id,))
    engine.one(deciding("approve", "ben"), (approval,))
    engine.one(
        "select fn_step_reopen_for_correction(1, %s, 'ben', 'data_error', %s)", (lease.unit_id, approval)
    )
    (again,) = engine.claim(session)
    assert again.wake is None
    engine.complete(session, again)
    assert engine.faults() == {}
