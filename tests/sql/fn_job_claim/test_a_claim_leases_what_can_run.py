"""A claim leases what can run on the executors of the worker, in batches, with all that the handler needs."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation
from tests.support.clock import Clock

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database


@pytest.mark.requirement("LN-04")
def test_a_claim_takes_a_batch_and_leaves_the_rest(engine: Engine):
    engine.enqueue("op", 10)
    session = engine.worker()
    leases = engine.claim(session, 4)
    assert len(leases) == 4
    assert {engine.state(lease.unit_id) for lease in leases} == {"in_progress"}
    assert engine.one("select count(*) from job_ready") == 6
    assert engine.faults() == {}


@pytest.mark.requirement("JW-06")
def test_a_step_is_claimable_only_when_all_its_parents_succeeded(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), operation("c"), edges=[("a", "c"), ("b", "c")])
    engine.start("w")
    session = engine.worker()
    a, b = engine.claim(session)
    engine.complete(session, a)
    assert engine.claim(session) == []
    engine.complete(session, b)
    assert [lease.step_id for lease in engine.claim(session)] == ["c"]


@pytest.mark.requirement("JW-06")
def test_a_step_whose_parent_failed_never_becomes_claimable(engine: Engine):
    engine.publish("w", operation("a"), operation("b"))
    run_id = engine.start("w")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    assert engine.claim(session) == []
    assert engine.states(run_id) == {"a": "cannot_complete", "b": "cancelled"}


def test_a_worker_claims_only_jobs_of_its_executors(engine: Engine):
    engine.db.execute(
        "select fn_operation_register(1, %s)", (Jsonb([{"name": "cpu", "executor": "process"}]),)
    )
    engine.enqueue("op")
    engine.enqueue("cpu")
    assert [lease.operation for lease in engine.claim(engine.worker(classes=["process"]))] == ["cpu"]
    assert [lease.operation for lease in engine.claim(engine.worker())] == ["op"]


def test_a_lease_holds_everything_the_handler_needs(engine: Engine):
    engine.db.execute(
        "select fn_operation_register(1, %s)", (Jsonb([{"name": "second", "timeout_seconds": 5}]),)
    )
    engine.publish(
        "w", operation("first"), operation("second", inputs={"x": "$.steps.first.output.n", "y": "$.input.m"})
    )
    engine.start("w", {"m": 2})
    session = engine.worker()
    (first,) = engine.claim(session)
    assert (first.step_id, first.attempt, first.max_attempts, first.lease_no) == ("first", 1, 5, 1)
    assert (first.input, first.bound_input) == ({"m": 2}, None)
    engine.complete(session, first, output={"n": 1})
    (second,) = engine.claim(session)
    assert second.bound_input == {"x": 1, "y": 2}
    assert second.timeout_seconds == 5


def test_a_session_that_expired_cannot_claim(engine: Engine, clock: Clock):
    engine.enqueue("op")
    session = engine.worker(lease_seconds=5)
    clock.advance(seconds=6)
    for number in (session, 999):
        with pytest.raises(psycopg.Error) as caught:
            engine.claim(number)
        assert caught.value.sqlstate == "SW005"
    assert engine.one("select count(*) from job_ready") == 1


def test_a_worker_whose_claim_finds_too_little_is_idle_and_is_woken(engine: Engine, db: psycopg.Connection):
    session = engine.worker()
    db.execute("listen stepwell_ready")
    engine.enqueue("op")
    assert list(db.notifies(timeout=0, stop_after=1)) == []
    engine.drain(session)
    assert engine.one("select is_idle from worker_session") is True
    engine.enqueue("op", 3)
    assert len(list(db.notifies(timeout=30, stop_after=1))) == 1
    engine.claim(session, 3)
    assert engine.one("select is_idle from worker_session") is False


@pytest.mark.requirement("LN-04")
def test_a_hundred_thousand_finished_units_are_not_read(engine: Engine, db: psycopg.Connection):
    """Claim and report find rows by key: they read no finished row, however many there are."""
    db.execute(
        """insert into work_unit (tenant_id, unit_id, version_id, def_no, operation_id, executor_class_id,
               completed_at, last_transition_at, scope, state_machine_id, state_code)
           select 1, (n::bigint << 20) | 1, 1, 1, 1, 1, now(), now(), 'step', 'step.1', 'completed'
           from generate_series(1000000, 1099999) as n"""
    )
    db.execute("analyze work_unit")
    db.execute("analyze job_ready")
    engine.publish("w", operation("a"), operation("b"))
    engine.start("w")
    engine.enqueue("op", 5)
    session = engine.worker()
    tables = ("work_unit", "job_ready", "run_progress", "run_detail", "job_detail")
    counters = """
        select relname, seq_scan, seq_tup_read from pg_stat_xact_user_tables
        where schemaname = 'stepwell' and relname = any (%s) order by relname
    """
    with db.transaction():
        before = db.execute(counters, (list(tables),)).fetchall()
        leases = engine.claim(session)
        more = engine.report(session, *((lease, "completed", 1) for lease in leases), claim_limit=10)
        after = db.execute(counters, (list(tables),)).fetchall()
        read = db.execute(
            "select idx_tup_fetch from pg_stat_xact_user_tables where relname = 'work_unit'"
        ).fetchone()
    assert len(leases) == 6
    assert [lease.step_id for lease in more] == ["b"]
    assert before == after, "a sequential scan was used"
    assert read is not None
    assert read[0] < 200, "more rows were read than the batch needs"


def test_the_claim_reads_the_queue_through_its_primary_key(engine: Engine, db: psycopg.Connection):
    engine.enqueue("op", 5000)
    engine.one("select count(*) from job_ready")
    db.execute("analyze job_ready")
    plan = "\n".join(
        line
        for (line,) in db.execute(
            """explain select r.ctid from job_ready as r where r.executor_class_id = 1 and r.tenant_id = 1
                   and r.workspace_id = 0 and r.rank = 0 and r.operation_id = 1
               order by r.unit_id limit 100 for update skip locked"""
        )
    )
    assert "job_ready_pkey" in plan
    assert "Sort" not in plan
