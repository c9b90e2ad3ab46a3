"""The progress of a handler is stored with its lease and overwritten; it writes no event."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from tests.sql.drive import Engine, Lease, operation
from tests.support.clock import Clock

SAVE = (
    "select fn_progress_save(%s, %s::int[], %s::bigint[], %s::int[], %s::float8[], %s::float8[], %s::text[])"
)


def save(engine: Engine, session: int, *reported: tuple[Lease, float, float | None, str | None]) -> int:
    leases = [item[0] for item in reported]
    count: int = engine.one(
        SAVE,
        (
            session,
            [lease.tenant_id for lease in leases],
            [lease.unit_id for lease in leases],
            [lease.lease_no for lease in leases],
            *(list(column) for column in list(zip(*reported, strict=True))[1:]),
        ),
    )
    return count


def shown(engine: Engine) -> dict[str, object]:
    """The progress of each step without its time; every stored progress has a time."""
    rows = engine.db.execute("select step_id, progress - 'at', progress ? 'at' from step_run").fetchall()
    assert all(has_time for _, progress, has_time in rows if progress is not None)
    return {step_id: progress for step_id, progress, _ in rows}


@pytest.fixture
def leased(engine: Engine) -> tuple[int, Lease]:
    engine.publish("w", operation("a", retry={"max_attempts": 2, "initial_seconds": 0}), operation("b"))
    engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    return session, lease


def test_every_view_of_the_step_shows_the_last_progress(engine: Engine, leased):
    session, lease = leased
    assert save(engine, session, (lease, 1, 10, "reading")) == 1
    assert save(engine, session, (lease, 6, 10, None)) == 1
    assert shown(engine) == {"a": {"done": 6, "total": 10}, "b": None}
    query = "select progress - 'at' from {} where {} = %s"
    for view, column in (("job_queue", "job_id"), ("v_step_card", "step_run_id")):
        assert engine.one(query.format(view, column), (lease.unit_id,)) == {"done": 6, "total": 10}
    steps = "select progress ->> 'done' from fn_run_steps_read(1, %s, false, 10) where step_id = 'a'"
    assert engine.one(steps, (lease.unit_id >> 20,)) == "6"
    assert engine.one("select count(*) from unit_progress") == 1


def test_progress_writes_no_event(engine: Engine, leased):
    session, lease = leased
    before = engine.one("select count(*) from event_log")
    save(engine, session, (lease, 1, 10, "reading"))
    assert engine.one("select count(*) from event_log") == before
    assert engine.faults() == {}


@pytest.mark.parametrize("state", ["other session", "old lease", "closed session", "silent session"])
def test_a_session_without_the_lease_saves_no_progress(engine: Engine, leased, clock: Clock, state: str):
    session, lease = leased
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


def test_one_call_saves_many_and_leaves_out_the_lost_lease(engine: Engine):
    engine.publish("w", operation("a"))
    for _ in range(3):
        engine.start("w")
    session = engine.worker()
    leases = engine.claim(session)
    engine.report(session, (leases[1], "released", None))
    assert save(engine, session, *((lease, at, None, None) for at, lease in enumerate(leases))) == 2
    rows = engine.db.execute("select progress ->> 'done' from step_run order by step_run_id").fetchall()
    assert rows == [("0",), (None,), ("2",)]


def test_the_next_attempt_and_a_completed_step_have_no_progress(engine: Engine, leased):
    session, lease = leased
    save(engine, session, (lease, 4, 10, None))
    engine.report(session, (lease, "failed", {"error": {"type": "ValueError"}}))
    # The step keeps its progress while it waits for the next attempt.
    assert shown(engine)["a"] == {"done": 4, "total": 10}
    engine.one("select fn_timers_fire()")
    (again,) = engine.claim(session)
    assert shown(engine)["a"] is None
    save(engine, session, (again, 9, 10, None))
    # A late progress of the first attempt is not saved for the second.
    assert save(engine, session, (lease, 5, 10, None)) == 0
    assert shown(engine)["a"] == {"done": 9, "total": 10}
    engine.complete(session, again)
    assert shown(engine) == {"a": None, "b": None}


def test_a_step_that_failed_for_good_keeps_its_progress(engine: Engine, leased):
    session, lease = leased
    save(engine, session, (lease, 4, 10, "row 4"))
    engine.report(session, (lease, "dead", {"error": {"type": "Dead"}}))
    assert shown(engine)["a"] == {"done": 4, "total": 10, "note": "row 4"}


@pytest.mark.parametrize(
    ("done", "total", "note"),
    [(-1, 10, None), (1, -1, None), (float("nan"), 10, None), (1, float("inf"), None), (1, 2, "x" * 201)],
)
def test_an_invalid_progress_is_refused(engine: Engine, leased, done, total, note):
    session, lease = leased
    with pytest.raises(psycopg.Error) as caught:
        save(engine, session, (lease, done, total, note))
    assert caught.value.sqlstate == "SW001"
    assert "finite numbers from 0 are accepted" in str(caught.value)


def test_progress_is_deleted_with_its_run(engine: Engine, leased, clock: Clock):
    session, lease = leased
    save(engine, session, (lease, 4, 10, None))
    engine.report(session, (lease, "dead", {"error": {"type": "Dead"}}))
    engine.db.execute("select _units_delete('{1}', %s)", ([lease.unit_id >> 20],))
    assert engine.one("select count(*) from unit_progress") == 0
