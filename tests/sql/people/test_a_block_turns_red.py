"""A block becomes red by time, critical path, deadline or a person; the roll-up counts it."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine, human
from tests.sql.people.asking import People, refused
from tests.support.clock import Clock
from tests.support.deciding import deciding


def blocked_step(engine: Engine, people: People, **more) -> int:
    """A blocked step that is not on the critical path: `first` is the earliest open mandatory step."""
    engine.publish(
        "w", human("first", role="office"), human("second", **({"role": "office"} | more)), edges=[]
    )  # fmt: skip
    unit = engine.unit(engine.start("w"), "second")
    people.claim(unit, "ada")
    people.block(unit, "ada", "missing_iu")
    return unit


def severity(engine: Engine, unit: int) -> str | None:
    found: str | None = engine.one("select fn_step_blocked_severity(%s)", (unit,))
    return found


def colour(engine: Engine, unit: int) -> str:
    found: str = engine.one("select rollup_state_code from workflow_run where run_id = %s", (unit >> 20,))
    return found


@pytest.mark.requirement("SM-19")
def test_a_block_is_dark_yellow_at_first_and_red_after_the_threshold(
    engine: Engine, people: People, clock: Clock
):
    unit = blocked_step(engine, people)
    assert (severity(engine, unit), colour(engine, unit)) == ("yellow_dark", "yellow")
    clock.advance(hours=4, seconds=1)
    assert severity(engine, unit) == "red"
    engine.timers()
    assert (engine.state(unit), colour(engine, unit)) == ("blocked", "red")
    assert engine.faults() == {}
    people.unblock(unit, "ada", "found:1")
    assert (severity(engine, unit), colour(engine, unit)) == (None, "green")
    assert engine.faults() == {}


@pytest.mark.requirement("SM-19")
def test_the_threshold_is_that_of_the_workflow_class(engine: Engine, people: People, clock: Clock):
    engine.db.execute(
        "insert into dot_config values ('block_severity.threshold_seconds.urgent', '60', 'for the test')"
    )
    both = (human("first", role="office"), human("second", role="office"))
    engine.publish("w", *both, edges=[], workflow_class="urgent")
    unit = engine.unit(engine.start("w"), "second")
    people.claim(unit, "ada")
    people.block(unit, "ada", "missing_iu")
    clock.advance(seconds=61)
    engine.timers()
    assert (severity(engine, unit), colour(engine, unit)) == ("red", "red")


@pytest.mark.requirement("SM-19")
def test_a_block_is_red_as_soon_as_it_is_on_the_critical_path(engine: Engine, people: People):
    unit = blocked_step(engine, people)
    first = engine.unit(unit >> 20, "first")
    people.claim(first, "ben")
    assert colour(engine, unit) == "yellow"
    people.complete(first, "ben")
    # Now the blocked step is the earliest open mandatory step.
    assert (severity(engine, unit), colour(engine, unit)) == ("red", "red")
    assert engine.faults() == {}


@pytest.mark.requirement("SM-19")
def test_a_block_that_left_the_critical_path_still_turns_red_with_time(
    engine: Engine, people: People, clock: Clock
):
    unit = blocked_step(engine, people)
    people.unblock(unit, "ada", "found:1")
    first = engine.unit(unit >> 20, "first")
    people.claim(first, "ben")
    people.complete(first, "ben")
    people.block(unit, "ada", "other")
    assert (severity(engine, unit), colour(engine, unit)) == ("red", "red")
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (first,))
    engine.one(deciding("approve", "ben"), (approval,))
    people.reopen_for_correction(first, "ben", "data_error", approval)
    assert (severity(engine, unit), colour(engine, unit)) == ("yellow_dark", "yellow")
    clock.advance(hours=4, seconds=1)
    engine.timers()
    assert (severity(engine, unit), colour(engine, unit)) == ("red", "red")
    assert engine.faults() == {}


@pytest.mark.requirement("SM-19")
def test_a_block_past_its_deadline_is_red(engine: Engine, people: People, clock: Clock):
    unit = blocked_step(engine, people, deadline=600)
    clock.advance(seconds=601)
    engine.timers()
    assert (severity(engine, unit), colour(engine, unit)) == ("red", "red")
    assert engine.events(unit)[-1] == "step.deadline_missed"


@pytest.mark.requirement("SM-19")
def test_an_escalated_block_is_red_and_a_long_block_needs_an_approval(
    engine: Engine, people: People, clock: Clock
):
    unit = blocked_step(engine, people)
    first = people.block_escalate(unit, "ben", "the client calls", key="k")
    assert (first["state"], severity(engine, unit), colour(engine, unit)) == ("blocked", "red", "red")
    assert people.block_escalate(unit, "ben", key="k") == first
    assert engine.events(unit).count("step.block_escalated") == 1
    people.unblock(unit, "ada", "found:1")
    with refused("SW003", "not blocked"):
        people.block_escalate(unit, "ben")
    people.block(unit, "ada", "other")
    clock.advance(days=2)
    with refused("SW004", "approval"):
        people.block_escalate(unit, "ben")


def test_a_policy_can_leave_a_red_block_out_of_the_colour_of_the_run(
    engine: Engine, people: People, clock: Clock
):
    engine.db.execute(
        """update rollup_policy_def set policy_config_jsonb =
           policy_config_jsonb || '{"blocked_escalation_treats_as_red": false}'
           where policy_code = 'declared_here'"""
    )
    unit = blocked_step(engine, people)
    clock.advance(hours=5)
    engine.timers()
    assert (severity(engine, unit), colour(engine, unit)) == ("red", "yellow")
    assert engine.faults() == {}


def test_the_counters_are_right_after_a_red_block_is_cancelled(
    engine: Engine, people: People, db: psycopg.Connection
):
    unit = blocked_step(engine, people)
    people.block_escalate(unit, "ben")
    engine.one("select fn_run_cancel(1, %s, 'cli:r')", (unit >> 20,))
    assert engine.faults() == {}
