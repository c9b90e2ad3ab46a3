"""`fn_state_transition_validate`: a preview writes nothing, a repeated key gets the first verdict, a refusal
names its reason.
"""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, operation

ASK = "select fn_state_transition_validate(%s, %s, %s, %s, %s, %s, %s, %s, %s)"
EVERYTHING = """
    select md5(string_agg(x::text, '|' order by x::text)) from (
        select u::text as x from work_unit as u union all select e::text from event_log as e
        union all select p::text from run_progress as p union all select r::text from job_ready as r
        union all select i::text from transition_idempotency as i
        union all select a::text from event_validation_audit as a) as s
"""


@pytest.fixture
def step(engine: Engine) -> int:
    engine.publish("w", human("sign"), operation("after"))
    unit_id = engine.unit(engine.start("w"), "sign")
    engine.db.execute("update work_unit set pic_id = 7 where unit_id = %s", (unit_id,))
    return unit_id


def ask(engine: Engine, unit_id: int, evidence=None, preview: bool = False, **changes):
    question = {
        "kind": "step", "from": "ready", "to": "in_progress", "actor": "pic_human", "trigger": "rpc",
        "ref": "step_claim",
    } | changes  # fmt: skip
    return engine.one(
        ASK,
        (unit_id, *question.values(), Jsonb({"audit_ref": "a"} if evidence is None else evidence), preview),
    )


@pytest.mark.requirement("SM-05")
@pytest.mark.parametrize("evidence", [{"audit_ref": "a"}, {}, {"audit_ref": "a", "idempotency_key": "k"}])
def test_a_preview_returns_the_verdict_and_writes_nothing(engine: Engine, step: int, evidence):
    before = engine.one(EVERYTHING)
    verdict = ask(engine, step, evidence, preview=True)
    assert verdict["ok"] is (evidence != {})
    assert engine.one(EVERYTHING) == before


@pytest.mark.requirement("SM-07")
def test_the_row_and_its_event_change_together(engine: Engine, step: int):
    verdict = ask(engine, step)
    assert verdict == {
        "ok": True, "transition_id": "step.T2", "emitted_event_type": "step.started", "problems": [],
    }  # fmt: skip
    assert engine.state(step) == "in_progress"
    assert engine.events(step) == ["step.ready", "step.started"]
    with engine.db.transaction(force_rollback=True):
        ask(engine, step, **{"from": "in_progress", "to": "completed", "ref": "step_complete"})
        assert engine.state(step) == "completed"
    assert engine.state(step) == "in_progress"
    assert engine.events(step) == ["step.ready", "step.started"]


@pytest.mark.requirement("SM-08")
def test_the_same_key_gets_the_first_verdict_and_no_second_event(engine: Engine, step: int):
    evidence = {"audit_ref": "a", "idempotency_key": "k"}
    first = ask(engine, step, evidence)
    before = engine.one(EVERYTHING)
    assert ask(engine, step, evidence) == first
    assert engine.one(EVERYTHING) == before
    assert ask(engine, step, {"audit_ref": "a", "idempotency_key": "other"})["ok"] is False


@pytest.mark.requirement("SM-08")
def test_a_repeated_key_gets_the_first_refusal_too(engine: Engine, step: int):
    evidence = {"idempotency_key": "k"}
    refused = ask(engine, step, evidence)
    assert refused["problems"] == ["audit_ref_required"]
    assert ask(engine, step, evidence | {"audit_ref": "late"}) == refused
    assert engine.state(step) == "ready"


@pytest.mark.requirement("SM-08")
def test_one_key_used_for_two_transitions_does_two_things(engine: Engine, step: int):
    """T3r and T4r both lead to in_progress: each has its own verdict under the same key."""
    key = {"audit_ref": "a", "idempotency_key": "k", "resolution_ref": "proof"}
    ask(engine, step)
    waits = {"audit_ref": "a", "payload": {"waiting_facet": "waiting_external"}}
    ask(engine, step, waits, **{"from": "in_progress", "to": "waiting", "ref": "step_wait"})
    back = {"to": "in_progress", "trigger": "event", "ref": "facet_resolved"}
    first = ask(engine, step, key, **back | {"from": "waiting", "actor": "system"})
    assert (first["ok"], first["transition_id"]) == (True, "step.T3r")
    blocks = {"audit_ref": "a", "block_reason": "missing_iu", "payload": {"block_reason": "missing_iu"}}
    ask(engine, step, blocks, **{"from": "in_progress", "to": "blocked", "ref": "step_block"})
    assert engine.state(step) == "blocked"
    second = ask(engine, step, key, **back | {"from": "blocked", "ref": "blocker_resolved"})
    assert (second["ok"], second["transition_id"]) == (True, "step.T4r")
    assert engine.state(step) == "in_progress"
    before = engine.one(EVERYTHING)
    assert ask(engine, step, key, **back | {"from": "waiting", "actor": "system"}) == first
    assert ask(engine, step, key, **back | {"from": "blocked", "ref": "blocker_resolved"}) == second
    assert engine.one(EVERYTHING) == before


@pytest.mark.requirement("SM-08")
def test_a_key_needs_the_state_in_which_its_transition_begins(engine: Engine, step: int):
    with pytest.raises(
        psycopg.Error, match="from_state: a value is required together with an idempotency_key"
    ):
        ask(engine, step, {"audit_ref": "a", "idempotency_key": "k"}, **{"from": None})


@pytest.mark.requirement("SM-06")
@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"to": "completed"}, "no_transition:ready->completed by pic_human"),
        ({"from": "waiting"}, "state_is_ready"),
        ({"ref": "something"}, "trigger_must_be:rpc step_claim"),
        ({"kind": "task"}, "run_kind_is_step"),
    ],
)
def test_a_refusal_names_its_reason(engine: Engine, step: int, changes, problem: str):
    verdict = ask(engine, step, **changes)
    assert (verdict["ok"], problem in verdict["problems"]) == (False, True)
    assert engine.state(step) == "ready"


@pytest.mark.requirement("SM-06")
def test_a_refusal_names_the_guard_that_is_false(engine: Engine, step: int):
    engine.db.execute("update work_unit set pic_id = null where unit_id = %s", (step,))
    assert ask(engine, step)["problems"] == ["transition_refused_by_guard:pic_assigned"]


def test_an_accepted_transition_advances_the_graph(engine: Engine, step: int):
    ask(engine, step)
    evidence = {"audit_ref": "a", "output": {"signed": True}}
    ask(engine, step, evidence, **{"from": "in_progress", "to": "completed", "ref": "step_complete"})
    run_id = step >> 20
    assert engine.states(run_id) == {"sign": "completed", "after": "ready"}
    assert engine.one("select output from step_run where step_id = 'sign'") == {"signed": True}
    engine.drain(engine.worker())
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_an_unknown_unit_gives_a_verdict_and_a_missing_argument_an_error(engine: Engine):
    assert ask(engine, 4711)["problems"] == ["unit_not_found"]
    with pytest.raises(psycopg.Error) as caught:
        engine.one("select fn_state_transition_validate(null, 'step', null, null, null, null, null)")
    assert caught.value.sqlstate == "SW001"
