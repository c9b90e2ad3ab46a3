"""Steps of workers and of the engine have deadlines too: T5 to T7, and no retry after the deadline."""

from __future__ import annotations

from datetime import timedelta

import pytest
from psycopg.types.json import Jsonb

import stepwell as sw
from stepwell.define import freeze, read_yaml
from tests.sql.drive import Engine, human, operation, subworkflow, wait
from tests.support.clock import Clock

FAILED = {"error": {"type": "ConnectionError", "message": "no"}, "failure_class": "connection"}


def timers(engine: Engine) -> list[tuple[int, str]]:
    return engine.db.execute("select unit_id, timer_kind from timer order by 1, 2").fetchall()


@pytest.mark.requirement("SM-25", "SM-11")
def test_a_step_of_a_worker_is_overdue_recovers_and_completes_late(engine: Engine, clock: Clock):
    engine.publish("w", operation("first"), operation("call", deadline=60))
    run_id = engine.start("w")
    session = engine.worker(lease_seconds=36000)
    engine.complete(session, *engine.claim(session))
    call = engine.unit(run_id, "call")
    # The deadline counts from the time it became ready.
    due = engine.one("select deadline_at - last_transition_at from step_run where step_run_id = %s", (call,))
    assert due == timedelta(seconds=60)
    leases = engine.claim(session)
    clock.advance(seconds=61)
    engine.timers()
    assert engine.state(call) == "overdue"
    engine.db.execute("select fn_person_set(1, 'ada', '{operator}')")
    later = engine.one("select stepwell.now() + interval '1 hour'")
    engine.one("select fn_step_deadline_change(1, %s, 'ada', %s, 'more time')", (call, later))
    assert engine.state(call) == "in_progress"
    clock.advance(hours=2)
    engine.timers()
    assert engine.state(call) == "overdue"
    assert engine.complete(session, *leases) == []
    assert engine.state(call) == "completed"
    row = engine.db.execute(
        """select completed_after_deadline, overdue_first_at is not null, sla_breach_duration > '0'
           from step_run where step_run_id = %s""",
        (call,),
    ).fetchone()
    assert row == (True, True, True)
    assert engine.events(call)[2:] == [
        "step.overdue", "step.deadline_changed", "step.recovered_from_overdue", "step.overdue",
        "step.completed",
    ]  # fmt: skip
    assert timers(engine) == []
    assert engine.faults() == {}


@pytest.mark.requirement("SM-25")
@pytest.mark.requirement("RT-08")
def test_no_retry_is_later_than_the_deadline_and_none_follows_it(engine: Engine, clock: Clock):
    # Without the deadline the pause would be at least 900 seconds.
    retry = {"max_attempts": 50, "delays_seconds": [1000]}
    engine.publish("w", operation("call", deadline=120, retry=retry))
    run_id = engine.start("w")
    call = engine.unit(run_id, "call")
    session = engine.worker(lease_seconds=36000)
    engine.report(session, (engine.claim(session)[0], "failed", FAILED))
    retry_at, deadline = engine.db.execute(
        "select next_eligible_at, deadline_at from step_run where step_run_id = %s", (call,)
    ).fetchone()
    assert retry_at <= deadline
    clock.advance(seconds=121)
    engine.timers()
    (lease,) = engine.claim(session)
    # It begins after its deadline, so it is overdue at once, and this was its last attempt.
    engine.timers()
    assert engine.state(call) == "overdue"
    engine.report(session, (lease, "failed", FAILED))
    assert engine.state(call) == "cannot_complete"
    assert engine.run_state(run_id) == "failed"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-25")
def test_steps_of_the_engine_have_deadlines(engine: Engine, clock: Clock):
    engine.publish("inner", operation("deep"))
    engine.publish("w", subworkflow("sub", "inner", deadline=30), wait("paid", "paid", deadline=30), edges=[])
    run_id = engine.start("w")
    clock.advance(seconds=31)
    engine.timers()
    assert engine.states(run_id) == {"sub": "overdue", "paid": "waiting"}
    late = engine.one("select overdue_first_at is not null from step_run where step_id = 'paid'")
    assert late
    engine.db.execute("select fn_signal(1, %s, 'paid', '{}', 'k')", (run_id,))
    engine.drain(engine.worker())
    assert engine.run_state(run_id) == "completed"
    assert timers(engine) == []
    assert engine.faults() == {}


