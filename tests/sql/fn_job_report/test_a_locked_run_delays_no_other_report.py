"""fn_job_report_free does not wait for locks: a locked unit is returned as busy, the others are reported."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine, Lease, operation, subworkflow

FREE = "select row_kind, unit_id from fn_job_report_free(%s, %s, %s, %s, %s, %s)"


def report_free(engine: Engine, session: int, *leases: Lease) -> list[tuple[str, int]]:
    return engine.db.execute(
        FREE,
        (
            session,
            [lease.tenant_id for lease in leases],
            [lease.unit_id for lease in leases],
            [lease.lease_no for lease in leases],
            ["completed"] * len(leases),
            [None] * len(leases),
        ),
    ).fetchall()


@pytest.fixture
def no_lock_wait(engine: Engine) -> Engine:
    """An engine that raises an error instead of waiting for a lock."""
    engine.db.execute("set lock_timeout = '50ms'")
    return engine


@pytest.mark.parametrize("above", [False, True])
def test_a_busy_report_changes_nothing_and_delays_no_other(no_lock_wait: Engine, dsn: str, above: bool):
    engine = no_lock_wait
    engine.publish("child", operation("a"))
    engine.publish("parent", subworkflow("sub", "child"))
    held, free = engine.start("parent" if above else "child"), engine.start("parent" if above else "child")
    session = engine.worker()
    first, second = engine.claim(session)
    with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as other:
        other.execute("select 1 from run_progress where run_id = %s for update", (held,))
        rows = report_free(engine, session, first, second)
        assert [row for row in rows if row[0] == "busy"] == [("busy", first.unit_id)]
        assert (engine.run_state(held), engine.run_state(free)) == ("in_progress", "completed")
        other.rollback()
    assert "busy" not in [kind for kind, _ in report_free(engine, session, first)]
    assert engine.run_state(held) == "completed"
    assert engine.faults() == {}


def test_a_report_can_lock_from_the_top_run(engine: Engine):
    engine.publish("child", operation("a"))
    engine.publish("parent", subworkflow("sub", "child"))
    run_id = engine.start("parent")
    session = engine.worker()
    (lease,) = engine.claim(session)
    engine.db.execute(
        "select fn_job_report(%s, '{1}', %s, %s, '{completed}', array[null]::text[], 0, p_locks_up => true)",
        (session, [lease.unit_id], [lease.lease_no]),
    )
    assert engine.run_state(run_id) == "completed"
