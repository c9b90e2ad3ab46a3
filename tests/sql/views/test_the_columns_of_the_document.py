"""The views have every column of the source document (000, section 2.2) by its name, with its value."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.sql.drive import Engine, human, operation
from tests.support.clock import Clock

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


@pytest.mark.requirement("SM-21")
def test_the_columns_follow_the_work(engine: Engine, clock: Clock):
    engine.person("ada")
    ada = engine.one("select person_id from person where name_key = 'ada'")
    engine.publish("w", human("sign", assignee="ada", tasks=[{"id": "read", "assignee": "ada"}]))
    run_id = engine.start("w")
    sign, read = engine.unit(run_id, "sign"), engine.one("select task_run_id from task_run")
    units = (("step_run", "step_run_id", sign), ("task_run", "task_run_id", read))
    state = "state_machine_id, state_code, waiting_facet, pic_id"
    for view, key, unit in units:
        clock.advance(minutes=1)
        engine.db.execute("select fn_step_claim(1, %s, 'ada')", (unit,))
        engine.db.execute("select fn_step_wait(1, %s, 'ada', '{waiting_human}')", (unit,))
        machine = view.replace("_run", ".1")
        query = f"select {state}, completed_at from {view} where {key} = %s"
        found = engine.db.execute(query, (unit,)).fetchone()
        assert found == (machine, "waiting", "waiting_human", ada, None)
        engine.db.execute("select fn_step_resume(1, %s, 'ada', 'note:1')", (unit,))
    for view, key, unit in reversed(units):
        clock.advance(minutes=1)
        engine.db.execute("select fn_step_complete(1, %s, 'ada', '{}')", (unit,))
        query = f"""
            select state_code, waiting_facet, date_trunc('minute', started_at - r.created_at),
                date_trunc('minute', s.completed_at - s.started_at), s.last_transition_at = s.completed_at
            from {view} as s inner join run_detail as r on s.workflow_run_id = r.run_id where {key} = %s
        """
        started, took = (1, 3) if unit == sign else (2, 1)
        assert engine.db.execute(query, (unit,)).fetchone() == (
            "completed", None, timedelta(minutes=started), timedelta(minutes=took), True,
        )  # fmt: skip
    run = engine.db.execute(
        """select r.state_machine_id, r.rollup_state_code, r.last_rollup_at = s.completed_at, v.version_no
           from workflow_run as r inner join step_run as s on r.workflow_run_id = s.workflow_run_id
           inner join workflow_version as v on r.workflow_def_id = v.version_id"""
    ).fetchone()
    assert run == ("workflow_run.1", "green", True, 1)
