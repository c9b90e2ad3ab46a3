"""Deadlines: by duration or calendar, from ready or from start; that a step was late is never erased."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import People, refused
from tests.support.clock import Clock

HOUR = 3600


def one_step(engine: Engine, **more) -> int:
    engine.publish("w", human("sign", **({"role": "office", "deadline": HOUR} | more)), operation("after"))
    return engine.unit(engine.start("w"), "sign")


def column(engine: Engine, unit: int, name: str):
    return engine.one(f"select {name} from step_run where step_run_id = %s", (unit,))


@pytest.mark.requirement("SM-11", "SM-17")
def test_a_late_step_is_stored_as_completed_after_its_deadline(engine: Engine, people: People, clock: Clock):
    unit = one_step(engine)
    people.claim(unit, "ada")
    clock.advance(hours=2)
    engine.timers()
    assert engine.state(unit) == "overdue"
    assert people.complete(unit, "ada")["transition_id"] == "step.T7"
    assert column(engine, unit, "completed_after_deadline") is True
    assert column(engine, unit, "overdue_first_at") == column(engine, unit, "deadline_at")
    assert column(engine, unit, "sla_breach_duration") >= timedelta(hours=1)
    payload = engine.one(
        "select payload from event_log where event_type = 'step.completed' and unit_id = %s", (unit,)
    )
    assert payload["completed_after_deadline"] is True
    assert payload["overdue_first_at"]
    assert payload["sla_breach_duration"]
    history = engine.db.execute(
        "select state_code from step_run_state_history where step_run_id = %s order by visit_no", (unit,)
    ).fetchall()
    visited = ["not_started", "ready", "in_progress", "overdue", "completed"]
    assert [state for (state,) in history] == visited
    engine.drain(engine.worker())
    assert engine.faults() == {}


@pytest.mark.requirement("SM-11")
def test_a_later_deadline_ends_overdue_and_the_first_overdue_time_is_kept(
    engine: Engine, people: People, clock: Clock
):
    unit = one_step(engine)
    people.claim(unit, "ada")
    clock.advance(hours=2)
    engine.timers()
    first = column(engine, unit, "overdue_first_at")
    past = clock.now() - timedelta(minutes=1)
    assert people.deadline_change(unit, "ben", past)["state"] == "overdue"
    answer = people.deadline_change(
        unit, "ben", clock.now() + timedelta(hours=1), "the client agreed", key="k"
    )
    assert (answer["state"], answer["transition_id"]) == ("in_progress", "step.T6")
    assert engine.events(unit)[-1] == "step.recovered_from_overdue"
    clock.advance(hours=2)
    engine.timers()
    assert engine.state(unit) == "overdue"
    people.complete(unit, "ada")
    assert column(engine, unit, "overdue_first_at") == first
    assert column(engine, unit, "completed_after_deadline") is True


def test_a_ready_step_past_its_deadline_is_late_and_overdue_once_claimed(
    engine: Engine, people: People, clock: Clock
):
    unit = one_step(engine)
    clock.advance(hours=2)
    engine.timers()
    assert engine.state(unit) == "ready"
    assert engine.events(unit)[-1] == "step.deadline_missed"
    assert engine.one("select is_late from v_inbox where step_run_id = %s", (unit,)) is True
    people.claim(unit, "ada")
    engine.timers()
    assert engine.state(unit) == "overdue"


def test_a_deadline_can_count_from_the_claim(engine: Engine, people: People, clock: Clock):
    unit = one_step(engine, deadline_from="start")
    clock.advance(hours=5)
    assert engine.timers() == 0
    assert column(engine, unit, "deadline_at") is None
    people.claim(unit, "ada")
    assert column(engine, unit, "deadline_at") > clock.now() + timedelta(minutes=59)
    clock.advance(hours=2)
    engine.timers()
    assert engine.state(unit) == "overdue"


def test_waits_and_blocks_keep_the_deadline(engine: Engine, people: People, clock: Clock):
    unit = one_step(engine)
    people.claim(unit, "ada")
    people.wait(unit, "ada", ["waiting_human"])
    clock.advance(hours=2)
    engine.timers()
    assert (engine.state(unit), engine.events(unit)[-1]) == ("waiting", "step.deadline_missed")
    people.resume(unit, "ada", "mail:1")
    engine.timers()
    assert engine.state(unit) == "overdue"
    people.block(unit, "ada", "config_error")
    people.unblock(unit, "ada", "fix:1")
    engine.timers()
    assert engine.state(unit) == "overdue"


def test_an_ended_step_has_no_new_deadline(engine: Engine, people: People, clock: Clock):
    unit = one_step(engine)
    people.claim(unit, "ada")
    people.complete(unit, "ada")
    with refused("SW003", "ended"):
        people.deadline_change(unit, "ben", clock.now() + timedelta(hours=1))


def test_the_next_level_is_notified_after_its_time(engine: Engine, people: People, clock: Clock):
    chain = [{"after": HOUR, "tell": "lead"}, {"after": 2 * HOUR, "tell": "director"}]
    unit = one_step(engine, deadline=9 * HOUR, escalation=chain)
    people.claim(unit, "ada")
    clock.advance(minutes=61)
    engine.timers()
    notified = """select array_agg(payload ->> 'tell' order by event_id) from event_log
        where event_type = 'step.escalation_raised'"""
    assert engine.one(notified) == ["lead"]
    assert people.escalate(unit, "ben", "it burns")["level"] == 2
    assert engine.one(notified) == ["lead", "director"]
    with refused("SW003", "no further level to notify"):
        people.escalate(unit, "ben")
    clock.advance(hours=5)
    engine.timers()
    assert engine.one(notified) == ["lead", "director"]
    people.complete(unit, "ada")
    engine.drain(engine.worker())
    assert engine.faults() == {}


# -- calendars ----------------------------------------------------------------------------------------------

WEEK = [{"weekday": day, "opens": "09:00", "closes": "17:00"} for day in range(1, 6)]
BERLIN = ZoneInfo("Europe/Berlin")


def calendar(engine: Engine, zone: str = "Europe/Berlin", hours=None, holidays=None) -> None:
    engine.one(
        "select fn_calendar_set(1, 'office', %s, %s::jsonb, %s::jsonb)",
        (zone, json.dumps(hours or WEEK), json.dumps(holidays or {})),
    )


def after(engine: Engine, begin: datetime, hours: float) -> datetime:
    found: datetime = engine.one("select _calendar_add(1, 'office', %s, %s)", (begin, int(hours * HOUR)))
    return found.astimezone(BERLIN)


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=BERLIN)


def test_a_weekend_does_not_count(engine: Engine):
    calendar(engine)
    assert after(engine, at(2026, 11, 13, 16), 2) == at(2026, 11, 16, 10)
    assert after(engine, at(2026, 11, 14, 12), 1) == at(2026, 11, 16, 10)
    assert after(engine, at(2026, 11, 11, 9), 8) == at(2026, 11, 11, 17)


def test_a_holiday_does_not_count(engine: Engine):
    calendar(engine, holidays={"2026-12-25": "Christmas", "2026-12-28": "a bridge"})
    assert after(engine, at(2026, 12, 24, 16), 2) == at(2026, 12, 29, 10)


def test_a_lunch_break_does_not_count(engine: Engine):
    hours = [part for day in WEEK for part in (day | {"closes": "12:00"}, day | {"opens": "13:00"})]
    calendar(engine, hours=hours)
    assert after(engine, at(2026, 11, 11, 11), 2) == at(2026, 11, 11, 14)


def test_opening_hours_stay_in_local_time_when_the_clocks_change(engine: Engine):
    calendar(engine)
    # The clocks go back on Sunday, 25 October 2026: from Friday 16:00 to Monday 10:00 there are 67 hours.
    due = after(engine, at(2026, 10, 23, 16), 2)
    assert due == at(2026, 10, 26, 10)
    assert (due.astimezone(UTC) - at(2026, 10, 23, 16).astimezone(UTC)) == timedelta(hours=67)
    # The clocks go forward on Sunday, 29 March 2026.
    due = after(engine, at(2026, 3, 27, 16), 2)
    assert (due.astimezone(UTC) - at(2026, 3, 27, 16).astimezone(UTC)) == timedelta(hours=65)


def test_working_time_counts_real_hours_when_the_clocks_change(engine: Engine):
    night = [{"weekday": day, "opens": "00:00", "closes": "06:00"} for day in range(1, 8)]
    calendar(engine, hours=night)
    # 29 March 2026 lacks the hour from two to three; 25 October has it twice.
    assert after(engine, at(2026, 3, 29, 0), 5) == at(2026, 3, 29, 6)
    assert after(engine, at(2026, 3, 29, 0), 5.5) == at(2026, 3, 30, 0, 30)
    assert after(engine, at(2026, 10, 25, 0), 7) == at(2026, 10, 25, 6)


def test_a_step_is_due_in_working_time(engine: Engine, people: People):
    calendar(engine, zone="Asia/Ho_Chi_Minh")
    unit = one_step(engine, calendar="office", deadline=8 * HOUR)
    begin = engine.one("select last_transition_at from work_unit where unit_id = %s", (unit,))
    assert column(engine, unit, "deadline_at") == engine.one(
        "select _calendar_add(1, 'office', %s, %s)", (begin, 8 * HOUR)
    )


def test_a_calendar_is_checked(engine: Engine):
    with refused("SW001", "Mars/Olympus"):
        calendar(engine, zone="Mars/Olympus")
    with refused("SW001", "hours"):
        calendar(engine, hours=[{"weekday": 9, "opens": "09:00", "closes": "17:00"}])
    with refused("SW001", "hours"):
        calendar(engine, hours=[{"weekday": 1, "opens": "17:00", "closes": "09:00"}])
    calendar(engine, hours=[{"weekday": 1, "opens": "09:00", "closes": "09:01"}])
    with refused("SW006", "working seconds"):
        after(engine, at(2026, 3, 29, 0), 1000)


@pytest.mark.requirement("SM-13")
def test_an_escalated_wait_for_a_person_names_its_chain(engine: Engine, people: People, clock: Clock):
    """Escalated is no state: the step still waits for a person, with the chain as evidence (000, 4.5)."""
    unit = one_step(engine, escalation=[{"after": 60, "tell": "ben"}, {"after": 120, "tell": "operator"}])
    people.claim(unit, "ada")
    people.wait(unit, "ada", ["waiting_human"])
    query = "select state_code, waiting_facet, escalation_chain_id from step_run where step_run_id = %s"
    assert engine.db.execute(query, (unit,)).fetchone() == ("waiting", "waiting_human", None)
    clock.advance(seconds=121)
    engine.timers()
    state, facet, chain = engine.db.execute(query, (unit,)).fetchone()
    assert (state, facet) == ("waiting", "waiting_human")
    told = engine.one(
        """select array_agg(payload ->> 'escalation_chain_id') from event_log
           where event_type = 'step.escalation_raised'"""
    )
    assert chain is not None
    assert told == [chain, chain]
    assert engine.faults() == {}
