"""A session never gets a lease on an operation it does not serve, and gets all other work as before."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine, Lease, operation


def unserved(engine: Engine, session: int, *names: str) -> None:
    engine.db.execute("select fn_worker_unserved_set(%s, %s)", (session, list(names)))


def names(leases: list[Lease]) -> list[str]:
    return sorted(str(lease.operation) for lease in leases)


def test_a_claim_leaves_an_unserved_operation_to_others(engine: Engine):
    session, other = engine.worker("one"), engine.worker("other")
    engine.enqueue("theirs", 50)
    unserved(engine, session, "theirs")
    engine.enqueue("ours", 3)
    assert names(engine.claim(session, 10)) == ["ours"] * 3
    assert engine.claim(session, 10) == []
    assert names(engine.claim(other, 100)) == ["theirs"] * 50
    assert engine.faults() == {}


def test_unserved_jobs_of_higher_priority_do_not_delay_served_jobs(engine: Engine):
    engine.enqueue("theirs", 20, p_priority=1000)
    engine.enqueue("ours", 20)
    session = engine.worker()
    unserved(engine, session, "theirs")
    assert names(engine.claim(session, 5)) == ["ours"] * 5


def test_a_retry_of_an_unserved_operation_is_left_to_others(engine: Engine):
    engine.publish("w", operation("theirs", retry={"max_attempts": 3, "initial_seconds": 0}))
    run_id = engine.start("w")
    other, session = engine.worker("other"), engine.worker("one")
    engine.report(other, (engine.claim(other)[0], "failed", {"error": {"type": "E", "message": "no"}}))
    engine.timers()
    unserved(engine, session, "theirs")
    assert engine.claim(session) == []
    assert engine.state(engine.unit(run_id, "theirs")) == "failed"
    assert names(engine.claim(other)) == ["theirs"]


def test_a_report_does_not_lease_an_unserved_operation_directly(engine: Engine):
    engine.publish("w", operation("ours"), operation("theirs"), operation("after", operation="ours"), edges=[
        ("ours", "theirs"), ("ours", "after")])  # fmt: skip
    engine.start("w")
    session = engine.worker()
    unserved(engine, session, "theirs")
    (lease,) = engine.claim(session, 1)
    assert [row.step_id for row in engine.report(session, (lease, "completed", None), claim_limit=10)] == [
        "after"
    ]


def test_a_start_does_not_lease_an_unserved_operation_directly(engine: Engine):
    engine.publish("w", operation("theirs"), operation("ours"), edges=[])
    session = engine.worker()
    unserved(engine, session, "theirs")
    rows = engine.db.execute(
        "select row_kind, operation_name from fn_run_start_here(%s, 10, 1, 'w', array['{}'::jsonb])",
        (session,),
    ).fetchall()
    assert rows == [("started", None), ("lease", "ours")]


def test_each_call_replaces_the_list_of_the_call_before(engine: Engine):
    engine.enqueue("a")
    engine.enqueue("b")
    session = engine.worker()
    unserved(engine, session, "a")
    unserved(engine, session, "b")
    assert names(engine.claim(session)) == ["a"]
    unserved(engine, session)
    assert names(engine.claim(session)) == ["b"]


def test_a_session_that_has_ended_is_refused(engine: Engine):
    session = engine.worker()
    engine.db.execute("select fn_worker_close(%s)", (session,))
    with pytest.raises(psycopg.Error) as caught:
        unserved(engine, session, "a")
    assert caught.value.sqlstate == "SW005"
