"""Deadlines and escalations of held work stand still and are moved by exactly the held time, with events."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.sql.drive import Engine, human, operation, subworkflow, wait
from tests.sql.holds.conftest import Holding
from tests.sql.people.asking import People, refused
from tests.support.clock import Clock

HOUR = 3600


def due(engine: Engine, unit: int) -> Any:
    return engine.one("select deadline_at from work_unit where unit_id = %s", (unit,))


def told(engine: Engine, unit: int) -> list[tuple[str, Any]]:
    return engine.db.execute(
        "select event_type, payload from event_log where unit_id = %s and event_type like 'clock.%%'"
        " order by event_id",
        (unit,),
    ).fetchall()


def test_the_deadline_of_a_person_stands_still_and_moves_by_the_held_time(
    engine: Engine, people: People, holding: Holding, clock: Clock
):
    engine.publish(
        "w", human("sign", role="office", deadline=HOUR, escalation=[{"after": HOUR // 2, "tell": "lead"}])
    )
    unit = engine.unit(engine.start("w"), "sign")
    people.claim(unit, "ada")
    before = due(engine, unit)
    level_before = engine.one("select min(due_at) from step_escalation where unit_id = %s", (unit,))
    clock.advance(minutes=10)
    hold = holding.open("workflow", "w")
    assert due(engine, unit) is None
    clock.advance(hours=5)
    engine.timers()
    holding.carry()
    assert engine.state(unit) == "in_progress"
    assert engine.one("select count(*) from step_escalation where told_at is not null") == 0
    holding.release(hold)
    moved = due(engine, unit) - before
    assert timedelta(hours=5) <= moved < timedelta(hours=5, minutes=5)
    level = engine.one("select min(due_at) from step_escalation where unit_id = %s", (unit,))
    assert level is None or level - level_before == moved
    (stopped, _), (done, payload) = told(engine, unit)
    assert (stopped, done) == ("clock.stopped", "clock.moved")
    assert payload["hold_id"] == str(hold)
    assert payload["held_seconds"] == pytest.approx(moved.total_seconds(), abs=0.001)
    engine.timers()
    assert engine.state(unit) == "in_progress"
    # 50 minutes were left, and 50 minutes are left.
    clock.advance(minutes=51)
    engine.timers()
    assert engine.state(unit) == "overdue"
    holding.end()
    assert engine.faults() == {}


def test_work_that_is_leased_and_ends_while_it_is_held_is_not_late(
    engine: Engine, holding: Holding, clock: Clock
):
    engine.publish("w", operation("call", deadline=60))
    unit = engine.unit(engine.start("w"), "call")
    session = engine.worker(lease_seconds=36_000)
    (lease,) = engine.claim(session)
    hold = holding.open("operation", "call")
    clock.advance(hours=2)
    engine.timers()
    engine.complete(session, lease)
    row = engine.db.execute(
        "select state_code, completed_after_deadline, overdue_first_at, sla_breach_duration from work_unit"
        " where unit_id = %s",
        (unit,),
    ).fetchone()
    assert row == ("completed", False, None, None)
    holding.release(hold)
    holding.end()
    assert due(engine, unit) is not None
    assert engine.faults() == {}


def test_a_deadline_that_begins_while_it_is_held_stands_still(engine: Engine, holding: Holding, clock: Clock):
    engine.publish("w", operation("call", deadline=60))
    hold = holding.open("workflow", "w")
    clock.advance(minutes=30)
    unit = engine.unit(engine.start("w"), "call")
    clock.advance(hours=3)
    engine.timers()
    assert engine.one("select overdue_first_at from work_unit where unit_id = %s", (unit,)) is None
    holding.release(hold)
    left = due(engine, unit) - engine.one("select stepwell.now()")
    assert timedelta(seconds=50) < left <= timedelta(seconds=60)
    engine.timers()
    assert engine.events(unit)[-1] != "step.deadline_missed"
    assert engine.faults() == {}


def test_a_retry_is_not_cut_off_by_a_deadline_that_stands_still(
    engine: Engine, holding: Holding, clock: Clock
):
    engine.publish("w", operation("call", deadline=60))
    unit = engine.unit(engine.start("w"), "call")
    session = engine.worker(lease_seconds=36_000)
    (lease,) = engine.claim(session)
    holding.open("operation", "call")
    clock.advance(hours=2)
    error = {"error": {"type": "X", "message": "no"}, "failure_class": "connection"}
    engine.report(session, (lease, "failed", error))
    # After its deadline it would have died.
    assert engine.state(unit) == "failed"
    assert engine.faults() == {}


def test_the_time_limit_of_a_sub_workflow_stands_still(engine: Engine, holding: Holding, clock: Clock):
    engine.publish("inner", operation("call"))
    engine.publish("outer", subworkflow("sub", "inner", timeout_seconds=60))
    run_id = engine.start("outer")
    hold = holding.open("workflow", "outer")
    clock.advance(hours=1)
    engine.timers()
    assert engine.run_state(run_id) == "in_progress"
    holding.release(hold)
    engine.timers()
    assert engine.run_state(run_id) == "in_progress"
    clock.advance(seconds=61)
    engine.timers()
    assert engine.run_state(run_id) == "failed"
    holding.end()
    assert engine.faults() == {}


def test_a_wait_ends_at_its_time_and_what_follows_stays_held(engine: Engine, holding: Holding, clock: Clock):
    engine.publish("w", wait("parcel", "came"), operation("post"))
    run_id = engine.start("w")
    holding.open("workflow", "w")
    engine.one("select fn_signal(1, %s, 'came', '{}', 'k', 'client')", (run_id,))
    assert engine.state(engine.unit(run_id, "post")) == "ready"
    assert engine.claim(engine.worker()) == []
    assert engine.faults() == {}


def test_only_the_share_that_goes_on_gets_its_clocks_back(engine: Engine, holding: Holding, clock: Clock):
    engine.publish("w", operation("call", deadline=60))
    units = [engine.unit(engine.start("w"), "call") for _ in range(20)]
    hold = holding.open("workflow", "w")
    clock.advance(hours=1)
    holding.release(hold, 50)
    goes_on = {u for u in units if engine.one("select _hold_bucket(%s, %s >> 20)", (hold, u)) < 50}
    assert 0 < len(goes_on) < 20
    assert {u for u in units if due(engine, u) is not None} == goes_on
    clock.advance(hours=1)
    engine.timers()
    late = {u for u in units if engine.one("select overdue_first_at from work_unit where unit_id = %s", (u,))}
    assert late == goes_on
    holding.release(hold)
    assert None not in {due(engine, u) for u in units}
    held = {u: told(engine, u)[-1][1]["held_seconds"] for u in units}
    assert all((held[u] > 7000) == (u not in goes_on) for u in units)
    holding.end()
    assert engine.faults() == {}


def test_people_cannot_work_on_what_is_held(engine: Engine, people: People, holding: Holding, clock: Clock):
    engine.publish("w", human("sign", role="office", deadline=HOUR), operation("after"))
    first, second = (engine.unit(engine.start("w"), "sign") for _ in range(2))
    people.claim(first, "ada")
    hold = holding.open("workflow", "w", "SAP period closed")
    for call in (
        lambda: people.claim(second, "ada"),
        lambda: people.complete(first, "ada"),
        lambda: people.deadline_change(first, "ada", clock.now()),
    ):
        with refused("SW003", "stands still", "ops", "SAP period closed"):
            call()
    people.release(first, "ada")
    holding.release(hold)
    people.claim(first, "ada")
    people.complete(first, "ada")
    assert engine.faults() == {}


def test_a_person_whose_work_is_held_can_do_nothing(engine: Engine, people: People, holding: Holding):
    engine.publish("w", human("sign", role="office"))
    mine, free = (engine.unit(engine.start("w"), "sign") for _ in range(2))
    people.claim(mine, "ada")
    holding.open("person", "ada", "account taken over")
    with refused("SW003", "account taken over"):
        people.complete(mine, "ada")
    with refused("SW003", "account taken over"):
        people.claim(free, "ada")
    people.claim(free, "ben")
    people.complete(free, "ben")
    assert engine.faults() == {}
