"""A start creates run, steps and first jobs in one transaction; one key starts one run."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation, subworkflow

START = "select run_id, is_new from fn_run_start(1, 'w', %s::jsonb[], %s)"


@pytest.fixture(autouse=True)
def published(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), operation("c"), edges=[("a", "c"), ("b", "c")])


@pytest.mark.requirement("LN-01")
def test_every_step_exists_before_any_step_runs(engine: Engine):
    run_id = engine.start("w", {"order": 1})
    assert engine.states(run_id) == {"a": "ready", "b": "ready", "c": "not_started"}
    assert engine.one("select count(*) from job_ready") == 2
    assert engine.db.execute(
        "select open_count, mandatory_count, idle_count, active_count, rollup_state_code from run_progress"
    ).fetchone() == (3, 3, 1, 2, "green")
    assert engine.faults() == {}


@pytest.mark.requirement("LN-01")
def test_a_start_that_is_rolled_back_leaves_nothing(engine: Engine):
    """The run commits with the transaction of its caller, or not at all."""
    with engine.db.transaction(force_rollback=True):
        engine.start("w")
    for table in ("run_detail", "work_unit", "job_ready", "run_progress"):
        assert engine.one(f"select count(*) from {table}") == 0


@pytest.mark.requirement("RT-01")
def test_one_key_starts_one_run_and_returns_its_id(engine: Engine):
    inputs = [Jsonb({"n": n}) for n in range(3)]
    first = engine.db.execute(START, (inputs, ["x", "y", "z"])).fetchall()
    again = engine.db.execute(START, (inputs[:2], ["y", "new"])).fetchall()
    assert [is_new for _, is_new in first] == [True, True, True]
    assert again == [(first[1][0], False), (again[1][0], True)]
    assert engine.one("select count(*) from workflow_run") == 4


@pytest.mark.requirement("RT-01")
def test_a_run_stores_the_fields_of_its_start(engine: Engine):
    trace = "0af7651916cd43dd8448eb211c80319c"
    engine.db.execute(
        """select * from fn_run_start(1, 'w', %s::jsonb[], array['mail-7'], 'mail', 'ada', null, 5, %s,
               'corr')""",
        ([Jsonb({"n": 1})], trace),
    )
    assert engine.db.execute(
        """select workflow, version_no, state_code, trigger_type, trigger_ref, input, trace_id,
               correlation_id, started_by, priority from workflow_run"""
    ).fetchone() == ("w", 1, "in_progress", "mail", "mail-7", {"n": 1}, trace, "corr", "ada", 5)


@pytest.mark.parametrize(
    ("call", "sqlstate", "word"),
    [
        ("fn_run_start(1, 'nothing', array['{}'::jsonb])", "SW002", "nothing is not published"),
        ("fn_run_start(1, 'w', array['{}'::jsonb], p_version_no => 9)", "SW002", "version 9"),
        ("fn_run_start(1, 'w', '{}'::jsonb[])", "SW001", "inputs"),
        ("fn_run_start(1, 'w', array['[1]'::jsonb])", "SW001", "inputs"),
        ("fn_run_start(1, 'w', array['{}'::jsonb], array['a', 'b'])", "SW001", "trigger_refs"),
        ("fn_run_start(1, 'w', array['{}'::jsonb], array[''])", "SW001", "trigger_refs"),
        ("fn_run_start(1, 'w', array['{}'::jsonb], p_priority => 9999)", "SW001", "priority"),
        ("fn_run_start(1, 'w', array['{}'::jsonb], p_trace_id => 'x')", "SW001", "trace_id"),
        ("fn_run_start(1, 'w', array_fill('{}'::jsonb, array[10001]))", "SW006", "10001 runs"),
    ],
)
def test_an_error_names_the_wrong_field(engine: Engine, call: str, sqlstate: str, word: str):
    with pytest.raises(psycopg.Error) as caught:
        engine.db.execute(f"select * from {call}")
    assert caught.value.sqlstate == sqlstate
    assert word in str(caught.value)
    assert engine.one("select count(*) from run_detail") == 0


def test_an_input_over_the_limit_is_refused(engine: Engine):
    engine.db.execute("update dot_config set config_value = '100' where config_key = 'limits.payload_bytes'")
    with pytest.raises(psycopg.Error) as caught:
        engine.start("w", {"x": "y" * 200})
    assert caught.value.sqlstate == "SW006"


def test_a_sub_workflow_returns_its_result_to_the_step(engine: Engine):
    engine.publish("inner", operation("x"))
    engine.publish("outer", subworkflow("call", "inner"), operation("after"))
    run_id = engine.start("outer", {"n": 1})
    engine.drain(engine.worker())
    assert engine.run_state(run_id) == "completed"
    assert engine.one("select output from step_run where step_id = 'call'") == {"ok": True}
    inner = engine.db.execute(
        "select parent_run_id, depth, state_code, input from workflow_run where workflow = 'inner'"
    ).fetchone()
    assert inner == (run_id, 1, "completed", {"n": 1})
    assert engine.faults() == {}


def test_a_sub_workflow_that_is_not_published_fails_the_step(engine: Engine):
    engine.publish("outer", subworkflow("call", "nowhere"))
    run_id = engine.start("outer")
    assert engine.run_state(run_id) == "failed"
    assert "nowhere" in engine.one("select last_error ->> 'message' from step_run where step_id = 'call'")
    assert engine.faults() == {}
