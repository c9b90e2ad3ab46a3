"""Makes one stuck unit for each cause, by the functions of the engine: receives a stage, returns the unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

import stepwell as sw
from tests.sql.drive import Engine, Lease, human, operation, subworkflow, wait
from tests.sql.graphs.publishing import start
from tests.sql.people.asking import People
from tests.sql.problem.conftest import TRIGGERS
from tests.support.clock import Clock
from tests.worker.acting import put_in_force, rule


@dataclass(frozen=True)
class Stage:
    engine: Engine
    clock: Clock
    people: People
    # A second session of the database; what it locks stays locked until the test ends.
    other: psycopg.Connection


Situation = Callable[[Stage], int]


def step(stage: Stage, *steps: dict[str, Any], of: str = "a", **graph: Any) -> int:
    """A step of a new run of these steps."""
    stage.engine.publish("w", *steps, **graph)
    return stage.engine.unit(stage.engine.start("w"), of)


def leased(stage: Stage) -> tuple[int, Lease]:
    session = stage.engine.worker("ada")
    return session, stage.engine.claim(session)[0]


def ended(stage: Stage) -> int:
    unit = step(stage, operation("a"))
    stage.engine.drain(stage.engine.worker())
    return unit


def dead(stage: Stage) -> int:
    unit = step(stage, operation("a"))
    session, lease = leased(stage)
    stage.engine.kill(session, lease)
    return unit


def writes_used(stage: Stage) -> int:
    put_in_force(stage.engine.db, rule("free", "allow"))
    stage.engine.db.execute("update tenant set max_writes_per_run = 0")
    unit = step(stage, operation("a"))
    session, lease = leased(stage)
    action = {"connector": "c", "operation": "o", "target": "t", "call": "x", "fields": {}}
    ask = "select fn_action_propose(%s, 1, %s, %s, %s)"
    said = stage.engine.one(ask, (session, lease.unit_id, lease.lease_no, Jsonb(action)))
    assert said["reason_code"] == "writes_exhausted"
    stage.engine.kill(session, lease)
    return unit


def at_work(stage: Stage) -> int:
    unit = step(stage, operation("a"))
    leased(stage)
    return unit


def of_a_person(stage: Stage) -> int:
    unit = step(stage, human("a"))
    stage.people.claim(unit, "ada")
    return unit


def held(stage: Stage) -> int:
    unit = step(stage, operation("a"))
    stage.engine.worker()
    stage.engine.one("select fn_hold_open(1, 'operation', 'a', 'the bank is down', 'cli:op')")
    return unit


def with_a_frozen_worker(stage: Stage) -> int:
    return _stopped(stage, "frozen")


def with_a_draining_worker(stage: Stage) -> int:
    return _stopped(stage, "drain")


def _stopped(stage: Stage, kind: str) -> int:
    unit = step(stage, operation("a"))
    number = stage.engine.session_id(stage.engine.worker())
    stage.engine.db.execute("select fn_worker_stop(1, %s, %s, 'op', 'a bad disk')", (number, kind))
    return unit


def with_a_frozen_executor(stage: Stage) -> int:
    unit = step(stage, operation("a"))
    stage.engine.worker()
    stage.engine.db.execute("select fn_executor_freeze(1, 'default', 'op', 'a bad disk')")
    return unit


def paused(stage: Stage) -> int:
    unit = step(stage, operation("a"))
    stage.engine.one("select fn_run_pause(1, %s, 'cli:ada')", (unit >> 20,))
    return unit


def under_a_paused_parent(stage: Stage) -> int:
    """The run around the sub-workflow is paused: what comes after the sub-workflow does not start."""
    stage.engine.publish("inner", operation("x"))
    unit = step(stage, subworkflow("call", "inner"), operation("a"))
    stage.engine.one("select fn_run_pause(1, %s, 'cli:ada')", (unit >> 20,))
    stage.engine.drain(stage.engine.worker())
    return unit


def behind_others(stage: Stage) -> int:
    return step(stage, operation("b"), operation("a"))


def in_an_open_branch(stage: Stage) -> int:
    choice = sw.Conditional("$.steps.b.output.ok", then=sw.Operation("a"), id="choice")
    run_id = start(stage.engine, sw.Sequential(sw.Operation("b"), choice))
    return stage.engine.unit(run_id, "a")


def for_later(stage: Stage) -> int:
    (job_id,) = stage.engine.enqueue("a", p_process_after=stage.clock.now().replace(year=2099))
    return job_id


def failed(stage: Stage) -> int:
    unit = step(stage, operation("a", retry={"max_attempts": 3}))
    session, lease = leased(stage)
    body = {"error": {"type": "E"}, "delay_seconds": 60}
    stage.engine.report(session, (lease, "failed", body))
    return unit


def without_a_keeper(stage: Stage) -> int:
    unit = failed(stage)
    stage.clock.advance(seconds=3600)
    return unit


def assigned(stage: Stage) -> int:
    unit = step(stage, human("a"))
    stage.people.assign(unit, "ben", "cli:op")
    return unit


def of_a_role(stage: Stage) -> int:
    return step(stage, human("a", role="office"))


def of_anyone(stage: Stage) -> int:
    return step(stage, human("a"))


def parked(stage: Stage) -> int:
    unit = of_a_person(stage)
    stage.people.wait(unit, "ada", ["waiting_external"])
    return unit


def beyond_the_rate(stage: Stage) -> int:
    rate = {"p_concurrency_key": "crm", "p_rate_count": 1, "p_rate_seconds": 60.0}
    return stage.engine.enqueue("a", 2, **rate)[1]


def beyond_the_key(stage: Stage) -> int:
    return stage.engine.enqueue("a", 2, p_concurrency_key="crm", p_max_concurrency=1)[1]


def beyond_the_workflow(stage: Stage) -> int:
    stage.engine.publish("w", operation("a"))
    stage.engine.db.execute("select fn_workflow_caps_set(1, 'w', %s)", (Jsonb({"max_concurrency": 1}),))
    stage.engine.start("w")
    return stage.engine.unit(stage.engine.start("w"), "a")


def beyond_the_workspace(stage: Stage) -> int:
    stage.engine.publish("w", operation("a"))
    stage.engine.db.execute("select fn_workspace_set(1, 'lab', %s)", (Jsonb({"max_concurrency": 1}),))
    query = "select run_id from fn_run_start(1, 'w', array['{}', '{}']::jsonb[], p_workspace => 'lab')"
    runs = [run_id for (run_id,) in stage.engine.db.execute(query)]
    return stage.engine.unit(runs[1], "a")


def beyond_the_tenant(stage: Stage) -> int:
    stage.engine.db.execute("select fn_tenant_set('default', %s)", (Jsonb({"max_concurrency": 1}),))
    ids = stage.engine.enqueue("a", 2)
    assert len(stage.engine.claim(stage.engine.worker())) == 1
    return ids[1]


def without_a_worker(stage: Stage) -> int:
    stage.engine.worker(classes=["process"])
    return step(stage, operation("a"))


def without_a_handler(stage: Stage) -> int:
    stage.engine.worker(serves=["b"])
    return step(stage, operation("a"))


def locked_in_the_queue(stage: Stage) -> int:
    """Its row is locked by a transaction that stays open, so claims skip it."""
    unit = step(stage, operation("a"))
    session = stage.engine.worker()
    stage.other.execute("select from stepwell.job_ready for update")
    assert stage.engine.claim(session) == []
    return unit


def retry_of_a_locked_run(stage: Stage) -> int:
    """A retry counts in its run; the row of the run is locked by a transaction that stays open."""
    unit = failed(stage)
    stage.clock.advance(seconds=61)
    stage.engine.timers()
    session = stage.engine.worker()
    stage.other.execute("select from stepwell.run_progress for update")
    assert stage.engine.claim(session) == []
    return unit


def in_the_queue(stage: Stage) -> int:
    stage.engine.worker()
    return step(stage, operation("a"))


def before_an_approval(stage: Stage) -> int:
    put_in_force(stage.engine.db, rule("asks", "needs_approval"))
    unit = step(stage, operation("a"))
    session, lease = leased(stage)
    action = {"connector": "c", "operation": "o", "target": "t", "call": "x", "fields": {}}
    ask = "select fn_action_propose(%s, 1, %s, %s, %s)"
    said = stage.engine.one(ask, (session, lease.unit_id, lease.lease_no, Jsonb(action)))
    body = {"event": f"approval.decided.{said['approval_id']}", "facet": "waiting_human"}
    stage.engine.report(session, (lease, "waiting", body))
    return unit


def before_an_event(stage: Stage) -> int:
    return step(stage, wait("a", "parcel.came", timeout_seconds=3600))


def before_an_event_without_end(stage: Stage) -> int:
    return step(stage, wait("a", "parcel.came"))


def around_a_run(stage: Stage) -> int:
    stage.engine.publish("inner", operation("x"))
    return step(stage, subworkflow("a", "inner"))


def around_items(stage: Stage) -> int:
    run_id = start(stage.engine, sw.Map("$.input.items", sw.Operation("b"), id="a"), {"items": [1, 2]})
    return stage.engine.unit(run_id, "a")


def blocked(stage: Stage) -> int:
    unit = of_a_person(stage)
    stage.people.block(unit, "ada", "missing_iu")
    return unit


def receipt(stage: Stage) -> int:
    """The effect may have happened: the attempt that made it died before it told."""
    put_in_force(stage.engine.db, rule("free", "allow"))
    step(stage, operation("a"))
    session, lease = leased(stage)
    action = {"connector": "c", "operation": "o", "target": "t", "call": "x", "fields": {}}
    ask = "select fn_action_propose(%s, 1, %s, %s, %s)"
    said = stage.engine.one(ask, (session, lease.unit_id, lease.lease_no, Jsonb(action)))
    return int(said["receipt_id"])


def cut(stage: Stage) -> int:
    for body in ("one", "other"):
        stage.engine.one("select fn_content_write(1, 'manual', %s, 'ada')", (body,))
    parts = '[{"code": "b", "body": "x"}, {"code": "c", "body": "y"}]'
    found = stage.engine.one("select fn_iu_op_split(1, 'manual', %s, 'ada')", (parts,))
    assert found["state_code"] == "failed"
    return int(found["cut_request_id"])


def set_aside(stage: Stage) -> int:
    unit = for_later(stage)
    stage.engine.db.execute("update timer set due_at = stepwell.now()")
    stage.engine.db.execute(TRIGGERS)
    stage.engine.db.execute("insert into public.poisoned values (%s, '22012')", (unit,))
    assert stage.engine.timers() == 0
    return unit


def lost(stage: Stage) -> int:
    """Somebody went around the engine and deleted its row of the queue."""
    unit = step(stage, operation("a"))
    stage.engine.db.execute("delete from job_ready")
    return unit
