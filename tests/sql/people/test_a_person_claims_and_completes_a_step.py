"""Human steps: who may claim them and act on them; every refusal names its guard."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import People, refused

FORM = {
    "type": "object",
    "required": ["approved"],
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string", "maxLength": 5}},
}


def one_step(engine: Engine, **more) -> int:
    engine.publish("w", human("sign", **({"role": "office"} | more)), operation("after"))
    return engine.unit(engine.start("w"), "sign")


def test_claiming_and_completing_a_step_releases_the_next_step(engine: Engine, people: People):
    unit = one_step(engine, form=FORM)
    assert engine.state(unit) == "ready"
    assert people.claim(unit, "ada")["state"] == "in_progress"
    assert people.complete(unit, "ada", {"approved": True})["state"] == "completed"
    run_id = unit >> 20
    assert engine.states(run_id) == {"sign": "completed", "after": "ready"}
    assert engine.one("select output from step_run where step_run_id = %s", (unit,)) == {"approved": True}
    assert engine.events(unit) == ["step.ready", "step.pic_changed", "step.started", "step.completed"]
    engine.drain(engine.worker())
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_the_form_is_enforced_by_the_database(engine: Engine, people: People):
    unit = one_step(engine, form=FORM)
    people.claim(unit, "ada")
    for output, word in (
        ({}, "approved"),
        ({"approved": "yes"}, "approved"),
        ({"approved": True, "note": "too long"}, "note"),
    ):
        with refused("SW004", "transition_refused_by_guard:output_contract_met", word):
            people.complete(unit, "ada", output)
    assert engine.state(unit) == "in_progress"


def test_the_postcondition_reads_the_run_and_the_output(engine: Engine, people: People):
    unit = one_step(engine, postcondition="$.output.total == $.input.total")
    run = engine.start("w", {"total": 7})
    unit = engine.unit(run, "sign")
    people.claim(unit, "ada")
    with refused("SW004", "output_contract_met", "postcondition"):
        people.complete(unit, "ada", {"total": 6})
    assert people.complete(unit, "ada", {"total": 7})["state"] == "completed"


def test_only_candidates_can_claim_the_step(engine: Engine, people: People):
    unit = one_step(engine)
    with refused("SW007", "cleo", "office"):
        people.claim(unit, "cleo")
    with refused("SW002", "zed"):
        people.claim(unit, "zed")
    people.claim(unit, "ada")
    with refused("SW003", "ada"):
        people.claim(unit, "ben")


def test_only_the_person_in_charge_can_act_on_the_step(engine: Engine, people: People):
    unit = one_step(engine)
    people.claim(unit, "ada")
    for call in (
        lambda: people.complete(unit, "ben"),
        lambda: people.release(unit, "ben"),
        lambda: people.wait(unit, "ben", ["waiting_human"]),
        lambda: people.block(unit, "ben", "missing_iu"),
        lambda: people.cannot_complete(unit, "ben", "note:1"),
        lambda: people.delegate(unit, "ben", "ada"),
    ):
        with refused("SW004", "transition_refused_by_guard:actor_is_pic"):
            call()


def test_any_candidate_can_claim_a_released_step(engine: Engine, people: People):
    unit = one_step(engine)
    people.claim(unit, "ada")
    assert people.release(unit, "ada", "lunch")["state"] == "ready"
    assert people.claim(unit, "ben")["state"] == "in_progress"
    assert engine.events(unit).count("step.released") == 1


def test_delegation_keeps_the_state(engine: Engine, people: People):
    unit = one_step(engine)
    people.claim(unit, "ada")
    assert people.delegate(unit, "ada", "ben")["state"] == "in_progress"
    with refused("SW007", "cleo"):
        people.delegate(unit, "ben", "cleo")
    people.complete(unit, "ben")


def test_the_assignee_of_a_step_is_in_charge_from_the_start(engine: Engine, people: People):
    unit = one_step(engine, role=None, assignee="cleo")
    assert engine.one("select pic from v_inbox where step_run_id = %s", (unit,)) == "cleo"
    with refused("SW003", "cleo"):
        people.claim(unit, "ada")
    assert people.claim(unit, "cleo")["state"] == "in_progress"


def test_a_repeated_call_with_the_same_key_changes_nothing(engine: Engine, people: People):
    unit = one_step(engine)
    first = people.claim(unit, "ada", key="k1")
    before = engine.events(unit)
    assert people.claim(unit, "ada", key="k1") == first
    people.release(unit, "ada", key="k2")
    people.claim(unit, "ben")
    # The repeated release does not fail, and ben keeps the step.
    assert people.release(unit, "ada", key="k2")["state"] == "ready"
    assert engine.state(unit) == "in_progress"
    assert before == engine.events(unit)[: len(before)]


def test_a_person_cannot_claim_the_step_of_a_worker(engine: Engine, people: People):
    engine.publish("w", operation("a"))
    unit = engine.unit(engine.start("w"), "a")
    with refused("SW003", "carried out by a worker, not by people"):
        people.claim(unit, "ada")


def test_a_step_of_a_paused_run_cannot_be_claimed(engine: Engine, people: People):
    unit = one_step(engine)
    engine.one("select fn_run_pause(1, %s, 'cli:r')", (unit >> 20,))
    with refused("SW003", "paused"):
        people.claim(unit, "ada")
    engine.one("select fn_run_resume(1, %s, 'cli:r')", (unit >> 20,))
    people.claim(unit, "ada")


@pytest.mark.requirement("SM-10")
def test_the_facet_with_the_lowest_ordinal_is_primary_and_the_others_are_kept(engine: Engine, people: People):
    unit = one_step(engine)
    people.claim(unit, "ada")
    people.wait(unit, "ada", ["waiting_time_gate", "waiting_human", "waiting_external"])
    row = engine.db.execute(
        "select waiting_facet, secondary_facets from v_inbox where step_run_id = %s", (unit,)
    ).fetchone()
    assert row == ("waiting_human", ["waiting_external", "waiting_time_gate"])
    assert engine.why(unit)[0] == "human"
    with refused("SW004", "facet_resolution_proof"):
        people.resume(unit, "ben", None)
    assert people.resume(unit, "ben", "mail:7")["state"] == "in_progress"
    with refused("SW004", "waiting_facet"):
        people.wait(unit, "ada", ["waiting_moon"])
    with pytest.raises(psycopg.errors.CheckViolation, match="waiting_always_has_a_facet"):
        engine.db.execute("update work_unit set waiting_facet = 'x' where unit_id = %s", (unit,))


def test_a_wait_of_a_human_step_ends_by_an_event_or_by_its_timer(engine: Engine, people: People, clock):
    unit = one_step(engine)
    people.claim(unit, "ada")
    people.wait(unit, "ada", ["waiting_external"], event_type="mail.came")
    engine.one("select accepted from fn_signal(1, %s, 'mail.came', '{}', 'e1', 'x')", (unit >> 20,))
    assert engine.state(unit) == "in_progress"
    due = engine.one("select stepwell.now() + interval '1 hour'")
    people.wait(unit, "ada", ["waiting_time_gate"], resume_at=due)
    clock.advance(seconds=3601)
    assert engine.timers() == 1
    assert engine.state(unit) == "in_progress"
    assert engine.faults() == {}


def test_a_block_needs_a_known_reason_and_an_unblock_needs_evidence(engine: Engine, people: People):
    unit = one_step(engine)
    people.claim(unit, "ada")
    with refused("SW004", "block_reason_known"):
        people.block(unit, "ada", "no_mood")
    assert people.block(unit, "ada", "missing_approval", "the budget")["state"] == "blocked"
    assert engine.why(unit)[0] == "blocked"
    with refused("SW004", "blocker_resolution_evidence"):
        people.unblock(unit, "ada", None)
    assert people.unblock(unit, "ada", "approval:3")["state"] == "in_progress"


def test_declaring_that_a_step_cannot_complete_needs_evidence(engine: Engine, people: People):
    unit = one_step(engine)
    people.claim(unit, "ada")
    with refused("SW004", "declaration_evidence"):
        people.cannot_complete(unit, "ada", None)
    assert people.cannot_complete(unit, "ada", "note:9", "the machine is gone")["state"] == "cannot_complete"
    assert engine.states(unit >> 20) == {"sign": "cannot_complete", "after": "cancelled"}
    assert engine.run_state(unit >> 20) == "failed"
    assert engine.faults() == {}


def test_the_inbox_shows_own_steps_and_steps_the_person_may_claim(engine: Engine, people: People):
    mine = one_step(engine)
    people.claim(mine, "ada")
    free = engine.unit(engine.start("w"), "sign")
    read = "select array_agg(step_run_id order by step_run_id) from fn_inbox_read(1, %s)"
    assert engine.one(read, ("ada",)) == [mine, free]
    assert engine.one(read, ("ben",)) == [free]
    assert engine.one(read, ("cleo",)) is None
