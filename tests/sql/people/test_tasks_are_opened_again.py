"""Tasks have the transitions of steps: an ended task is corrected or repeated; tasks begin again with their
step.
"""

from __future__ import annotations

import pytest

from stepwell.define import Human, Operation, Parallel, Workflow, freeze
from stepwell.reactive import LogRow, Projection, UnitRow, call_events, paths_of
from tests.model.postgres_side import LOG
from tests.sql.drive import Engine
from tests.sql.people.asking import People, refused
from tests.sql.people.test_corrections_in_maps_and_sub_workflows import granted
from tests.sql.people.test_tasks_inside_a_step import started, states, tasks


def reopen(people: People, unit: int, approved: int | None = None) -> dict:
    approval = granted(people.engine, approved or unit)
    answer: dict = people.reopen_for_correction(unit, "ben", "data_error", approval)
    return answer


def do_the_rest(engine: Engine, people: People, step: int) -> None:
    """Every open task is done, by people and a worker, and then the step."""
    session = engine.worker()
    for lease in engine.claim(session):
        engine.complete(session, lease)
    for name, task in tasks(engine, step).items():
        who = {"count": "cleo", "sign": "ben"}.get(name, "ada")
        if engine.state(task) == "ready":
            people.claim(task, who)
        if engine.state(task) == "in_progress":
            people.complete(task, who, {"n": 1})
    if engine.state(step) == "ready":
        people.claim(step, "ada")
    people.complete(step, "ada")
    engine.drain(session)


@pytest.mark.requirement("SM-12", "SM-14")
def test_the_tasks_of_a_corrected_step_begin_again(engine: Engine, people: People):
    step = started(engine)
    inside = tasks(engine, step)
    people.claim(step, "ada")
    people.claim(inside["count"], "cleo")
    people.complete(inside["count"], "cleo", {"n": 1})
    people.cannot_complete(step, "ada", "note:1")
    assert states(engine, step)["sign"] == "cancelled"
    reopen(people, step)
    assert states(engine, step) == {
        "count": "completed", "sign": "ready", "label": "ready", "export": "skipped",
    }  # fmt: skip
    assert engine.events(inside["sign"])[-2:] == ["task.reinstated", "task.ready"]
    do_the_rest(engine, people, step)
    assert engine.state(step) == "completed"
    assert engine.run_state(step >> 20) == "completed"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-12", "SM-14")
@pytest.mark.parametrize("ended", ["completed", "cannot_complete"])
def test_an_ended_task_is_corrected_inside_its_open_step(engine: Engine, people: People, ended: str):
    step = started(engine, abroad=True)
    task = tasks(engine, step)["export"]
    people.claim(task, "ada")
    if ended == "completed":
        people.complete(task, "ada", {"wrong": 1})
    else:
        people.cannot_complete(task, "ada", "note:1")
    with refused("SW004", "approv"):
        people.reopen_for_correction(task, "ben", "data_error", granted(engine, step))
    answer = reopen(people, task)
    assert (engine.state(task), engine.state(step)) == ("in_progress", "ready")
    assert engine.events(task)[-1] == "task.reopened_for_correction"
    audit = "select closing_state, closed_by from step_run_prior_audit where prior_audit_id = %s"
    assert engine.db.execute(audit, (answer["prior_audit_id"],)).fetchone() == (ended, "ada")
    assert (answer["original_output_snapshot_id"] is not None) == (ended == "completed")
    people.complete(task, "ada", {"right": 1})
    do_the_rest(engine, people, step)
    assert engine.run_state(step >> 20) == "completed"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-12", "SM-14")
def test_a_task_of_an_ended_step_opens_its_step_with_it(engine: Engine, people: People):
    step = started(engine)
    do_the_rest(engine, people, step)
    count = tasks(engine, step)["count"]
    answer = reopen(people, count)
    around = answer["downstream"][0]
    assert (around["relation"], around["step_id"]) == ("around", "pack")
    assert (engine.state(count), engine.state(step)) == ("in_progress", "in_progress")
    assert engine.run_state(step >> 20) == "in_progress"
    with refused("SW004", "task count is in_progress"):
        people.complete(step, "ada")
    people.complete(count, "cleo", {"n": 2})
    people.complete(step, "ada")
    assert engine.run_state(step >> 20) == "completed"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-14", "GV-06")
