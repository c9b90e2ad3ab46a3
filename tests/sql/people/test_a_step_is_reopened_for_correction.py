"""Reopening for correction needs an approval and keeps the first result; dependents stay, or wait for it."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.sql import support_text
from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import People, refused
from tests.support.clock import Clock
from tests.support.deciding import deciding
from tests.tidy.sources import ROOT

MIGRATIONS = ROOT / "src/stepwell/sql/migrations"


def finished(engine: Engine, people: People, session: int) -> int:
    """A completed run of sign → check → ship."""
    engine.publish("w", human("sign", role="office"), operation("check"), human("ship", role="warehouse"))
    run_id = engine.start("w")
    people.claim(engine.unit(run_id, "sign"), "ada")
    people.complete(engine.unit(run_id, "sign"), "ada", {"total": 1})
    engine.drain(session)
    people.claim(engine.unit(run_id, "ship"), "cleo")
    people.complete(engine.unit(run_id, "ship"), "cleo", {"parcel": 1})
    assert engine.run_state(run_id) == "completed"
    return run_id


def approval(engine: Engine, unit: int, action: str = "reopen") -> int:
    made: int = engine.one("select fn_approval_request(1, %s, %s, 'ada')", (action, unit))
    engine.one(deciding("approve", "ben"), (made,))
    return made


def row(engine: Engine, unit: int):
    return engine.db.execute(
        "select state_code, completed_at, output from step_run where step_run_id = %s", (unit,)
    ).fetchone()


@pytest.mark.requirement("SM-12")
def test_the_first_completion_is_kept(engine: Engine, people: People):
    run_id = finished(engine, people, engine.worker())
    unit = engine.unit(run_id, "sign")
    _, completed_at, _ = row(engine, unit)
    made = approval(engine, unit)
    answer = people.reopen_for_correction(unit, "ben", "data_error", made, key="k")
    assert answer["state"] == "in_progress"
    assert [(d["step_id"], d["reopened"]) for d in answer["downstream"]] == [
        ("check", False),
        ("ship", False),
    ]
    assert engine.run_state(run_id) == "in_progress"
    assert engine.events(run_id << 20)[-1] == "workflow.reopened"
    assert people.reopen_for_correction(unit, "ben", "data_error", made, key="k") == answer
    payload = engine.one("select payload from event_log where event_type = 'step.reopened_for_correction'")
    assert payload["approval_id"] == made
    # The fields of the source document, and both events under one correlation.
    assert payload["prior_completed_audit_id"] == payload["prior_audit_id"]
    assert payload["correction_reason"] == "data_error"
    linked = engine.db.execute(
        """select count(distinct correlation_id), array_agg(event_type order by event_id)
           from vw_audit_event_timeline
           where unit_id = %s and event_type in ('step.completed', 'step.reopened_for_correction')""",
        (unit,),
    ).fetchone()
    assert linked == (1, ["step.completed", "step.reopened_for_correction"])
    audit = engine.db.execute(
        "select closing_state, closed_by, output from step_run_prior_audit where prior_audit_id = %s",
        (payload["prior_audit_id"],),
    ).fetchone()
    assert audit == ("completed", "ada", {"total": 1})
    snapshot = "select output from step_run_output_snapshot where snapshot_id = %s"
    assert engine.one(snapshot, (payload["original_output_snapshot_id"],)) == {"total": 1}
    assert engine.faults() == {}
    people.complete(unit, "ada", {"total": 2})
    assert row(engine, unit) == ("completed", completed_at, {"total": 2})
    assert engine.run_state(run_id) == "completed"
    cycle = engine.db.execute(
        """select cycle_no, correction_reason, closed_state, closed_at > reopened_at
           from step_run_correction_cycle"""
    ).fetchall()
    assert cycle == [(1, "data_error", "completed", True)]
    assert engine.events(unit).count("step.completed") == 2
    assert engine.one("select needs_attention from run_progress where run_id = %s", (run_id,)) is False
    assert engine.faults() == {}


@pytest.mark.requirement("SM-12")
def test_a_step_without_an_output_has_null_as_its_snapshot(engine: Engine, people: People):
    engine.publish("w", operation("check"))
    session = engine.worker()
    unit = engine.unit(engine.start("w"), "check")
    engine.complete(session, *engine.claim(session))
    people.reopen_for_correction(unit, "ben", "data_error", approval(engine, unit))
    audit = engine.db.execute("select closing_state, output from step_run_prior_audit").fetchall()
    assert audit == [("completed", None)]
    payload = engine.one("select payload from event_log where event_type = 'step.reopened_for_correction'")
    assert "prior_completed_audit_id" in payload
    snapshot = "select output from step_run_output_snapshot where snapshot_id = %s and lease_no = 1"
    assert engine.db.execute(snapshot, (payload["original_output_snapshot_id"],)).fetchall() == [(None,)]


@pytest.mark.requirement("SM-12")
def test_a_correction_needs_its_own_approval_and_a_known_reason(engine: Engine, people: People):
    run_id = finished(engine, people, engine.worker())
    unit, other = engine.unit(run_id, "sign"), engine.unit(run_id, "ship")
    open_one = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (unit,))
    for wrong in (None, 77, open_one, approval(engine, other), approval(engine, unit, "escalate")):
        with refused("SW004", "reopen_approved"):
            people.reopen_for_correction(unit, "ben", "data_error", wrong)
    good = approval(engine, unit)
    with refused("SW004", "reopen_approved"):
        people.reopen_for_correction(unit, "ben", "a_bad_mood", good)
    with refused("SW001", "downstream"):
        people.reopen_for_correction(unit, "ben", "data_error", good, "burn")
    assert engine.one("select count(*) from step_run_prior_audit") == 0
    assert engine.run_state(run_id) == "completed"
    people.reopen_for_correction(unit, "ben", "data_error", good)
    with refused("SW003", "in_progress"):
        people.reopen_for_correction(unit, "ben", "data_error", good)
    people.complete(unit, "ada")
    with refused("SW003", "already opened"):
        people.reopen_for_correction(unit, "ben", "data_error", good)
    assert engine.faults() == {}


@pytest.mark.requirement("SM-12")
def test_dependents_can_be_reopened_too_and_wait_for_the_corrected_step(engine: Engine, people: People):
    session = engine.worker()
    run_id = finished(engine, people, session)
    unit, check, ship = (engine.unit(run_id, name) for name in ("sign", "check", "ship"))
    answer = people.reopen_for_correction(unit, "ben", "policy_change", approval(engine, unit), "reopen")
    assert [d["reopened"] for d in answer["downstream"]] == [True, True]
    assert engine.states(run_id) == {"sign": "in_progress", "check": "waiting", "ship": "waiting"}
    facet = engine.one("select waiting_facet from step_run where step_run_id = %s", (check,))
    assert facet == "waiting_dependency"
    assert engine.faults() == {}
    people.complete(unit, "ada", {"total": 2})
    assert engine.states(run_id) == {"sign": "completed", "check": "ready", "ship": "waiting"}
    (lease,) = engine.claim(session)
    engine.complete(session, lease, output={"checked": 2})
    assert engine.states(run_id)["ship"] == "in_progress"
    people.complete(ship, "cleo", {"parcel": 2})
    assert engine.run_state(run_id) == "completed"
    assert engine.one("select count(*) from step_run_correction_cycle where closed_state = 'completed'") == 3
    assert engine.faults() == {}


def test_when_the_corrected_step_cannot_complete_its_dependents_are_cancelled(engine: Engine, people: People):
    session = engine.worker()
    run_id = finished(engine, people, session)
    unit = engine.unit(run_id, "sign")
    people.reopen_for_correction(unit, "ben", "policy_change", approval(engine, unit), "reopen")
    people.cannot_complete(unit, "ada", "note:1")
    assert engine.states(run_id) == {"sign": "cannot_complete", "check": "cancelled", "ship": "cancelled"}
    assert engine.run_state(run_id) == "failed"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-12")
@pytest.mark.requirement("SM-15")
def test_a_step_that_could_not_complete_is_reopened(engine: Engine, people: People):
    engine.publish("w", human("sign", role="office"), operation("check"), operation("late"))
    run_id = engine.start("w")
    unit = engine.unit(run_id, "sign")
    people.claim(unit, "ada")
    people.cannot_complete(unit, "ada", "note:1", "no")
    assert engine.run_state(run_id) == "failed"
    answer = people.reopen_for_correction(unit, "ben", "operator_mistake", approval(engine, unit))
    assert answer["original_output_snapshot_id"] is None
    assert engine.states(run_id) == {"sign": "in_progress", "check": "not_started", "late": "not_started"}
    assert engine.faults() == {}
    people.complete(unit, "ada")
    engine.drain(engine.worker())
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_a_reopened_operation_runs_again_or_a_person_corrects_it(engine: Engine, people: People):
    session = engine.worker()
    run_id = finished(engine, people, session)
    check = engine.unit(run_id, "check")
    people.reopen_for_correction(check, "ben", "data_error", approval(engine, check))
    assert engine.state(check) == "ready"
    assert engine.drain(session) == 1
    assert engine.run_state(run_id) == "completed"
    people.reopen_for_correction(check, "ben", "data_error", approval(engine, check), person="ben")
    assert (engine.state(check), engine.claim(session)) == ("in_progress", [])
    people.complete(check, "ben", {"ok": "by hand"})
    assert engine.run_state(run_id) == "completed"
    assert row(engine, check)[2] == {"ok": "by hand"}
    assert engine.one("select max(cycle_no) from step_run_correction_cycle where unit_id = %s", (check,)) == 2
    assert engine.faults() == {}


def test_a_step_that_has_not_started_waits_for_the_reopened_step(engine: Engine, people: People):
    engine.publish(
        "w",
        human("a", role="office"),
        human("b", role="office"),
        operation("c"),
        edges=[("a", "c"), ("b", "c")],
    )
    run_id = engine.start("w")
    first, second = engine.unit(run_id, "a"), engine.unit(run_id, "b")
    people.claim(first, "ada")
    people.complete(first, "ada")
    people.reopen_for_correction(first, "ben", "data_error", approval(engine, first))
    assert engine.one("select pending_count from step_run where step_id = 'c'") == 2
    assert engine.faults() == {}
    people.claim(second, "ben")
    people.complete(second, "ben")
    assert engine.state(engine.unit(run_id, "c")) == "not_started"
    people.complete(first, "ada")
    assert engine.state(engine.unit(run_id, "c")) == "ready"
    assert engine.faults() == {}


def test_a_step_cannot_be_reopened_without_the_record_of_its_completion(
    engine: Engine, people: People, db: psycopg.Connection
):
    run_id = finished(engine, people, engine.worker())
    unit = engine.unit(run_id, "sign")
    evidence = (
        f'{{"audit_ref": "x", "approval_id": {approval(engine, unit)}, "correction_reason": "data_error"}}'
    )
    verdict = engine.one(
        """select fn_state_transition_validate(%s, 'step', 'completed', 'in_progress', 'reviewer', 'rpc',
           'step_reopen_for_correction', %s::jsonb)""",
        (unit, evidence),
    )
    assert "transition_refused_by_guard:reopen_approved" in verdict["problems"]


@pytest.mark.requirement("SM-12")
@pytest.mark.parametrize("required", [True, False], ids=["approval required", "approval not required"])
def test_the_door_never_reopens_without_the_record(engine: Engine, people: People, required: bool):
    """Whoever asks the door for T8r is told the call that writes the audit row and the snapshot."""
    run_id = finished(engine, people, engine.worker())
    unit = engine.unit(run_id, "sign")
    engine.db.execute(
        """insert into dot_config (config_key, config_value, description)
           values ('approval.required.reopen', %s, 'in this test')
           on conflict (config_key) do update set config_value = excluded.config_value""",
        (Jsonb(required),),
    )
    evidence = {"audit_ref": "a", "approval_id": 1, "prior_audit_id": 1, "correction_reason": "data_error"}
    answer = engine.one(
        """select fn_state_transition_validate(%s, 'step', 'completed', 'in_progress', 'reviewer', 'rpc',
               'step_reopen_for_correction', %s)""",
        (unit, Jsonb(evidence | {"payload": evidence})),
    )
    assert answer["ok"] is False
    assert answer["problems"][-1] == "has_calls_of_its_own:fn_step_reopen_for_correction"
    assert (engine.state(unit), engine.one("select count(*) from step_run_prior_audit")) == ("completed", 0)


def late(engine: Engine, unit: int):
    return engine.db.execute(
        """select completed_at, completed_after_deadline, overdue_first_at, sla_breach_duration
           from step_run where step_run_id = %s""",
        (unit,),
    ).fetchone()


def unlike_their_events(engine: Engine):
    """The units whose row is not what their events say, as `audit verify` finds them."""
    return engine.db.execute(
        support_text("audit_unit_lives").encode(), {"tenant_id": 1, "archived": [], "limit": 10}
    ).fetchall()


@pytest.mark.requirement("SM-11", "SM-12")
def test_the_breach_of_the_first_completion_is_kept_with_its_time(
    engine: Engine, people: People, clock: Clock
):
    """000, MP-D3: the breach is `completed_at` minus the deadline, also after a late correction."""
    engine.publish("w", human("sign", role="office", deadline=3600))
    unit = engine.unit(engine.start("w"), "sign")
    deadline = engine.one("select deadline_at from step_run where step_run_id = %s", (unit,))
    people.claim(unit, "ada")
    clock.advance(hours=2)
    engine.timers()
    people.complete(unit, "ada")
    first = late(engine, unit)
    assert first == (first[0], True, deadline, first[0] - deadline)
    people.reopen_for_correction(unit, "ben", "data_error", approval(engine, unit))
    assert late(engine, unit) == first
    card = "select is_late from v_step_card where step_run_id = %s"
    assert engine.one(card, (unit,)) is False
    clock.advance(hours=4)
    engine.timers()
    assert engine.one(card, (unit,)) is True
    people.complete(unit, "ada")
    assert late(engine, unit) == first
    # The event of each completion says how late that one was.
    told = engine.db.execute(
        """select (payload ->> 'sla_breach_duration')::interval from event_log
           where unit_id = %s and event_type = 'step.completed' order by event_id""",
        (unit,),
    ).fetchall()
    assert told[0] == (first[3],)
    assert timedelta(hours=3) <= told[1][0] < timedelta(hours=4)
    assert unlike_their_events(engine) == []
    assert engine.faults() == {}


@pytest.mark.requirement("SM-11", "SM-12")
def test_a_death_that_is_corrected_is_no_completion(engine: Engine, people: People, clock: Clock):
    engine.publish("w", human("sign", role="office"))
    unit = engine.unit(engine.start("w"), "sign")
    people.claim(unit, "ada")
    people.cannot_complete(unit, "ada", "note:1")
    assert late(engine, unit)[0] is not None
    people.reopen_for_correction(unit, "ben", "operator_mistake", approval(engine, unit))
    assert late(engine, unit)[0] is None
    clock.advance(hours=1)
    people.complete(unit, "ada")
    completed_at = late(engine, unit)[0]
    assert completed_at == engine.one(
        "select at from event_log where unit_id = %s and event_type = 'step.completed'", (unit,)
    )
    # It dies after a correction and is replayed: its first completion is still there.
    people.reopen_for_correction(unit, "ben", "data_error", approval(engine, unit))
    people.cannot_complete(unit, "ada", "note:2")
    engine.one("select fn_job_retry(1, %s, 'cli:ada')", (unit,))
    assert engine.state(unit) == "ready"
    assert late(engine, unit)[0] == completed_at
    assert unlike_their_events(engine) == []
    assert engine.faults() == {}


@pytest.mark.requirement("SM-11", "SM-12")
def test_a_migration_gives_the_rows_of_an_earlier_release_their_first_completion(
    engine: Engine, people: People, clock: Clock
):
    engine.publish("w", *(human(name, role="office", deadline=3600) for name in "abc"), edges=[])
    run_id = engine.start("w")
    twice, corrected, dead = (engine.unit(run_id, name) for name in "abc")
    for unit in (twice, corrected, dead):
        people.claim(unit, "ada")
    clock.advance(hours=2)
    engine.timers()
    people.complete(twice, "ada")
    for unit in (corrected, dead):
        people.cannot_complete(unit, "ada", "note:1")
    for unit, made in [(unit, approval(engine, unit)) for unit in (twice, corrected, dead)]:
        people.reopen_for_correction(unit, "ben", "data_error", made)
    clock.advance(hours=3)
    engine.timers()
    for unit in (twice, corrected):
        people.complete(unit, "ada")
    people.cannot_complete(dead, "ada", "note:2")
    rows = "select unit_id, completed_at, sla_breach_duration from work_unit where scope = 'step' order by 1"
    right = engine.db.execute(rows).fetchall()
    assert unlike_their_events(engine) == []
    # As the earlier release left them: the first end of any kind, and the breach of the last completion.
    engine.db.execute(
        """update work_unit as u set completed_at = (select min(e.at) from event_log as e
               where e.unit_id = u.unit_id and e.to_state in ('completed', 'cannot_complete')),
               sla_breach_duration = sla_breach_duration + interval '1 hour'
           where scope = 'step'"""
    )
    assert [unit for unit, _ in unlike_their_events(engine)] == [twice, corrected, dead]
    engine.db.execute("drop index events_by_taker")
    engine.db.execute((MIGRATIONS / "0085_what_woke_a_unit_again.sql").read_bytes())
    assert engine.db.execute(rows).fetchall() == right
    assert unlike_their_events(engine) == []
