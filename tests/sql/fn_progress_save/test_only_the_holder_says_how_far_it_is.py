"""How far a handler is: stored under its lease, shown while it matters, overwritten, never an event."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from tests.sql.drive import Engine, Lease, operation
from tests.support.clock import Clock

SAVE = (
    "select fn_progress_save(%s, %s::int[], %s::bigint[], %s::int[], %s::float8[], %s::float8[], %s::text[])"
)


def save(engine: Engine, session: int, *said: tuple[Lease, float, float | None, str | None]) -> int:
    leases = [item[0] for item in said]
    count: int = engine.one(
        SAVE,
        (
            session,
            [lease.tenant_id for lease in leases],
            [lease.unit_id for lease in leases],
            [lease.lease_no for lease in leases],
            *(list(column) for column in list(zip(*said, strict=True))[1:]),
        ),
    )
    return count


def shown(engine: Engine) -> dict[str, object]:
    """Without the moment, which every one of them has."""
    rows = engine.db.execute("select step_id, progress - 'at', progress ? 'at' from step_run").fetchall()
    assert all(has_moment for _, progress, has_moment in rows if progress is not None)
    return {step_id: progress for step_id, progress, _ in rows}


@pytest.fixture
def held(engine: Engine) -> tuple[int, Lease]:
    engine.publish("w", operation("a", retry={"max_attempts": 2, "initial_seconds": 0}), operation("b"))
    engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    return session, lease


def test_the_last_word_is_shown_wherever_the_step_is(engine: Engine, held):
    session, lease = held
    assert save(engine, session, (lease, 1, 10, "reading")) == 1
    assert save(engine, session, (lease, 6, 10, None)) == 1
    assert shown(engine) == {"a": {"done": 6, "total": 10}, "b": None}
    query = "select progress - 'at' from {} where {} = %s"
    for view, column in (("job_queue", "job_id"), ("v_step_card", "step_run_id")):
        assert engine.one(query.format(view, column), (lease.unit_id,)) == {"done": 6, "total": 10}
    steps = "select progress ->> 'done' from fn_run_steps_read(1, %s, false, 10) where step_id = 'a'"
    assert engine.one(steps, (lease.unit_id >> 20,)) == "6"
    assert engine.one("select count(*) from unit_progress") == 1


def test_no_event_is_written(engine: Engine, held):
    session, lease = held
    before = engine.one("select count(*) from event_log")
    save(engine, session, (lease, 1, 10, "reading"))
    assert engine.one("select count(*) from event_log") == before
    assert engine.faults() == {}


@pytest.mark.parametrize("state", ["other session", "old lease", "closed session", "silent session"])
def test_whoever_has_no_lease_changes_nothing(engine: Engine, held, clock: Clock, state: str):
    session, lease = held
    if state == "other session":
        session = engine.worker("thief")
    elif state == "old lease":
        engine.report(session, (lease, "released", None))
        engine.claim(session)
    elif state == "closed session":
        engine.one("select fn_worker_close(%s)", (session,))
    else:
        clock.advance(timedelta(hours=2))
    assert save(engine, session, (lease, 1, 10, None)) == 0
    assert shown(engine)["a"] is None


def test_many_are_stored_in_one_call_and_the_lost_one_is_left_out(engine: Engine):
    engine.publish("w", operation("a"))
    for _ in range(3):
        engine.start("w")
    session = engine.worker()
    leases = engine.claim(session)
    engine.report(session, (leases[1], "released", None))
    assert save(engine, session, *((lease, at, None, None) for at, lease in enumerate(leases))) == 2
    rows = engine.db.execute("select progress ->> 'done' from step_run order by step_run_id").fetchall()
    assert rows == [("0",), (None,), ("2",)]


def test_the_next_attempt_begins_with_nothing_and_what_completed_is_done(engine: Engine, held):
    session, lease = held
    save(engine, session, (lease, 4, 10, None))
    engine.report(session, (lease, "failed", {"error": {"type": "ValueError"}}))
    # How far it came is worth knowing while it waits for the next attempt.
    assert shown(engine)["a"] == {"done": 4, "total": 10}
    engine.one("select fn_timers_fire()")
    (again,) = engine.claim(session)
    assert shown(engine)["a"] is None
    save(engine, session, (again, 9, 10, None))
    # A word of the first attempt that comes late is not taken for the second.
    assert save(engine, session, (lease, 5, 10, None)) == 0
    assert shown(engine)["a"] == {"done": 9, "total": 10}
    engine.complete(session, again)
    assert shown(engine) == {"a": None, "b": None}


def test_what_failed_for_good_keeps_how_far_it_came(engine: Engine, held):
    session, lease = held
    save(engine, session, (lease, 4, 10, "row 4"))
    engine.report(session, (lease, "dead", {"error": {"type": "Dead"}}))
    assert shown(engine)["a"] == {"done": 4, "total": 10, "note": "row 4"}


@pytest.mark.parametrize(
    ("done", "total", "note"),
    [(-1, 10, None), (1, -1, None), (float("nan"), 10, None), (1, float("inf"), None), (1, 2, "x" * 201)],
)
def test_what_is_no_progress_is_refused(engine: Engine, held, done, total, note):
    session, lease = held
    with pytest.raises(psycopg.Error) as caught:
        save(engine, session, (lease, done, total, note))
    assert caught.value.sqlstate == "SW001"
    assert "finite numbers from 0 are accepted" in str(caught.value)


def test_it_goes_with_its_run(engine: Engine, held, clock: Clock):
    session, lease = held
    save(engine, session, (lease, 4, 10, None))
    engine.report(session, (lease, "dead", {"error": {"type": "Dead"}}))
    engine.db.execute("select _units_delete('{1}', %s)", ([lease.unit_id >> 20],))
    assert engine.one("select count(*) from unit_progress") == 0
