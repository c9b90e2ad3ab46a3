"""Recovery finds every unit whose session has ended, also when the list of leases does not name it."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, operation
from tests.support.clock import Clock


@pytest.mark.parametrize("end", ["closed", "expired", "removed"])
def test_a_lease_that_is_missing_in_the_list_is_found(engine: Engine, clock: Clock, end: str):
    """The heartbeat of a worker that forgot a unit removes the unit from the list of leases."""
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker(lease_seconds=30)
    (lease,) = engine.claim(session)
    engine.db.execute("select fn_worker_heartbeat(%s, '{}', '{}', '{}', %s)", (session, lease.batch_id))
    assert "leases_are_single_and_alive" in engine.faults()
    if end == "closed":
        engine.one("select fn_worker_close(%s)", (session,))
    else:
        clock.advance(seconds=31)
        assert engine.one("select fn_leases_recover()") == 0
    if end == "removed":
        engine.db.execute("delete from worker_session where session_id = _session_id_of(%s)", (session,))
    assert engine.states(run_id) == {"a": "in_progress"}
    assert engine.one("select fn_leases_find()") == 0
    assert engine.one("select fn_leases_recover()") == 1
    assert engine.states(run_id) == {"a": "ready"}
    assert engine.one("select count(*) from worker_lease") == 0
    assert engine.faults() == {}


def test_the_search_reads_the_table_in_slices(engine: Engine):
    engine.enqueue("op", 400)
    session = engine.worker()
    engine.claim(session)
    engine.db.execute("delete from worker_lease")
    engine.db.execute("update worker_session set closed_at = stepwell.now()")
    page, slices = 0, 0
    while slices == 0 or page:
        page = engine.one("select fn_leases_find(%s, 2)", (page,))
        slices += 1
        assert slices < 1000
    assert slices > 2
    assert engine.one("select fn_leases_recover()") == 100
    assert engine.faults() == {}


def test_leases_of_open_sessions_are_not_recovered(engine: Engine):
    engine.enqueue("op", 3)
    session = engine.worker()
    leases = engine.claim(session)
    assert engine.one("select fn_leases_find()") == 0
    assert engine.one("select fn_leases_recover()") == 0
    assert engine.complete(session, *leases) == []


@pytest.mark.parametrize("attempt", [1, 308, 309, 900])
def test_the_retry_delay_is_right_for_any_number_of_attempts(engine: Engine, attempt: int):
    """10 to the power of 309 is more than the type can hold."""
    engine.publish(
        "w",
        operation(
            "a",
            retry={"max_attempts": 1000, "multiplier": 10, "initial_seconds": 0.001, "max_seconds": 0.002},
        ),
    )
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    engine.db.execute("update work_unit set attempt_count = %s where unit_id = %s", (attempt, lease.unit_id))
    assert engine.report(session, (lease, "failed", {"error": {"type": "E"}})) == []
    assert engine.states(run_id) == {"a": "failed"}
    wait = "select extract(epoch from next_eligible_at - failed_at)::float from unit_failure"
    assert 0 <= engine.one(wait) <= 0.002
