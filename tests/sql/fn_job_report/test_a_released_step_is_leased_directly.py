"""Direct lease: a report leases a released step to its own session if a claim would give it this step."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, Lease, operation

CHAIN = (operation("a"), operation("b"))


def report(engine: Engine, session: int, *leases: Lease, limit: int) -> list[str | None]:
    """Completes the leases and returns the ids of the steps that the same call leased."""
    found = engine.report(session, *((lease, "completed", None) for lease in leases), claim_limit=limit)
    assert {lease.row_kind for lease in found} <= {"lease"}
    return sorted(lease.step_id or str(lease.operation) for lease in found)


def queue(engine: Engine) -> list[int]:
    return [row[0] for row in engine.db.execute("select unit_id from job_ready order by rank, unit_id")]


@pytest.mark.requirement("LN-06")
def test_a_direct_lease_logs_both_transitions_and_does_not_touch_the_queue(engine: Engine):
    engine.publish("w", *CHAIN)
    run_id, session = engine.start("w"), engine.worker()
    (lease,) = engine.claim(session)
    (following,) = engine.report(session, (lease, "completed", None), claim_limit=5)
    unit_id = engine.unit(run_id, "b")
    assert (following.unit_id, following.lease_no, following.attempt) == (unit_id, 1, 1)
    history = engine.db.execute(
        "select event_type, from_state, to_state, actor_class, actor, request_id from event_log"
        " where unit_id = %s order by event_id",
        (unit_id,),
    ).fetchall()
    assert history == [
        ("step.ready", "not_started", "ready", "mow_orchestrator", "engine", 0),
        (
            "step.started",
            "ready",
            "in_progress",
            "executor_worker",
            f"session:{engine.session_id(session)}",
            1,
        ),
    ]
    assert engine.one("select unit_ids from worker_lease order by batch_id desc limit 1") == [unit_id]
    assert (queue(engine), engine.faults()) == ([], {})
    assert engine.complete(session, following) == []
    assert (engine.run_state(run_id), engine.faults()) == ("completed", {})


def test_an_older_run_in_the_queue_comes_first(engine: Engine):
    engine.publish("w", *CHAIN)
    session = engine.worker()
    older = engine.start("w")
    (first,) = engine.claim(session)
    newer = engine.start("w")
    (second,) = engine.claim(session)
    assert report(engine, session, first, limit=0) == []
    assert report(engine, session, second, limit=1) == ["b"]
    assert engine.states(older)["b"] == "in_progress"
    assert engine.states(newer)["b"] == "ready"
    assert queue(engine) == [engine.unit(newer, "b")]


def test_a_higher_priority_in_the_queue_comes_first(engine: Engine):
    engine.publish("w", *CHAIN)
    run_id, session = engine.start("w"), engine.worker()
    (lease,) = engine.claim(session)
    engine.enqueue("urgent", p_priority=5)
    assert report(engine, session, lease, limit=1) == ["urgent"]
    assert engine.states(run_id)["b"] == "ready"
    assert engine.faults() == {}


def test_released_steps_beyond_the_limit_wait_in_the_queue(engine: Engine):
    steps = [operation("a"), *(operation(f"b{n}") for n in range(5))]
    engine.publish("w", *steps, edges=[("a", f"b{n}") for n in range(5)])
    run_id, session = engine.start("w"), engine.worker()
    (lease,) = engine.claim(session)
    assert report(engine, session, lease, limit=2) == ["b0", "b1"]
    assert queue(engine) == [engine.unit(run_id, f"b{n}") for n in (2, 3, 4)]
    assert engine.faults() == {}


def test_in_a_paused_run_the_next_step_waits_for_the_resumption(engine: Engine):
    engine.publish("w", *CHAIN)
    run_id, session = engine.start("w"), engine.worker()
    (lease,) = engine.claim(session)
    engine.db.execute("select fn_run_pause(1, %s, 'cli:ada')", (run_id,))
    assert report(engine, session, lease, limit=5) == []
    assert (engine.states(run_id)["b"], queue(engine)) == ("ready", [])
    engine.db.execute("select fn_run_resume(1, %s, 'cli:ada')", (run_id,))
    assert [found.step_id for found in engine.claim(session)] == ["b"]


def test_a_direct_lease_respects_the_limit_of_a_group(engine: Engine):
    engine.publish(
        "w", operation("a"), operation("b", group=1), operation("c", group=1),
        edges=[("a", "b"), ("a", "c")], groups=[{"no": 1, "max_concurrency": 1}],
    )  # fmt: skip
    engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    assert report(engine, session, lease, limit=5) == ["b"]
    assert engine.faults() == {}


def test_a_step_for_another_executor_wakes_an_idle_worker_of_it(engine: Engine, dsn: str):
    engine.db.execute("select fn_operation_register(1, %s)", (Jsonb([{"name": "b", "executor": "process"}]),))
    engine.publish("w", *CHAIN)
    run_id, session = engine.start("w"), engine.worker()
    assert engine.claim(engine.worker("other", ["process"])) == []
    (lease,) = engine.claim(session)
    with psycopg.connect(dsn, autocommit=True) as listening:
        listening.execute("listen stepwell_ready")
        assert report(engine, session, lease, limit=5) == []
        assert [note.channel for note in listening.notifies(timeout=30, stop_after=1)] == ["stepwell_ready"]
    assert queue(engine) == [engine.unit(run_id, "b")]


def test_a_direct_lease_leaves_another_tenant_its_share(engine: Engine):
    engine.publish("w", *CHAIN)
    engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    other = Engine(
        engine.db, engine.one("insert into tenant (tenant_code) values ('other') returning tenant_id")
    )
    other.enqueue("job", 10)
    assert report(engine, session, lease, limit=2) == ["b", "job"]
    assert engine.faults() == {}


def test_with_a_changed_claim_guard_the_step_is_leased_through_the_claim(engine: Engine):
    engine.publish("w", *CHAIN)
    engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    engine.db.execute(
        "update transition_def set guard_kind = 'none', guard_ref = null"
        " where state_machine_id = 'step.1' and from_state = 'ready' and actor_class = 'executor_worker'"
    )
    engine.one("select fn_registry_refresh()")
    assert report(engine, session, lease, limit=5) == ["b"]
    assert engine.faults() == {}
