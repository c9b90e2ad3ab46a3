"""Workspaces below the tenant: in starts, in the turns of a claim, in caps and in views."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.define import Map, Operation, Workflow, freeze
from tests.sql.drive import Engine, operation, subworkflow


def start(
    engine: Engine, workflow: str, workspace: str | None, count: int = 1, given: Any = None
) -> list[int]:
    rows = engine.db.execute(
        "select run_id from fn_run_start(1, %s, %s::jsonb[], p_workspace => %s)",
        (workflow, [Jsonb(given or {})] * count, workspace),
    )
    return [run_id for (run_id,) in rows]


def make(engine: Engine, name: str, **caps: Any) -> int:
    made: int = engine.one("select fn_workspace_set(1, %s, %s)", (name, Jsonb(caps)))
    return made


@pytest.mark.requirement("RT-13")
def test_a_small_workspace_gets_its_turn_beside_a_large_one(engine: Engine):
    engine.publish("w", operation("a"), operation("b"))
    large, small = make(engine, "large"), make(engine, "small")
    start(engine, "w", "large", 200)
    few = start(engine, "w", "small", 10)
    session = engine.worker()
    leases = engine.claim(session, 20)
    turns = Counter(lease.unit_id >> 20 in few for lease in leases)
    assert turns[True] == turns[False] == 10
    rows = engine.db.execute("select distinct workspace_id from job_ready").fetchall()
    assert rows == [(large,)]
    # The next steps of a run stay in its workspace.
    engine.complete(session, *leases)
    assert {lease.unit_id >> 20 in few for lease in engine.claim(session, 20)} == {True, False}
    view = "select workspace_id, workspace from workflow_run where run_id = %s"
    assert engine.db.execute(view, (few[0],)).fetchone() == (small, "small")
    for view, run in (("runtime_run", "run_id"), ("runtime_step", "run_id"), ("job_queue", "workflow_id")):
        rows = engine.db.execute(f"select distinct workspace_id from {view} where {run} = %s", (few[0],))
        assert (view, rows.fetchall()) == (view, [(small,)])
    assert engine.faults() == {}


@pytest.mark.requirement("RT-13")
def test_sub_runs_items_and_retries_stay_in_the_workspace_and_count_for_its_cap(engine: Engine):
    engine.publish("inner", operation("i"))
    items = freeze(Workflow("items", Map("$.input.list", Operation("x"), id="all")))
    engine.db.execute("select fn_workflow_publish(1, %s, 'test')", (items.canonical.decode(),))
    engine.publish("outer", subworkflow("call", "inner"))
    engine.publish("plain", operation("a", retry={"max_attempts": 3}))
    make(engine, "capped", max_concurrency=2)
    start(engine, "items", "capped", given={"list": [1, 2, 3]})
    start(engine, "outer", "capped")
    start(engine, "plain", "capped")
    free = start(engine, "plain", None)
    session = engine.worker()
    seen = 0
    while leases := engine.claim(session):
        inside = [lease for lease in leases if lease.unit_id >> 20 not in free]
        assert len(inside) <= 2
        seen += len(inside)
        if seen <= 2:
            engine.report(session, (leases[0], "failed", {"error": {"type": "E"}, "delay_seconds": 1}))
            engine.db.execute("update timer set due_at = stepwell.now()")
            engine.timers()
            leases = leases[1:]
        engine.complete(session, *leases)
    assert (
        engine.one(
            "select count(*) from work_unit where scope = 'workflow_run' and state_code <> 'completed'"
        )
        == 0
    )
    inner = engine.one("select count(*) from workflow_run where workflow = 'inner' and workspace = 'capped'")
    assert inner == 1
    assert engine.faults() == {}


@pytest.mark.requirement("RT-13")
def test_a_workspace_has_caps_of_its_own(engine: Engine):
    engine.publish("w", operation("a"))
    make(engine, "slow", max_runs_per_min=2, max_writes_per_run=1)
    (run_id,) = start(engine, "w", "slow")
    assert engine.one("select _writes_cap(1, %s)", (run_id,)) == 1
    assert engine.one("select _writes_cap(1, %s)", (start(engine, "w", None)[0],)) == 1000
    with pytest.raises(psycopg.DatabaseError, match="workspace slow may start 2 runs a minute; try again at"):
        start(engine, "w", "slow", 2)
    start(engine, "w", "slow")
    with pytest.raises(psycopg.DatabaseError, match="workspace slow may start 2 runs a minute"):
        start(engine, "w", "slow")
    start(engine, "w", None, 5)
    make(engine, "slow", max_runs_per_min=None)
    start(engine, "w", "slow", 5)


@pytest.mark.requirement("RT-13")
def test_an_unknown_workspace_or_setting_is_named(engine: Engine):
    engine.publish("w", operation("a"))
    make(engine, "retail")
    with pytest.raises(psycopg.DatabaseError, match="workspace retial does not exist") as found:
        start(engine, "w", "retial")
    assert found.value.diag.message_hint == "known are retail"
    with pytest.raises(psycopg.DatabaseError, match="workspace: 1 to 63 lowercase letters"):
        make(engine, "Retail Shops")
    with pytest.raises(psycopg.DatabaseError, match="weight: is not a setting"):
        make(engine, "retail", weight=3)
    for settings in ("[]", "null", "5", None):
        with pytest.raises(psycopg.DatabaseError, match="settings: an object is required, with max_conc"):
            engine.one("select fn_workspace_set(1, 'retail', %s)", (settings,))
    assert engine.one("select count(*) from run_detail") == 0


# -- jobs and schedules --------------------------------------------------------------------------------------


def enqueue(engine: Engine, workspace: str | None, count: int, **more: Any) -> list[int]:
    words = "".join(f", p_{name} => %s" for name in more)
    rows = engine.db.execute(
        f"select job_id from fn_job_enqueue(1, 'op', %s::jsonb[], p_workspace => %s{words})",
        ([Jsonb({})] * count, workspace, *more.values()),
    )
    return [job_id for (job_id,) in rows]


@pytest.mark.requirement("RT-13")
def test_jobs_of_a_small_workspace_get_their_turn_also_after_a_retry(engine: Engine):
    make(engine, "large")
    small = make(engine, "small")
    enqueue(engine, "large", 100)
    few = enqueue(engine, "small", 5)
    none = enqueue(engine, None, 1)
    session = engine.worker()
    leases = engine.claim(session, 9)
    turns = Counter("small" if lease.unit_id in few else lease.unit_id in none for lease in leases)
    assert (turns["small"], turns[True]) == (4, 1)
    view = "select workspace_id from job_queue where job_id = %s"
    assert (engine.one(view, (few[0],)), engine.one(view, (none[0],))) == (small, None)
    # Failed, lost and delayed jobs come back to the lane of their workspace.
    mine = [lease for lease in leases if lease.unit_id in few]
    engine.report(
        session, *((lease, "failed", {"error": {"type": "E"}, "delay_seconds": 1}) for lease in mine[:2])
    )
    later = enqueue(engine, "small", 1, process_after="2020-01-01")
    engine.db.execute("update timer set due_at = stepwell.now()")
    engine.timers()
    engine.db.execute("update worker_session set expires_at = stepwell.now() - interval '1 s'")
    engine.db.execute("select fn_leases_recover()")
    rows = "select unit_id from job_ready where workspace_id = %s order by 1"
    found = [unit for (unit,) in engine.db.execute(rows, (small,))]
    assert found == sorted([*few, *later])
    assert engine.faults() == {}
    engine.drain(engine.worker("other"))
    assert engine.one("select count(*) from work_unit where state_code <> 'completed'") == 0
    assert engine.faults() == {}


@pytest.mark.requirement("RT-13")
def test_the_caps_of_a_workspace_hold_for_its_jobs(engine: Engine):
    make(engine, "capped", max_concurrency=2, max_writes_per_run=3)
    jobs = enqueue(engine, "capped", 5)
    session = engine.worker()
    seen = 0
    while leases := engine.claim(session):
        assert len(leases) <= 2
        seen += len(leases)
        engine.complete(session, *leases)
    assert seen == 5
    assert engine.one("select _writes_cap(1, %s)", (jobs[0] >> 20,)) == 3
    # A key of its own is used instead.
    enqueue(engine, "capped", 5, concurrency_key="k", max_concurrency=4)
    assert len(engine.claim(session)) == 4
    with pytest.raises(psycopg.DatabaseError, match="workspace cupped does not exist"):
        enqueue(engine, "cupped", 1)
    assert engine.faults() == {}


@pytest.mark.requirement("RT-13")
def test_the_runs_of_a_schedule_belong_to_its_workspace(engine: Engine):
    engine.publish("w", operation("a"))
    make(engine, "retail")
    put = """select fn_schedule_set(1, 'nightly', 'w', '0 3 * * *', 'UTC', '{}', 'latest', 10,
        stepwell.now() - interval '1 s', 'ada', p_workspace => %s)"""
    with pytest.raises(psycopg.DatabaseError, match="workspace retial does not exist"):
        engine.one(put, ("retial",))
    engine.one(put, ("retail",))
    assert engine.one("select workspace from v_schedule") == "retail"
    fire = """select run_id from workflow_schedule as s, fn_schedule_fire(1, 'nightly', s.next_at,
        array[s.next_at], s.next_at + interval '1 day')"""
    run_id = engine.one(fire)
    assert engine.one("select workspace from workflow_run where run_id = %s", (run_id,)) == "retail"
    assert engine.faults() == {}
