"""Free-standing jobs: their fields, one job for each key, priority, start time, limits."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation
from tests.support.clock import Clock


@pytest.mark.requirement("JW-01")
def test_a_job_has_the_fields_of_the_queue(engine: Engine, clock: Clock):
    after = clock.now().replace(year=2099)
    engine.db.execute(
        """select * from fn_job_enqueue(1, 'send', array['{"to": 1}'::jsonb], array['k-1'], 7, %s,
               p_source_ref => 'order:1', p_target_ref => 'mail', p_payload_ref => 's3://x',
               p_actor => 'ada')""",
        (after,),
    )
    assert engine.db.execute(
        """select job_kind, operation, executor, status, idempotency_key, source_ref, target_ref,
               payload_ref, safe_payload, process_after, priority, workflow_id, parents, lease_owner, attempt,
               max_attempts, created_by from job_queue"""
    ).fetchone() == (
        "send", "send", "default", "queued", "k-1", "order:1", "mail", "s3://x", {"to": 1}, after, 7, None,
        None, None, 0, 5, "ada",
    )  # fmt: skip


@pytest.mark.requirement("JW-01")
def test_steps_of_runs_are_in_the_same_queue_with_their_parents(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), operation("c"), edges=[("a", "c"), ("b", "c")])
    run_id = engine.start("w")
    rows = engine.db.execute(
        "select step_id, status, workflow_id, parents, idempotency_key from job_queue order by job_id"
    ).fetchall()
    unit = run_id << 20
    assert rows == [
        ("a", "queued", run_id, None, f"{run_id}:a"),
        ("b", "queued", run_id, None, f"{run_id}:b"),
        ("c", "—", run_id, [unit + 1, unit + 2], f"{run_id}:c"),
    ]


def test_a_key_makes_one_job(engine: Engine):
    enqueue = "select job_id, is_new from fn_job_enqueue(1, 'op', %s::jsonb[], %s)"
    first = engine.db.execute(enqueue, ([Jsonb({})] * 2, ["a", "b"])).fetchall()
    again = engine.db.execute(enqueue, ([Jsonb({})] * 2, ["b", "c"])).fetchall()
    assert [is_new for _, is_new in first] == [True, True]
    assert again[0] == (first[1][0], False)
    assert again[1][1] is True
    assert engine.one("select count(*) from job_ready") == 3


def test_enqueuing_only_known_keys_again_returns_their_jobs_as_not_new(engine: Engine):
    enqueue = "select job_id, is_new from fn_job_enqueue(1, 'op', array['{}'::jsonb], array['a'])"
    ((job_id, _),) = engine.db.execute(enqueue).fetchall()
    assert engine.db.execute(enqueue).fetchall() == [(job_id, False)]


def test_jobs_are_claimed_by_priority_and_then_by_age(engine: Engine):
    (old,) = engine.enqueue("op")
    (urgent,) = engine.enqueue("op", p_priority=10)
    (new,) = engine.enqueue("op")
    session = engine.worker()
    assert [engine.claim(session, 1)[0].unit_id for _ in range(3)] == [urgent, old, new]


def test_a_job_for_later_is_claimable_from_its_time_on(engine: Engine, clock: Clock):
    (job_id,) = engine.enqueue("op", p_process_after=clock.now().replace(year=2090))
    session = engine.worker()
    assert engine.claim(session) == []
    assert engine.faults() == {}
    engine.db.execute("update timer set due_at = stepwell.now()")
    assert engine.timers() == 1
    assert [lease.unit_id for lease in engine.claim(session)] == [job_id]


def test_a_concurrency_key_allows_as_many_leases_as_it_has_slots(engine: Engine):
    engine.enqueue("op", 5, p_concurrency_key="k", p_max_concurrency=2)
    session = engine.worker()
    first = engine.claim(session)
    assert len(first) == 2
    assert engine.claim(session) == []
    engine.complete(session, first[0])
    assert len(engine.claim(session)) == 1
    assert engine.faults() == {}
    engine.one("select fn_worker_close(%s)", (session,))
    assert engine.faults() == {}


@pytest.mark.parametrize("outcome", ["failed", "dead", "sleep", "released", "waiting"])
def test_every_end_of_an_attempt_frees_its_slot(engine: Engine, outcome: str):
    engine.enqueue("op", 3, p_concurrency_key="k", p_max_concurrency=1)
    session = engine.worker()
    (lease,) = engine.claim(session)
    body = {"seconds": 60, "delay_seconds": 60, "event": "came", "error": {"type": "E"}}
    assert engine.report(session, (lease, outcome, body)) == []
    assert len(engine.claim(session)) == 1
    assert engine.faults() == {}


@pytest.mark.parametrize(
    ("call", "sqlstate", "word"),
    [
        ("fn_job_enqueue(1, 'op', '{}'::jsonb[])", "SW001", "payloads"),
        ("fn_job_enqueue(1, 'op', array['1'::jsonb])", "SW001", "payloads"),
        ("fn_job_enqueue(1, '', array['{}'::jsonb])", "SW001", "operation"),
        ("fn_job_enqueue(1, 'op', array['{}'::jsonb], array['a', 'b'])", "SW001", "keys"),
        ("fn_job_enqueue(1, 'op', array['{}'::jsonb], p_priority => 5000)", "SW001", "priority"),
        ("fn_job_enqueue(1, 'op', array['{}'::jsonb], p_max_concurrency => 1)", "SW001", "max_concurrency"),
        ("fn_job_enqueue(1, 'op', array['{}'::jsonb], p_trace_id => 'zz')", "SW001", "trace_id"),
        ("fn_job_enqueue(1, 'op', array_fill('{}'::jsonb, array[10001]))", "SW006", "10001 jobs"),
    ],
)
def test_an_error_names_the_wrong_field(engine: Engine, call: str, sqlstate: str, word: str):
    with pytest.raises(psycopg.Error) as caught:
        engine.db.execute(f"select * from {call}")
    assert caught.value.sqlstate == sqlstate
    assert word in str(caught.value)
    assert engine.one("select count(*) from work_unit") == 0
