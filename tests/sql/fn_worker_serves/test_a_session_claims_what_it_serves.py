"""A session gets the operations it serves and no others, by no way; what nobody serves holds nothing back."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine, Lease, operation


def serves(engine: Engine, session: int, *names: str) -> None:
    engine.db.execute("select fn_worker_serves(%s, %s::text[])", (session, list(names)))


def names(leases: list[Lease]) -> list[str]:
    return sorted(str(lease.operation) for lease in leases)


def test_a_claim_passes_over_what_others_serve(engine: Engine):
    session, other = engine.worker("one", serves=["ours"]), engine.worker("other", serves=["theirs"])
    engine.enqueue("theirs", 50)
    engine.enqueue("ours", 3)
    assert names(engine.claim(session, 10)) == ["ours"] * 3
    assert engine.claim(session, 10) == []
    assert names(engine.claim(other, 100)) == ["theirs"] * 50
    assert engine.faults() == {}


def test_a_session_without_handlers_gets_nothing(engine: Engine):
    engine.enqueue("theirs")
    assert engine.claim(engine.worker(serves=[])) == []


def test_a_session_that_named_nothing_gets_everything_of_its_classes(engine: Engine):
    engine.enqueue("a")
    engine.enqueue("b")
    assert names(engine.claim(engine.worker())) == ["a", "b"]


def test_a_name_is_served_for_every_tenant(engine: Engine):
    """Also for a tenant that gets the operation after the worker has started."""
    session = engine.worker(serves=["ours"])
    second = Engine(engine.db, engine.one("select fn_tenant_set('second')"))
    for tenant in (engine, second):
        tenant.enqueue("ours")
        tenant.enqueue("theirs")
    assert [(lease.tenant_id, lease.operation) for lease in engine.claim(session)] == [
        (1, "ours"),
        (second.tenant_id, "ours"),
    ]


def test_a_higher_priority_of_others_holds_nothing_back(engine: Engine):
    engine.enqueue("theirs", 20, p_priority=1000)
    engine.enqueue("ours", 20)
    assert names(engine.claim(engine.worker(serves=["ours"]), 5)) == ["ours"] * 5


def test_a_retry_is_left_too(engine: Engine):
    engine.publish("w", operation("theirs", retry={"max_attempts": 3, "initial_seconds": 0}))
    run_id = engine.start("w")
    other, session = engine.worker("other"), engine.worker("one", serves=["ours"])
    engine.report(other, (engine.claim(other)[0], "failed", {"error": {"type": "E", "message": "no"}}))
    engine.timers()
    assert engine.claim(session) == []
    assert engine.state(engine.unit(run_id, "theirs")) == "failed"
    assert names(engine.claim(other)) == ["theirs"]


def test_a_report_leases_directly_only_what_is_served(engine: Engine):
    engine.publish("w", operation("ours"), operation("theirs"), operation("after", operation="ours"), edges=[
        ("ours", "theirs"), ("ours", "after")])  # fmt: skip
    engine.start("w")
    session = engine.worker(serves=["ours"])
    (lease,) = engine.claim(session, 1)
    assert [row.step_id for row in engine.report(session, (lease, "completed", None), claim_limit=10)] == [
        "after"
    ]
    assert engine.one("select count(*) from job_ready") == 1


def test_what_nobody_serves_does_not_end_direct_leases(engine: Engine):
    """Neither of the same tenant nor of another one."""
    second = Engine(engine.db, engine.one("select fn_tenant_set('second')"))
    engine.enqueue("theirs", 3)
    second.enqueue("theirs", 3)
    engine.publish("w", operation("a"), operation("b"))
    engine.start("w")
    session = engine.worker(serves=["a", "b"])
    (lease,) = engine.claim(session, 1)
    engine.db.execute("create table seen as select * from job_ready where false")
    engine.db.execute(
        "create function see() returns trigger language plpgsql as"
        " 'begin insert into stepwell.seen select new.*; return new; end'"
    )
    engine.db.execute("create trigger see before insert on job_ready for each row execute function see()")
    rows = engine.report(session, (lease, "completed", None), claim_limit=10)
    assert [row.step_id for row in rows] == ["b"]
    assert engine.one("select count(*) from seen") == 0, "the step went through the queue"


def test_a_start_beside_a_worker_leases_directly_only_what_is_served(engine: Engine):
    engine.publish("w", operation("theirs"), operation("ours"), edges=[])
    session = engine.worker(serves=["ours"])
    rows = engine.db.execute(
        "select row_kind, operation_name from fn_run_start_here(%s, 10, 1, 'w', array['{}'::jsonb])",
        (session,),
    ).fetchall()
    assert rows == [("started", None), ("lease", "ours")]


def test_the_last_word_counts(engine: Engine):
    engine.enqueue("a")
    engine.enqueue("b")
    session = engine.worker(serves=["a"])
    serves(engine, session, "b")
    assert names(engine.claim(session)) == ["b"]
    serves(engine, session, "a", "b")
    assert names(engine.claim(session)) == ["a"]


def test_a_session_that_has_ended_is_refused(engine: Engine):
    session = engine.worker()
    engine.db.execute("select fn_worker_close(%s)", (session,))
    with pytest.raises(psycopg.Error) as caught:
        serves(engine, session, "a")
    assert caught.value.sqlstate == "SW005"