@pytest.mark.requirement("SM-25")
def test_a_step_without_a_deadline_has_no_timer(engine: Engine):
    engine.publish("w", operation("a"), operation("b"))
    engine.start("w")
    session = engine.worker()
    assert timers(engine) == []
    engine.complete(session, *engine.claim(session))
    assert timers(engine) == []
    assert engine.one("select count(*) from work_unit where has_deadline or deadline_at is not null") == 0


@pytest.mark.requirement("SM-25")
def test_python_and_yaml_write_deadlines_and_the_class(engine: Engine):
    body = sw.Sequential(
        sw.Operation("call", deadline="2h"),
        sw.Wait("paid", deadline="1d"),
        sw.SubWorkflow("inner", deadline=90),
        sw.Map("$.input.items", sw.Operation("each", deadline="5m"), deadline="3h"),
    )
    graph = freeze(sw.Workflow("w", body, workflow_class="urgent"))
    assert {step.id: step.deadline for step in graph.steps} == {
        "call": 7200, "paid": 86400, "inner": 90, "map.each": 10800, "each": 300,
    }  # fmt: skip
    text = """
workflow: w
workflow_class: urgent
steps:
  - operation: call
    deadline: 2h
  - wait: paid
    deadline: 1d
  - workflow: inner
    deadline: 90
  - map: $.input.items
    deadline: 3h
    do: {operation: each, deadline: 5m}
"""
    assert freeze(read_yaml(text)).canonical == graph.canonical
    engine.publish("inner", operation("deep"))
    engine.db.execute("select fn_workflow_publish(1, %s, 'test')", (Jsonb(graph.to_json()),))
    rows = engine.db.execute(
        "select step_id from workflow_step_def where has_deadline order by step_no"
    ).fetchall()
    assert [step_id for (step_id,) in rows] == ["call", "paid", "inner", "map.each", "each"]
    with pytest.raises(sw.DefinitionError, match="deadline"):
        sw.Operation("call", deadline="soon")


@pytest.mark.requirement("SM-25")
def test_fn_step_pic_resolves(engine: Engine):
    engine.publish("w", human("sign"), operation("call"))
    run_id = engine.start("w")
    sign, call = engine.unit(run_id, "sign"), engine.unit(run_id, "call")
    engine.person("ada")
    asked = "select fn_step_pic_resolves(%s)"
    assert not engine.one(asked, (sign,))
    engine.one("select fn_step_claim(1, %s, 'ada')", (sign,))
    assert engine.one(asked, (sign,))
    assert not engine.one(asked, (call,))
    assert not engine.one(asked, (4711,))
    engine.db.execute("select fn_person_set(1, 'ada', p_is_active => false)")
    assert not engine.one(asked, (sign,))


@pytest.mark.requirement("SM-19")
def test_the_class_of_a_workflow_decides_when_a_block_is_red(engine: Engine, clock: Clock):
    engine.db.execute(
        """insert into dot_config (config_key, config_value, description)
           values ('block_severity.threshold_seconds.urgent', '60', 'in this test')"""
    )
    engine.person("ada")
    # The first step of a chain would be on the critical path: block the second of two.
    for name, given in (("calm", {}), ("fast", {"workflow_class": "urgent"})):
        engine.publish(name, operation("a"), human("sign"), edges=[], **given)
    signs = [engine.unit(engine.start(name), "sign") for name in ("calm", "fast")]
    for sign in signs:
        engine.one("select fn_step_claim(1, %s, 'ada')", (sign,))
        engine.one("select fn_step_block(1, %s, 'ada', 'missing_iu')", (sign,))
    asked = "select array_agg(fn_step_blocked_severity(x) order by x) from unnest(%s::bigint[]) as x"
    assert engine.one(asked, (signs,)) == ["yellow_dark", "yellow_dark"]
    clock.advance(seconds=61)
    engine.timers()
    assert engine.one(asked, (signs,)) == ["yellow_dark", "red"]
    assert engine.one("select workflow_class from v_workflow where name = 'fast'") == "urgent"
    engine.publish("fast", operation("a"), human("sign"), edges=[])
    assert engine.one("select workflow_class from v_workflow where name = 'fast'") == "default"
    assert engine.faults() == {}
