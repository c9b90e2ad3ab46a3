"""Only the person in charge, a candidate or an overseer may make each call; all others are refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import People, refused
from tests.support.clock import Clock


@pytest.fixture
def unit(engine: Engine, people: People) -> int:
    """A step that ada has claimed; dan is a candidate, cleo has no part in it, ben is a reviewer."""
    people.add("dan", "office")
    chain = [{"after": 60, "tell": "director"}, {"after": 7200, "tell": "board"}]
    engine.publish("w", human("sign", role="office", escalation=chain), operation("after"))
    found = engine.unit(engine.start("w"), "sign")
    people.claim(found, "ada")
    return found


@pytest.mark.parametrize("person", ["ada", "dan", "ben"])
def test_a_wait_or_block_is_ended_by_anyone_who_takes_part(people: People, unit: int, person: str):
    people.wait(unit, "ada", ["waiting_human"])
    with refused("SW004", "transition_refused_by_guard:actor_takes_part", "cleo"):
        people.resume(unit, "cleo", "mail:1")
    assert people.resume(unit, person, "mail:1")["state"] == "in_progress"
    people.block(unit, "ada", "missing_iu")
    with refused("SW004", "transition_refused_by_guard:actor_takes_part"):
        people.unblock(unit, "cleo", "found:1")
    assert people.unblock(unit, person, "found:1")["state"] == "in_progress"


def test_only_a_responsible_person_changes_the_deadline(people: People, unit: int, clock: Clock):
    for other in ("dan", "cleo"):
        with refused(
            "SW004", "transition_refused_by_guard:actor_is_responsible", "operator, reviewer, admin"
        ):
            people.deadline_change(unit, other, clock.now() + timedelta(hours=1))
    for responsible in ("ada", "ben"):
        people.deadline_change(unit, responsible, clock.now() + timedelta(hours=1))
    with refused("SW002", "zed"):
        people.deadline_change(unit, "zed", clock.now())


def test_only_a_responsible_person_assigns_the_step(people: People, unit: int):
    for other in ("dan", "cleo"):
        with refused("SW004", "transition_refused_by_guard:actor_is_responsible"):
            people.assign(unit, "dan", other)
    people.assign(unit, "dan", "ben")
    people.assign(unit, "ada", "dan")
    people.release(unit, "ada")
    assert people.assign(unit, "dan", "dan", key="mine")["state"] == "ready"
    with refused("SW004", "actor_is_responsible"):
        people.assign(unit, "ada", "ada")


def test_only_an_overseer_escalates_a_block(people: People, unit: int):
    people.block(unit, "ada", "missing_iu")
    for other in ("ada", "dan", "cleo"):
        with refused("SW004", "transition_refused_by_guard:actor_oversees"):
            people.block_escalate(unit, other)
    assert people.block_escalate(unit, "ben")["ok"]


def test_anyone_who_takes_part_can_notify_the_next_level(people: People, unit: int):
    with refused("SW004", "transition_refused_by_guard:actor_takes_part"):
        people.escalate(unit, "cleo")
    assert people.escalate(unit, "dan")["level"] == 1


def test_a_notified_person_becomes_an_overseer(engine: Engine, people: People, unit: int, clock: Clock):
    people.add("eve", "director")
    with refused("SW004", "actor_is_responsible"):
        people.deadline_change(unit, "eve", clock.now() + timedelta(hours=1))
    assert engine.one("select count(*) from fn_inbox_read(1, 'eve')") == 0
    clock.advance(seconds=61)
    engine.timers()
    people.deadline_change(unit, "eve", clock.now() + timedelta(hours=1))
    assert engine.one("select step_id from fn_inbox_read(1, 'eve')") == "sign"


@pytest.mark.requirement("SM-13")
def test_the_views_show_the_escalation_level(engine: Engine, people: People, unit: int, clock: Clock):
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


def test_only_an_overseer_gives_up_a_failed_step_and_not_before_its_last_retry(
    engine: Engine, people: People
):
    engine.publish("m", operation("a", retry={"max_attempts": 5, "initial_seconds": 600}))
    run_id = engine.start("m")
    session = engine.worker()
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "failed", {"error": {"type": "E", "message": "no"}}))
    with refused("SW004", "transition_refused_by_guard:actor_oversees"):
        people.escalate(engine.unit(run_id, "a"), "ada")
    with refused("SW004", "retry_exhausted_or_permanent"):
        people.escalate(engine.unit(run_id, "a"), "ben")


def test_the_person_in_charge_of_a_step_is_an_overseer_of_its_tasks(
    engine: Engine, people: People, clock: Clock
):
    engine.publish("t", human("pack", role="warehouse", tasks=[{"id": "count", "role": "office"}]))
    step = engine.unit(engine.start("t"), "pack")
    task = engine.one("select unit_id from task_detail where step_run_id = %s", (step,))
    people.claim(step, "cleo")
    people.assign(task, "ada", "cleo")
    people.deadline_change(task, "cleo", clock.now() + timedelta(hours=1))
