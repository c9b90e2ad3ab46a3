"""The views have every column of the source document (000, section 2.2) by its name, with its value."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, human, operation

ENVELOPE = (
    "state_machine_id state_code waiting_facet pinned_iu_version_id pic_id executor_class_ref started_at"
    " completed_at last_transition_at trace_id correlation_id"
)
# Written from the document: table, then its columns.
COLUMNS = {
    "step_run": f"step_run_id workflow_run_id step_def_id {ENVELOPE}",
    "task_run": f"task_run_id step_run_id {ENVELOPE}",
    "workflow_run": (
        "workflow_run_id workflow_def_id state_machine_id rollup_state_code rollup_basis_jsonb last_rollup_at"
    ),
}


@pytest.mark.requirement("SM-21")
def test_every_column_is_there_and_has_its_value(engine: Engine):
    for view, columns in COLUMNS.items():
        found = engine.one(
            """select array_agg(attname::text) from pg_attribute
               where attrelid = %s::regclass and attnum > 0 and not attisdropped""",
            (f"stepwell.{view}",),
        )
        assert set(columns.split()) <= set(found), view
    engine.person("ada")
    engine.db.execute("select fn_content_write(1, 'how-to', 'Read this', 'ada')")
    tasks = [{"id": "read", "assignee": "ada"}]
    engine.publish("w", human("sign", content="how-to", tasks=tasks), operation("call"))
    run_id = engine.one(
        """select run_id from fn_run_start(1, 'w', array['{}'::jsonb], null, p_actor => 'test',
               p_trace_id => '0af7651916cd43dd8448eb211c80319c', p_correlation_id => 'c-1')"""
    )
    sign = engine.unit(run_id, "sign")
    row = engine.db.execute(
        """select s.workflow_run_id, s.correlation_id, s.trace_id, s.executor_class_ref, d.step_id, v.body
           from step_run as s
           inner join workflow_step_def as d
               on s.step_def_id >> 20 = d.version_id and s.step_def_id & 1048575 = d.step_no
           inner join information_unit_version as v
               on s.pinned_iu_version_id >> 20 = v.iu_id and s.pinned_iu_version_id & 1048575 = v.version_no
           where s.step_run_id = %s""",
        (sign,),
    ).fetchone()
    assert row == (run_id, "c-1", "0af7651916cd43dd8448eb211c80319c", None, "sign", "Read this")
    task = engine.db.execute(
        "select workflow_run_id, step_run_id, correlation_id, pinned_iu_version_id is not null from task_run"
    ).fetchone()
    assert task == (run_id, sign, "c-1", True)
    run = engine.db.execute(
        "select workflow_run_id, rollup_state_code, rollup_basis_jsonb from workflow_run where run_id = %s",
        (run_id,),
    ).fetchone()
    assert run[:2] == (run_id, "green")
    assert run[2]["basis_step_run_ids"] == [sign]
    assert engine.one("select executor_class_ref from step_run where step_id = 'call'") == "default"
