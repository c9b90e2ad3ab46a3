"""Recovery: an expired session loses its leases, and each counts as an attempt."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine, operation
from tests.support.clock import Clock


@pytest.mark.requirement("LN-03")
def test_a_unit_whose_lease_expired_is_ready_again_with_one_more_attempt(engine: Engine, clock: Clock):
    engine.publish("w", operation("a", retry={"max_attempts": 3}))
    run_id = engine.start("w")
    engine.claim(engine.worker(lease_seconds=5))
    clock.advance(seconds=4)
    assert engine.one("select fn_leases_recover()") == 0
    clock.advance(seconds=2)
    assert engine.one("select fn_leases_recover()") == 1
    assert engine.states(run_id) == {"a": "ready"}
    row = engine.db.execute(
        "select attempt_count, error ->> 'type', failure_class from unit_failure"
    ).fetchone()
    assert row == (1, "LEASE_EXPIRED", "lease_expired")
    (lease,) = engine.claim(engine.worker("second"))
    assert (lease.attempt, lease.lease_no) == (2, 2)
    assert engine.events(lease.unit_id) == [
        "step.ready",
        "step.started",
        "step.lease_expired",
        "step.started",
    ]
    assert engine.faults() == {}


@pytest.mark.requirement("LN-03")
def test_a_unit_whose_attempts_are_used_up_is_dead(engine: Engine, clock: Clock):
    engine.publish("w", operation("a", retry={"max_attempts": 2}))
    run_id = engine.start("w")
    for number in range(2):
        engine.claim(engine.worker(str(number), lease_seconds=5))
        clock.advance(seconds=6)
        assert engine.one("select fn_leases_recover()") == 1
    assert engine.run_state(run_id) == "failed"
    assert engine.one("select failure_class from job_dead_letter") == "lease_expired"
    assert engine.faults() == {}


@pytest.mark.requirement("RT-03")
def test_a_heartbeat_extends_every_lease_of_its_session(engine: Engine, clock: Clock):
    engine.enqueue("op", 50)
    session = engine.worker(lease_seconds=5)
    leases = engine.claim(session)
    for _ in range(3):
        clock.advance(seconds=4)
        told = engine.db.execute(
            "select * from fn_worker_heartbeat(%s, %s, %s, %s, 0)",
            (
                session,
                [1] * 50,
                [lease.unit_id for lease in leases],
                [lease.lease_no for lease in leases],
            ),
        ).fetchall()
        assert told == []
        assert engine.one("select fn_leases_recover()") == 0
    assert engine.complete(session, *leases) == []


@pytest.mark.requirement("RT-03")
def test_an_expired_session_cannot_be_extended(engine: Engine, clock: Clock):
    session = engine.worker(lease_seconds=5)
    clock.advance(seconds=6)
    with pytest.raises(psycopg.Error) as caught:
        engine.db.execute("select * from fn_worker_heartbeat(%s, '{}', '{}', '{}', 0)", (session,))
    assert caught.value.sqlstate == "SW005"


def test_a_heartbeat_returns_the_leases_that_the_worker_lost(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), edges=[])
    run_id = engine.start("w")
    session = engine.worker()
    a, b = engine.claim(session)
    engine.db.execute("select fn_job_cancel(1, %s, 'cli:ada')", (a.unit_id,))
    told = engine.db.execute(
        "select unit_id, lease_no, reason from fn_worker_heartbeat(%s, '{1,1,1}', %s, '{1,1,1}', 0)",
        (session, [a.unit_id, b.unit_id, 4711]),
    ).fetchall()
    assert sorted(told) == [(4711, 1, "lost"), (a.unit_id, 1, "cancelled")]
    assert engine.states(run_id)["b"] == "in_progress"


def test_a_worker_that_closes_releases_its_leases_without_counting_an_attempt(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    engine.claim(session)
    assert engine.one("select fn_worker_close(%s)", (session,)) == 1
    assert engine.one("select fn_worker_close(%s)", (session,)) == 0
    assert engine.states(run_id) == {"a": "ready"}
    (lease,) = engine.claim(engine.worker("second"))
    assert lease.attempt == 1
    assert engine.faults() == {}


def test_a_heartbeat_deletes_the_rows_of_reported_claims(engine: Engine):
    engine.enqueue("op", 3)
    session = engine.worker()
    leases = engine.claim(session)
    engine.complete(session, *leases[:2])
    engine.db.execute(
        "select * from fn_worker_heartbeat(%s, '{1}', %s, '{1}', %s)",
        (session, [leases[2].unit_id], leases[2].batch_id),
    )
    assert engine.db.execute("select unit_ids from worker_lease").fetchall() == [([leases[2].unit_id],)]
    assert engine.faults() == {}


@pytest.mark.parametrize(
    ("call", "word"),
    [
        ("fn_worker_register('w', array['default', 'nope'], 1)", "nope"),
        ("fn_worker_register('w', array['default'], 0)", "slots"),
        ("fn_worker_register('w', array['default'], 1, 0)", "lease_seconds"),
    ],
)
def test_a_worker_with_wrong_settings_is_not_registered(db: psycopg.Connection, call: str, word: str):
    with pytest.raises(psycopg.Error) as caught:
        db.execute(f"select {call}")
    assert (caught.value.sqlstate, word in str(caught.value)) == ("SW001", True)
