"""Sentences of document 000 whose tests asked for less than the sentence says."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.binding import as_role, token
from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import People, refused
from tests.support.clock import Clock
from tests.support.deciding import deciding

ASK = "select fn_state_transition_validate(%s, %s, %s, %s, %s, %s, %s, %s)"
REQUIRED = (
    "update dot_config set config_value = 'true' where config_key = 'approval.required.workflow_cancel'"
)
# 000 §5.1, R-1 to R-3, state by state.
COLOURS = {
    "not_started": "gray", "skipped": "gray",
    "ready": "green", "in_progress": "green", "completed": "green",
    # The blocked step of the test is on the critical path: it counts red (3.1).
    "waiting": "yellow", "blocked": "red",
    "overdue": "red", "failed": "red", "cannot_complete": "red", "cancelled": "red",
}  # fmt: skip


@pytest.fixture
def people(engine: Engine) -> People:
    made = People(engine)
    made.add("ada", "office", "operator")
    made.add("ben", "office", "operator", "reviewer", "lead")
    return made


def ask(engine: Engine, unit: int, evidence: dict[str, Any], **changes: str) -> Any:
    question = {
        "kind": "step", "from": "ready", "to": "in_progress", "actor": "pic_human", "trigger": "rpc",
        "ref": "step_claim",
    } | changes  # fmt: skip
    return engine.one(ASK, (unit, *question.values(), Jsonb(evidence)))


def granted(engine: Engine, action: str, unit: int) -> int:
    found: int = engine.one("select fn_approval_request(1, %s, %s, 'ada')", (action, unit))
    assert engine.one(deciding("approve", "ben"), (found,)) == "approved"
    return found


@pytest.mark.requirement("SM-08")
def test_a_refusal_is_the_first_verdict_of_its_key_too(engine: Engine, people: People):
    """2.3: the same transition and key returns the prior verdict, whatever the evidence says now."""
    engine.publish("w", human("sign"))
    unit = engine.unit(engine.start("w"), "sign")
    engine.db.execute("update work_unit set pic_id = 1 where unit_id = %s", (unit,))
    first = ask(engine, unit, {"idempotency_key": "k"})
    assert (first["ok"], first["problems"]) == (False, ["audit_ref_required"])
    assert ask(engine, unit, {"idempotency_key": "k", "audit_ref": "a"}) == first
    assert engine.state(unit) == "ready"
    assert ask(engine, unit, {"idempotency_key": "another", "audit_ref": "a"})["ok"]


@pytest.mark.requirement("SM-06")
@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"kind": "task"}, "run_kind_is_step"),
        ({"from": "waiting"}, "state_is_ready"),
        ({"trigger": "timer"}, "trigger_must_be:rpc step_claim"),
        ({"ref": "step_take"}, "trigger_must_be:rpc step_claim"),
    ],
)
def test_each_argument_of_the_door_is_checked(engine: Engine, people: People, changes, problem: str):
    engine.publish("w", human("sign"))
    unit = engine.unit(engine.start("w"), "sign")
    engine.db.execute("update work_unit set pic_id = 1 where unit_id = %s", (unit,))
    answer = ask(engine, unit, {"audit_ref": "a"}, **changes)
    assert (answer["ok"], problem in answer["problems"]) == (False, True)
    assert engine.state(unit) == "ready"
    assert ask(engine, unit, {"audit_ref": "a"})["ok"]


@pytest.mark.requirement("SM-10", "SM-21")
@pytest.mark.parametrize("state", COLOURS)
def test_a_facet_is_only_there_while_a_step_waits(engine: Engine, state: str):
    """2.2: only when waiting; 5.3 names waiting_dependency for blocked. Waiting is never without one."""
    engine.publish("w", human("sign"))
    unit = engine.unit(engine.start("w"), "sign")
    put = "update work_unit set state_code = %s, waiting_facet = %s where unit_id = %s"
    allowed = {
        "waiting": {"waiting_dependency", "waiting_human", "waiting_external", "waiting_time_gate"},
        "blocked": {None, "waiting_dependency"},
    }.get(state, {None})
    for facet in (None, "waiting_dependency", "waiting_human", "waiting_external", "waiting_time_gate"):
        try:
            with engine.db.transaction(force_rollback=True):
                engine.db.execute(put, (state, facet, unit))
            kept = True
        except psycopg.errors.CheckViolation:
            kept = False
        assert (facet, kept) == (facet, facet in allowed)


def bring(engine: Engine, people: People, clock: Clock, unit: int, state: str) -> None:
    """Brings a step that is ready into the state."""
    if state == "cancelled":
        engine.one("select fn_job_cancel(1, %s, 'ada', 'no')", (unit,))
        return
    if state not in ("ready", "failed"):
        people.claim(unit, "ada")
    if state == "waiting":
        people.wait(unit, "ada", ["waiting_external"])
    elif state == "blocked":
        people.block(unit, "ada", "other")
    elif state == "overdue":
        people.deadline_change(unit, "ben", clock.now())
        clock.advance(minutes=1)
        engine.timers()
    elif state == "failed":
        session = engine.worker()
        (lease,) = engine.claim(session)
        engine.report(session, (lease, "failed", {"error": {"type": "TimeoutError"}, "delay_seconds": 60}))
    elif state == "cannot_complete":
        people.cannot_complete(unit, "ada", "note:1")
    elif state == "completed":
        people.complete(unit, "ada")


@pytest.mark.requirement("RU-01", "RU-02", "RU-04")
@pytest.mark.parametrize("state", [state for state in COLOURS if state != "skipped"])
def test_each_state_has_the_colour_of_the_document(engine: Engine, people: People, clock: Clock, state: str):
    """One mandatory step in each state; an optional one beside it that pulls nothing, whatever it is in."""
    engine.publish(
        "w",
        human("gate", role="office", mandatory=False),
        operation("step", retry={"max_attempts": 2}) if state == "failed" else human("step", role="office"),
        human("side", role="office", mandatory=False),
        edges=[("gate", "step")],
    )
    run_id = engine.start("w")
    gate, step, side = (engine.unit(run_id, name) for name in ("gate", "step", "side"))
    if state != "not_started":
        people.claim(gate, "ada")
        people.complete(gate, "ada")
        bring(engine, people, clock, step, state)
    people.claim(side, "ada")
    people.block(side, "ada", "other")
    assert engine.state(step) == state
    found = engine.one("select fn_workflow_rollup_compute(%s)", (run_id,))
    kept = engine.one("select rollup_state_code from workflow_run where run_id = %s", (run_id,))
    assert (found["rollup_state_code"], kept) == (COLOURS[state], COLOURS[state])
    counted = {name: found[f"{name}_count"] for name in ("red", "yellow", "green")}
    wanted = {"red": 0, "yellow": 0, "green": 0} | ({} if COLOURS[state] == "gray" else {COLOURS[state]: 1})
    assert counted == wanted
    assert engine.faults() == {}


@pytest.mark.requirement("SM-12")
def test_the_event_of_t12r_names_the_audit_row_of_what_could_not_be_completed(engine: Engine, people: People):
    """4.2: T12r carries prior_audit_id, correction_reason and approval_id."""
    engine.publish("w", human("sign", role="office"))
    unit = engine.unit(engine.start("w"), "sign")
    people.claim(unit, "ada")
    people.cannot_complete(unit, "ada", "note:1")
    approval = granted(engine, "reopen", unit)
    people.reopen_for_correction(unit, "ben", "policy_change", approval)
    payload = engine.one("select payload from event_log where event_type = 'step.reopened_for_correction'")
    assert payload["approval_id"] == approval
    assert payload["correction_reason"] == "policy_change"
    assert not {"prior_completed_audit_id", "original_output_snapshot_id"} & set(payload)
    audit = "select unit_id, closing_state, closed_by from step_run_prior_audit where prior_audit_id = %s"
    assert engine.db.execute(audit, (payload["prior_audit_id"],)).fetchall() == [
        (unit, "cannot_complete", "ada")
    ]
    timeline = engine.db.execute(
        """select event_type, correlation_id is not null from vw_audit_event_timeline
           where unit_id = %s and event_type in ('step.cannot_complete', 'step.reopened_for_correction')
           order by event_id""",
        (unit,),
    ).fetchall()
    assert timeline == [("step.cannot_complete", True), ("step.reopened_for_correction", True)]
    cycle = engine.db.execute("select unit_id, prior_audit_id from step_run_correction_cycle").fetchall()
    assert cycle == [(unit, payload["prior_audit_id"])]


@pytest.mark.requirement("SM-15")
@pytest.mark.parametrize("how", ["none", "requested", "rejected", "expired"])
def test_only_a_granted_approval_cancels_a_run(engine: Engine, people: People, clock: Clock, how: str):
    engine.db.execute(REQUIRED)
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    evidence = {}
    if how != "none":
        asked = "select fn_approval_request(1, 'workflow_cancel', %s, 'ada', p_expires_seconds => 60)"
        evidence["approval_id"] = engine.one(asked, (run_id << 20,))
        if how == "rejected":
            engine.one(deciding("reject", "ben", "no"), (evidence["approval_id"],))
        if how == "expired":
            clock.advance(seconds=61)
            engine.timers()
    cancel = "select fn_run_cancel(1, %s, 'ada', null, %s)"
    with refused("SW004", "cancel_authorised"):
        engine.one(cancel, (run_id, Jsonb(evidence)))
    assert engine.run_state(run_id) == "in_progress"
    right = {"approval_id": granted(engine, "workflow_cancel", run_id << 20)}
    assert engine.one(cancel, (run_id, Jsonb(right))) == "cancelled"


@pytest.mark.requirement("SM-19")
def test_a_long_block_is_escalated_with_an_approval_after_the_time_of_its_class(
    engine: Engine, people: People, clock: Clock
):
    """3.1: review is needed if a step is blocked for more than N hours; N is that of the workflow class."""
    engine.db.execute(
        "insert into dot_config values ('block_severity.review_seconds.urgent', '60', 'for the test')"
    )
    both = (human("first", role="office"), human("second", role="office"))
    engine.publish("w", *both, edges=[], workflow_class="urgent")
    unit = engine.unit(engine.start("w"), "second")
    people.claim(unit, "ada")
    people.block(unit, "ada", "other")
    clock.advance(seconds=61)
    with refused("SW004", "approval"):
        people.block_escalate(unit, "ben")
    approval = granted(engine, "block_escalate", unit)
    people.block_escalate(unit, "ben", approval_id=approval)
    assert (engine.state(unit), engine.one("select fn_step_blocked_severity(%s)", (unit,))) == (
        "blocked",
        "red",
    )


@pytest.mark.requirement("RT-07", "SM-22")
def test_one_browser_is_one_reviewer(engine: Engine, people: People):
    """Somebody who is refused as ada types ben: the name comes from the binding, not from the keyboard."""
    engine.publish("w", human("sign"))
    unit = engine.unit(engine.start("w"), "sign")
    asked = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada', p_quorum => 2)", (unit,))
    text = token(engine.db, 1, "ada", ("reviewer",))
    for name, said in (("ada", "the requester"), ("ben", "bound to ada and cannot act as ben")):
        with pytest.raises(psycopg.Error, match=said) as caught, as_role(engine.db, "stepwell_api", text):
            engine.db.execute(deciding("approve", name), (asked,))
        assert caught.value.sqlstate == "SW007"
    assert engine.state(asked) == "requested"
