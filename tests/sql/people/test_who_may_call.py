"""Who may make which call: who is in charge, could take it, or looks after it; all others are refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import People, refused
from tests.support.clock import Clock


@pytest.fixture
def unit(engine: Engine, people: People) -> int:
    """A step of ada's; dan could take it, cleo has nothing to do with it, ben is a reviewer."""
    people.add("dan", "office")
    chain = [{"after": 60, "tell": "director"}, {"after": 7200, "tell": "board"}]
    engine.publish("w", human("sign", role="office", escalation=chain), operation("after"))
    found = engine.unit(engine.start("w"), "sign")
    people.claim(found, "ada")
    return found


@pytest.mark.parametrize("person", ["ada", "dan", "ben"])
def test_what_it_waited_for_is_told_by_whoever_takes_part(people: People, unit: int, person: str):
    people.wait(unit, "ada", ["waiting_human"])
    with refused("SW004", "transition_refused_by_guard:actor_takes_part", "cleo"):
        people.resume(unit, "cleo", "mail:1")
    assert people.resume(unit, person, "mail:1")["state"] == "in_progress"
    people.block(unit, "ada", "missing_iu")
    with refused("SW004", "transition_refused_by_guard:actor_takes_part"):
        people.unblock(unit, "cleo", "found:1")
    assert people.unblock(unit, person, "found:1")["state"] == "in_progress"


def test_a_deadline_is_moved_by_who_answers_for_it(people: People, unit: int, clock: Clock):
    for nobody in ("dan", "cleo"):
        with refused(
            "SW004", "transition_refused_by_guard:actor_is_responsible", "operator, reviewer, admin"
        ):
            people.deadline_change(unit, nobody, clock.now() + timedelta(hours=1))
    for somebody in ("ada", "ben"):
        people.deadline_change(unit, somebody, clock.now() + timedelta(hours=1))
    with refused("SW002", "zed"):
        people.deadline_change(unit, "zed", clock.now())


def test_a_person_is_put_in_charge_by_who_answers_for_it(people: People, unit: int):
    for nobody in ("dan", "cleo"):
        with refused("SW004", "transition_refused_by_guard:actor_is_responsible"):
            people.assign(unit, "dan", nobody)
    people.assign(unit, "dan", "ben")
    people.assign(unit, "ada", "dan")
    people.release(unit, "ada")
    assert people.assign(unit, "dan", "dan", key="mine")["state"] == "ready"
    with refused("SW004", "actor_is_responsible"):
        people.assign(unit, "ada", "ada")


def test_a_block_is_made_urgent_by_who_looks_after_it(people: People, unit: int):
    people.block(unit, "ada", "missing_iu")
    for nobody in ("ada", "dan", "cleo"):
        with refused("SW004", "transition_refused_by_guard:actor_oversees"):
            people.block_escalate(unit, nobody)
    assert people.block_escalate(unit, "ben")["ok"]


def test_the_next_level_is_told_by_whoever_takes_part(people: People, unit: int):
    with refused("SW004", "transition_refused_by_guard:actor_takes_part"):
        people.escalate(unit, "cleo")
    assert people.escalate(unit, "dan")["level"] == 1


def test_who_was_told_looks_after_it_from_then_on(engine: Engine, people: People, unit: int, clock: Clock):
    people.add("eve", "director")
    with refused("SW004", "actor_is_responsible"):
        people.deadline_change(unit, "eve", clock.now() + timedelta(hours=1))
    assert engine.one("select count(*) from fn_inbox_read(1, 'eve')") == 0
    clock.advance(seconds=61)
    engine.timers()
    people.deadline_change(unit, "eve", clock.now() + timedelta(hours=1))
    assert engine.one("select step_id from fn_inbox_read(1, 'eve')") == "sign"


@pytest.mark.requirement("SM-13")
def test_that_somebody_was_told_can_be_asked_for(engine: Engine, people: People, unit: int, clock: Clock):
    asked = """select h.escalation_level, h.escalated_to, h.escalated_at is not null, s.escalation_level
        from v_human_step as h inner join step_run as s on h.step_run_id = s.step_run_id
        where h.step_run_id = %s"""
    assert engine.db.execute(asked, (unit,)).fetchone() == (None, None, False, None)
    clock.advance(seconds=61)
    engine.timers()
    people.wait(unit, "ada", ["waiting_human"])
    assert engine.db.execute(asked, (unit,)).fetchone() == (1, "director", True, 1)
    people.escalate(unit, "ada")
    assert engine.db.execute(asked, (unit,)).fetchone() == (2, "board", True, 2)


def test_what_failed_for_good_is_given_up_only_by_who_looks_after_it(engine: Engine, people: People):
    engine.publish("m", operation("a", retry={"max_attempts": 5, "initial_seconds": 600}))
    run_id = engine.start("m")
    session = engine.worker()
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "failed", {"error": {"type": "E", "message": "no"}}))
    with refused("SW004", "transition_refused_by_guard:actor_oversees"):
        people.escalate(engine.unit(run_id, "a"), "ada")
    with refused("SW004", "retry_exhausted_or_permanent"):
        people.escalate(engine.unit(run_id, "a"), "ben")


def test_the_person_in_charge_of_a_step_looks_after_its_tasks(engine: Engine, people: People, clock: Clock):
    engine.publish("t", human("pack", role="warehouse", tasks=[{"id": "count", "role": "office"}]))
    step = engine.unit(engine.start("t"), "pack")
    task = engine.one("select unit_id from task_detail where step_run_id = %s", (step,))
    people.claim(step, "cleo")
    people.assign(task, "ada", "cleo")
    people.deadline_change(task, "cleo", clock.now() + timedelta(hours=1))
