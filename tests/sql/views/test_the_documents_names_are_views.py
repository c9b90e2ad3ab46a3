"""The views: dialects, state history from events only, queue health, heartbeats, the timeline of a trace."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, human, operation
from tests.support.clock import Clock


def words(engine: Engine, unit_id: int):
    return engine.db.execute(
        "select linear_code, runtime_code, node_code, job_code from v_unit_dialect where unit_id = %s",
        (unit_id,),
    ).fetchone()


@pytest.mark.requirement("RT-02")
def test_a_step_has_a_word_in_every_dialect_in_each_state(engine: Engine, clock: Clock):
    engine.publish("w", operation("a", retry={"max_attempts": 2}), operation("b"))
    run_id = engine.start("w")
    session = engine.worker(lease_seconds=1000)
    a, b = engine.unit(run_id, "a"), engine.unit(run_id, "b")
    assert words(engine, a) == ("READY", "ready", "ready", "queued")
    assert words(engine, b) == ("PENDING", "—", "idle", "—")
    (lease,) = engine.claim(session)
    assert words(engine, a) == ("RUNNING", "running", "running", "leased")
    assert words(engine, b) == ("PENDING", "—", "waiting", "—")
    engine.db.execute("select * from fn_worker_heartbeat(%s, '{1}', %s, '{1}', 0)", (session, [a]))
    assert words(engine, a) == ("RUNNING", "running", "running", "in_progress")
    engine.report(session, (lease, "failed", {"error": {"type": "E"}, "delay_seconds": 5}))
    assert words(engine, a) == ("READY", "failed_retryable", "running", "retry_waiting")
    clock.advance(seconds=6)
    engine.timers()
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "waiting", {"event": "x"}))
    assert words(engine, a) == ("WAITING", "running", "running", "in_progress")
    engine.db.execute(
        """insert into approval_detail (
               tenant_id, approval_id, action, subject_unit_id, requested_by, requested_at, expires_at)
           values (1, 5, 'pay', %s, 'ada', now(), now() + interval '1 day')""",
        (a,),
    )
    engine.db.execute("update work_unit set waiting_facet = 'waiting_human' where unit_id = %s", (a,))
    assert words(engine, a) == ("WAITING", "waiting_approval", "running", "in_progress")
    engine.db.execute("select fn_signal(1, %s, 'x', '{}', 'k')", (run_id,))
    engine.kill(session, *engine.claim(session))
    assert words(engine, a) == ("DEAD", "failed_terminal", "failed", "dead_letter")
    assert words(engine, b) == ("CANCELED", "canceled", "aborted", "cancelled")


@pytest.mark.requirement("RT-02")
def test_a_run_has_a_word_in_every_dialect(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), edges=[])
    done, failed, partly, gone = (engine.start("w") for _ in range(4))
    session = engine.worker()
    assert words(engine, done << 20) == ("RUNNING", "queued", "running", "active")
    leases = engine.claim(session)
    assert words(engine, done << 20) == ("RUNNING", "running", "running", "active")
    engine.complete(session, leases[0], leases[1], leases[4])
    engine.kill(session, leases[2], leases[3], leases[5])
    engine.one("select fn_run_cancel(1, %s, 'cli:ada')", (gone,))
    assert words(engine, done << 20) == ("COMPLETED", "succeeded", "completed", "succeeded")
    assert words(engine, failed << 20) == ("FAILED", "failed_terminal", "failed", "failed")
    assert words(engine, partly << 20) == ("FAILED", "failed_terminal", "failed", "partially_failed")
    assert words(engine, gone << 20) == ("CANCELED", "canceled", "aborted", "cancelled")


@pytest.mark.requirement("SM-17")
def test_every_visit_of_every_state_is_listed_from_events_only(engine: Engine, clock: Clock):
    engine.publish("w", operation("a", retry={"max_attempts": 3}))
    run_id = engine.start("w")
    session = engine.worker(lease_seconds=1000)
    clock.advance(seconds=10)
    engine.report(session, (engine.claim(session)[0], "failed", {"error": {"type": "E"}, "delay_seconds": 5}))
    clock.advance(seconds=6)
    engine.timers()
    engine.complete(session, *engine.claim(session))
    engine.db.execute("delete from work_unit")
    rows = engine.db.execute(
        """select visit_no, state_code, entered_at, left_at, entry_event_type, request_id
           from step_run_state_history where step_run_id = %s order by visit_no""",
        ((run_id << 20) + 1,),
    ).fetchall()
    assert [(row[0], row[1], row[4]) for row in rows] == [
        (1, "not_started", "workflow.started"),
        (2, "ready", "step.ready"),
        (3, "in_progress", "step.started"),
        (4, "failed", "step.failed"),
        (5, "in_progress", "step.retry"),
        (6, "completed", "step.completed"),
    ]
    assert all(row[2] is not None for row in rows)
    assert [row[3] for row in rows[:-1]] == [row[2] for row in rows[1:]]
    assert rows[-1][3] is None
    assert (rows[2][2] - rows[1][2]).total_seconds() >= 10
    assert [row[5] for row in rows[2:]] == [1, 1, 2, 2]


def test_the_first_listed_state_of_a_job_is_ready(engine: Engine):
    (job_id,) = engine.enqueue("op")
    engine.drain(engine.worker())
    states = engine.db.execute(
        "select state_code from step_run_state_history where step_run_id = %s order by visit_no", (job_id,)
    ).fetchall()
    assert states == [("ready",), ("in_progress",), ("completed",)]


def test_the_health_of_the_queue_is_one_row_for_each_executor(engine: Engine, clock: Clock):
    engine.enqueue("op", 6)
    engine.enqueue("op", 3, p_concurrency_key="k")
    engine.enqueue("op", 2, p_process_after=clock.now().replace(year=2090))
    session = engine.worker()
    leases = engine.claim(session, 5)
    engine.report(session, (leases[0], "failed", {"error": {"type": "E"}, "delay_seconds": 60}))
    engine.report(session, (leases[1], "sleep", {"seconds": 60}))
    engine.report(session, (leases[2], "waiting", {"event": "x"}))
    engine.kill(session, leases[3])
    row = engine.db.execute(
        """select ready_count, line_count, leased_count, retry_waiting_count, parked_count, scheduled_count,
               dead_count, worker_count, slot_count, oldest_ready_age is not null
           from v_queue_health where executor = 'default'"""
    ).fetchone()
    assert row == (2, 2, 1, 1, 2, 2, 1, 1, 100, True)
    assert engine.one("select worker_count from v_queue_health where executor = 'process'") == 0


def test_heartbeats_show_which_worker_is_silent(engine: Engine, clock: Clock):
    engine.worker("silent", lease_seconds=5)
    clock.advance(seconds=6)
    engine.beat(engine.worker("both", ["default", "process"]))
    engine.one("select fn_worker_close(%s)", (engine.worker("closed"),))
    rows = engine.db.execute(
        "select worker_name, executor_kind, status, last_ok_at is not null from queue_heartbeat order by 1, 2"
    ).fetchall()
    assert rows == [
        ("both", "default", "alive", True),
        ("both", "process", "alive", True),
        ("closed", "default", "closed", False),
        ("silent", "default", "silent", False),
    ]


def test_the_timeline_of_a_trace_lists_its_events(engine: Engine):
    trace = "0af7651916cd43dd8448eb211c80319c"
    engine.publish("w", operation("a"))
    engine.db.execute("select fn_run_start(1, 'w', array['{}'::jsonb], p_trace_id => %s)", (trace,))
    engine.start("w")
    engine.drain(engine.worker())
    rows = engine.db.execute(
        """select workflow, step_id, event_type, description is not null from vw_audit_event_timeline
           where trace_id = %s order by event_id""",
        (trace,),
    ).fetchall()
    assert rows == [
        ("w", None, "workflow.started", True),
        ("w", "a", "step.ready", True),
        ("w", "a", "step.started", True),
        ("w", "a", "step.completed", True),
        ("w", None, "workflow.completed", True),
    ]


def test_a_run_shows_its_counts_and_its_colour(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), human("c"))
    run_id = engine.start("w")
    session = engine.worker()
    engine.complete(session, *engine.claim(session))
    assert engine.db.execute(
        """select workflow, version_no, state_code, rollup_state_code, open_count, mandatory_count,
               completed_count, idle_count, active_count from workflow_run where run_id = %s""",
        (run_id,),
    ).fetchone() == ("w", 1, "in_progress", "green", 2, 3, 1, 1, 2)


def test_a_task_is_a_row_under_its_step(engine: Engine):
    engine.publish("w", human("sign"))
    unit_id = engine.unit(engine.start("w"), "sign")
    engine.db.execute(
        """insert into work_unit (tenant_id, unit_id, parent_id, pic_id, last_transition_at, scope,
               state_machine_id, state_code)
           values (1, %s, %s, 7, now(), 'task', 'task.1', 'not_started')""",
        (unit_id + 100, unit_id),
    )
    assert engine.db.execute(
        "select task_run_id, step_run_id, pic_id, state_code from task_run"
    ).fetchall() == [(unit_id + 100, unit_id, 7, "not_started")]