def test_a_dead_task_of_a_worker_is_corrected_or_repeated(engine: Engine, people: People):
    for call in (lambda task: reopen(people, task), lambda task: replay(engine, task)):
        step = started(engine)
        label = tasks(engine, step)["label"]
        session = engine.worker()
        engine.kill(session, *engine.claim(session))
        assert engine.state(label) == "cannot_complete"
        call(label)
        assert engine.state(label) == "ready"
        do_the_rest(engine, people, step)
        assert engine.run_state(step >> 20) == "completed"
    assert engine.faults() == {}


def replay(engine: Engine, unit: int) -> None:
    answer = engine.one("select fn_job_retry(1, %s, 'ada', 'fixed the cause')", (unit,))
    assert answer["state"] == "replayed", answer


@pytest.mark.requirement("SM-14", "GV-06")
def test_the_tasks_of_a_repeated_step_begin_again(engine: Engine, people: People):
    step = started(engine)
    inside = tasks(engine, step)
    people.claim(inside["count"], "cleo")
    people.cannot_complete(inside["count"], "cleo", "note:1")
    people.claim(step, "ada")
    people.cannot_complete(step, "ada", "note:2")
    engine.one("select fn_run_retry(1, %s, 'ada', 'again')", (step >> 20,))
    assert states(engine, step) == {
        "count": "ready", "sign": "ready", "label": "ready", "export": "skipped",
    }  # fmt: skip
    do_the_rest(engine, people, step)
    assert engine.run_state(step >> 20) == "completed"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-14")
def test_a_task_of_an_ended_step_is_not_repeated(engine: Engine, people: People):
    step = started(engine)
    label = tasks(engine, step)["label"]
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    engine.one("select fn_job_cancel(1, %s, 'cli:test')", (step,))
    with refused("SW003", "pack", "cancelled"):
        engine.one("select fn_job_retry(1, %s, 'ada', 'again')", (label,))


@pytest.mark.requirement("SM-14", "GV-06")
def test_the_dead_letter_of_a_task_says_where_it_belongs(engine: Engine, people: People):
    step = started(engine)
    label = tasks(engine, step)["label"]
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    row = engine.db.execute("select unit_id, run_id, workflow, step_id from v_dead_letter").fetchall()
    assert row == [(label, step >> 20, "w", "label")]
    chosen = "select unit_id, run_id from _letters_chosen(1, '{}', 10)"
    assert engine.db.execute(chosen).fetchall() == [(label, step >> 20)]
    engine.one("select fn_job_cancel(1, %s, 'cli:test')", (step,))
    assert engine.db.execute(chosen).fetchall() == []


@pytest.mark.requirement("RX-11")
def test_a_cancelled_task_is_no_end_of_its_run_in_the_log(engine: Engine, people: People):
    """The log of a run has rows of its tasks and approvals too: their ends are not the end of the run."""
    root = Parallel(Human("pack", role="office", tasks=[{"id": "sign", "role": "office"}]), Operation("b"))
    graph = freeze(Workflow("w", root))
    engine.db.execute("select fn_workflow_publish(1, %s, 'test')", (graph.canonical.decode(),))
    run_id = engine.start("w")
    step = engine.unit(run_id, "pack")
    people.claim(step, "ada")
    engine.one("select fn_job_cancel(1, %s, 'cli:test')", (step,))
    assert states(engine, step) == {"sign": "cancelled"}
    paths = paths_of(graph, [UnitRow(engine.unit(run_id, name), no) for no, name in ((1, "pack"), (2, "b"))])
    projection = Projection(graph)
    for row in engine.db.execute(LOG, (run_id,)).fetchall():
        for event in call_events(graph, paths, [LogRow(*row)]):
            projection.append(event)
    assert projection.statuses() == {"pack": "aborted", "b": "ready"}
    assert (projection.run_status, engine.run_state(run_id)) == ("running", "in_progress")
