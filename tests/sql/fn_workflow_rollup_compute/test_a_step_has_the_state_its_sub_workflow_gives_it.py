"""Document 000, 5.3: a red sub-workflow puts the step around it into failed, a yellow one into blocked with
the facet waiting_dependency, and a recovered one brings it back."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine, human, operation, subworkflow
from tests.sql.people.asking import People
from tests.support.clock import Clock

ERROR = {"error": {"type": "E", "message": "no"}}


@pytest.fixture
def people(engine: Engine) -> People:
    made = People(engine)
    made.add("ada", "office", "operator")
    return made


def step(engine: Engine, unit: int) -> tuple[str, str | None]:
    query = "select state_code, waiting_facet from step_run where step_run_id = %s"
    state, facet = engine.db.execute(query, (unit,)).fetchone() or ("?", None)
    return state, facet


def decisive(engine: Engine, run: int) -> tuple[int, str]:
    found = engine.one("select fn_workflow_rollup_compute(%s)", (run,))
    return found["decisive_step_run_id"], found["decisive_state_code"]


def visits(engine: Engine, unit: int) -> list[str]:
    query = "select state_code from step_run_state_history where step_run_id = %s order by visit_no"
    return [state for (state,) in engine.db.execute(query, (unit,))]


@pytest.mark.requirement("RU-04")
def test_red_is_failed_and_a_recovered_run_brings_the_step_back(engine: Engine, clock: Clock):
    engine.publish("inner", operation("a", retry={"max_attempts": 3, "initial_seconds": 5}))
    engine.publish("outer", subworkflow("in", "inner"), operation("next"), edges=[("in", "next")])
    outer = engine.start("outer")
    unit, session = engine.unit(outer, "in"), engine.worker()
    engine.report(session, (engine.claim(session)[0], "failed", ERROR))
    assert step(engine, unit) == ("failed", None)
    assert decisive(engine, outer) == (unit, "failed")
    clock.advance(seconds=20)
    engine.timers()
    (lease,) = engine.claim(session)
    assert step(engine, unit) == ("in_progress", None)
    engine.report(session, (lease, "completed", {"ok": True}))
    assert step(engine, unit) == ("completed", None)
    engine.drain(session)
    assert engine.run_state(outer) == "completed"
    assert visits(engine, unit) == [
        "not_started",
        "ready",
        "in_progress",
        "failed",
        "in_progress",
        "completed",
    ]
    # No attempt of the step itself has failed, and there is no dead letter.
    assert engine.one("select attempt_count from work_unit where unit_id = %s", (unit,)) == 0
    assert engine.faults() == {}


@pytest.mark.requirement("RU-04")
def test_yellow_is_blocked_with_the_facet_of_a_dependency(engine: Engine, people: People):
    engine.publish("inner", human("x", role="office"))
    engine.publish("outer", subworkflow("in", "inner"))
    outer = engine.start("outer")
    unit, inside = engine.unit(outer, "in"), engine.unit(outer + 1, "x")
    people.claim(inside, "ada")
    people.wait(inside, "ada", ["waiting_human"])
    assert step(engine, unit) == ("blocked", "waiting_dependency")
    assert decisive(engine, outer) == (unit, "blocked")
    assert engine.one("select fn_step_blocked_severity(%s)", (unit,)) == "yellow_dark"
    code = engine.db.execute("select code from fn_why_not_running(%s)", (unit,)).fetchone()
    assert code == ("subworkflow",)
    people.resume(inside, "ada", "mail:1")
    assert step(engine, unit) == ("in_progress", None)
    people.complete(inside, "ada")
    assert step(engine, unit) == ("completed", None)
    assert visits(engine, unit)[-3:] == ["blocked", "in_progress", "completed"]
    assert engine.run_state(outer) == "completed"
    assert engine.faults() == {}


@pytest.mark.requirement("RU-04")
def test_a_run_that_ends_while_it_is_red_ends_its_step(engine: Engine, people: People):
    """One branch is dead, the other is open: the step has failed. Then the run ends, and the step too."""
    engine.publish("inner", human("x", role="office"), human("y", role="office"), edges=[])
    engine.publish("outer", subworkflow("in", "inner"))
    outer = engine.start("outer")
    unit = engine.unit(outer, "in")
    for name in "xy":
        people.claim(engine.unit(outer + 1, name), "ada")
    people.cannot_complete(engine.unit(outer + 1, "x"), "ada", "note:1")
    assert step(engine, unit) == ("failed", None)
    people.complete(engine.unit(outer + 1, "y"), "ada")
    assert step(engine, unit) == ("cannot_complete", None)
    assert engine.run_state(outer) == "failed"
    assert engine.faults() == {}


@pytest.mark.requirement("RU-04")
def test_an_optional_sub_workflow_has_its_state_and_pulls_nothing(engine: Engine, people: People):
    engine.publish("inner", human("x", role="office"))
    engine.publish("outer", subworkflow("in", "inner", mandatory=False), human("y", role="office"), edges=[])
    outer = engine.start("outer")
    unit, inside = engine.unit(outer, "in"), engine.unit(outer + 1, "x")
    people.claim(inside, "ada")
    people.wait(inside, "ada", ["waiting_human"])
    assert step(engine, unit) == ("blocked", "waiting_dependency")
    assert engine.one("select rollup_state_code from run_progress where run_id = %s", (outer,)) == "green"
    assert engine.faults() == {}


@pytest.mark.requirement("RU-04")
def test_a_block_by_the_sub_workflow_turns_red_with_time_and_by_hand(
    engine: Engine, people: People, clock: Clock
):
    engine.publish("inner", human("x", role="office"))
    engine.publish("outer", subworkflow("in", "inner"))
    outer = engine.start("outer")
    unit, inside = engine.unit(outer, "in"), engine.unit(outer + 1, "x")
    people.claim(inside, "ada")
    people.wait(inside, "ada", ["waiting_human"])
    colour = "select rollup_state_code from run_progress where run_id = %s"
    assert engine.one(colour, (outer,)) == "yellow"
    clock.advance(hours=5)
    engine.timers()
    assert engine.one("select fn_step_blocked_severity(%s)", (unit,)) == "red"
    assert engine.one(colour, (outer,)) == "red"
    assert engine.faults() == {}


@pytest.mark.requirement("RU-04", "SM-16")
def test_a_step_that_failed_with_its_sub_workflow_is_not_retried_by_itself(engine: Engine, people: People):
    engine.publish("inner", operation("a", retry={"max_attempts": 3, "initial_seconds": 500}))
    engine.publish("outer", subworkflow("in", "inner"))
    outer = engine.start("outer")
    unit, session = engine.unit(outer, "in"), engine.worker()
    engine.report(session, (engine.claim(session)[0], "failed", ERROR))
    with pytest.raises(psycopg.Error, match=f"retry that step, in run {outer + 1}") as refused:
        engine.one("select fn_job_retry(1, %s, 'cli:ada', 'now')", (unit,))
    assert refused.value.sqlstate == "SW003"
    verdict = engine.one(
        "select fn_state_transition_validate(%s, 'step', 'failed', 'ready', 'reviewer', 'rpc', 'step_retry',"
        ' \'{"audit_ref": "x"}\')',
        (unit,),
    )
    assert verdict["problems"] == ["transition_refused_by_guard:failed_by_itself"]
    # The step inside is retried, and the step around it goes on.
    engine.one("select fn_job_retry(1, %s, 'cli:ada', 'now')", (engine.unit(outer + 1, "a"),))
    assert step(engine, unit) == ("in_progress", None)
    engine.drain(session)
    assert engine.run_state(outer) == "completed"
    assert engine.faults() == {}


@pytest.mark.requirement("RU-04")
@pytest.mark.parametrize("ends", ["cancel", "timeout", "overdue"])
def test_a_step_with_a_red_run_can_be_left_in_every_way(
    engine: Engine, people: People, clock: Clock, ends: str
):
    limits = {"timeout_seconds": 600} if ends == "timeout" else {"deadline": 600} if ends == "overdue" else {}
    engine.publish("inner", operation("a", retry={"max_attempts": 3, "initial_seconds": 86000}))
    engine.publish("outer", subworkflow("in", "inner", **limits))
    outer = engine.start("outer")
    unit, session = engine.unit(outer, "in"), engine.worker(lease_seconds=80_000)
    engine.report(session, (engine.claim(session)[0], "failed", ERROR))
    assert step(engine, unit) == ("failed", None)
    if ends == "cancel":
        engine.db.execute(
            "update dot_config set config_value = 'false'"
            " where config_key = 'approval.required.workflow_cancel'"
        )
        engine.one("select fn_run_cancel(1, %s, 'cli:ada', 'enough')", (outer,))
        assert step(engine, unit)[0] == "cancelled"
    elif ends == "timeout":
        clock.advance(seconds=700)
        engine.timers()
        assert step(engine, unit)[0] == "cannot_complete"
        assert engine.run_state(outer + 1) == "cancelled"
    else:
        clock.advance(seconds=700)
        engine.timers()
        assert step(engine, unit)[0] == "failed"
        engine.one("select fn_job_retry(1, %s, 'cli:ada', 'now')", (engine.unit(outer + 1, "a"),))
        engine.timers()
        assert step(engine, unit)[0] == "overdue"
        engine.drain(session)
        late = "select completed_after_deadline from work_unit where unit_id = %s"
        assert (step(engine, unit)[0], engine.one(late, (unit,))) == ("completed", True)
    assert engine.faults() == {}
