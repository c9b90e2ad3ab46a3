"""Tasks of a human step: they use the same state machine, have their own persons, and end before the step."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import People, refused

TASKS = [
    {"id": "count", "role": "warehouse", "form": {"type": "object", "required": ["n"]}},
    {"id": "sign", "assignee": "ben"},
    {"id": "label", "operation": "print_label"},
    {"id": "export", "role": "office", "when": "$.input.abroad == true"},
]


def started(engine: Engine, **given) -> int:
    engine.publish("w", human("pack", role="office", tasks=TASKS), operation("print_label"))
    return engine.unit(engine.start("w", given), "pack")


def tasks(engine: Engine, step: int) -> dict[str, int]:
    rows = engine.db.execute("select task_id, unit_id from task_detail where step_run_id = %s", (step,))
    return dict(rows.fetchall())


def in_charge(engine: Engine, unit: int) -> str | None:
    found: str | None = engine.one(
        """select p.name_key from work_unit as u
           left join person as p on u.tenant_id = p.tenant_id and u.pic_id = p.person_id
           where u.unit_id = %s""",
        (unit,),
    )
    return found


def states(engine: Engine, step: int) -> dict[str, str]:
    return {name: engine.state(unit) for name, unit in tasks(engine, step).items()}


@pytest.mark.requirement("SM-14")
def test_the_step_completes_only_when_every_task_has(engine: Engine, people: People):
    step = started(engine)
    inside = tasks(engine, step)
    assert states(engine, step) == {"count": "ready", "sign": "ready", "label": "ready", "export": "skipped"}
    assert [in_charge(engine, unit) for unit in (step, *inside.values())] == [None, None, "ben", None, None]
    people.claim(step, "ada")
    with refused("SW004", "output_contract_met", "task count is ready", "task label is ready"):
        people.complete(step, "ada")
    with refused("SW007", "warehouse"):
        people.claim(inside["count"], "ada")
    people.claim(inside["count"], "cleo")
    assert [in_charge(engine, unit) for unit in (step, inside["count"])] == ["ada", "cleo"]
    with refused("SW004", "output_contract_met", "n"):
        people.complete(inside["count"], "cleo", {})
    assert people.complete(inside["count"], "cleo", {"n": 3})["emitted_event_type"] == "task.completed"
    people.claim(inside["sign"], "ben")
    people.complete(inside["sign"], "ben")
    with refused("SW004", "task label is ready"):
        people.complete(step, "ada")
    # No person claims the automated task; a worker does.
    session = engine.worker()
    (lease,) = engine.claim(session)
    assert (lease.unit_id, lease.operation) == (inside["label"], "print_label")
    engine.complete(session, lease, output={"printed": True})
    assert states(engine, step)["label"] == "completed"
    people.complete(step, "ada")
    engine.drain(session)
    assert engine.run_state(step >> 20) == "completed"
    assert engine.faults() == {}


def test_the_severity_of_a_blocked_task_is_counted_as_it_is_shown(engine: Engine, people: People):
    step = started(engine, abroad=True)
    task = tasks(engine, step)["export"]
    people.claim(task, "ada")
    people.block(task, "ada", "missing_access")
    shown = engine.one("select fn_step_blocked_severity(%s)", (task,))
    counted = engine.one("select blocked_escalated from work_unit where unit_id = %s", (task,))
    assert (shown, counted) == ("red", True)
    people.unblock(task, "ada", "ticket:2")
    assert engine.one("select blocked_escalated from work_unit where unit_id = %s", (task,)) is False
    assert engine.faults() == {}


@pytest.mark.requirement("SM-14")
def test_a_task_has_all_states_of_the_machine(engine: Engine, people: People, clock):
    step = started(engine, abroad=True)
    task = tasks(engine, step)["export"]
    people.claim(task, "ada")
    people.wait(task, "ada", ["waiting_external"])
    people.resume(task, "ada", "mail:1")
    people.block(task, "ada", "missing_access")
    people.unblock(task, "ada", "ticket:2")
    people.deadline_change(task, "ben", clock.now())
    clock.advance(hours=1)
    engine.timers()
    assert engine.state(task) == "overdue"
    assert people.release(task, "ada")["state"] == "ready"
    people.claim(task, "ben")
    people.cannot_complete(task, "ben", "note:1")
    assert engine.events(task)[-1] == "task.cannot_complete"
    people.claim(step, "ada")
    with refused("SW004", "task export is cannot_complete"):
        people.complete(step, "ada")


def test_open_tasks_end_with_their_step(engine: Engine, people: People):
    step = started(engine)
    people.claim(step, "ada")
    people.cannot_complete(step, "ada", "note:1")
    assert set(states(engine, step).values()) == {"cancelled", "skipped"}
    assert engine.run_state(step >> 20) == "failed"
    assert engine.faults() == {}


def test_open_tasks_end_with_their_run(engine: Engine, people: People):
    step = started(engine)
    engine.one("select fn_run_cancel(1, %s, 'cli:r')", (step >> 20,))
    assert set(states(engine, step).values()) == {"cancelled", "skipped"}
    assert engine.faults() == {}


def test_tasks_are_in_the_inbox_of_their_people(engine: Engine, people: People):
    step = started(engine)
    read = "select array_agg(step_id order by step_run_id) from fn_inbox_read(1, %s)"
    assert engine.one(read, ("cleo",)) == ["count"]
    assert engine.one(read, ("ben",)) == ["pack", "sign"]
    assert engine.one("select parent_step_run_id from v_inbox where step_id = 'sign'") == step
