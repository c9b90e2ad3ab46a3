"""What an audit of the documents tried and could do, word for word, where no other test does the same: it is
refused now, or has the state that the documents name.
"""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.define import Conditional, Human, Operation, Parallel, Sequential
from tests.sql.binding import as_role, token
from tests.sql.drive import Engine, human, operation
from tests.sql.graphs.publishing import leases, start
from tests.support.deciding import deciding

op = Operation
DOOR = "select stepwell.fn_state_transition_validate(%s, %s, %s, %s, 'reviewer', 'rpc', %s, %s)"


@pytest.mark.requirement("SM-15", "SM-22")
@pytest.mark.parametrize("call", ["fn_run_cancel", "fn_run_pause"])
def test_mallory_without_a_person_and_a_role_neither_cancels_nor_pauses(db, engine: Engine, call: str):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    trigger = call.replace("fn_run", "workflow")
    state = {"fn_run_cancel": "cancelled", "fn_run_pause": "paused"}[call]
    evidence = Jsonb({"audit_ref": "x", "actor": "mallory"})
    door = (run_id << 20, "workflow_run", "in_progress", state, trigger, evidence)
    for text in (None, token(db, 1, "mallory", ())):
        for query, values in ((f"select stepwell.{call}(1, %s, 'mallory')", (run_id,)), (DOOR, door)):
            with pytest.raises(psycopg.Error) as caught, as_role(db, "stepwell_api", text):
                db.execute(query, values)
            assert caught.value.sqlstate == "SW007"
    assert engine.run_state(run_id) == "in_progress"


@pytest.mark.requirement("SM-12", "SM-22")
def test_an_approval_of_another_run_and_an_invented_audit_row_reopen_nothing(db, engine: Engine):
    engine.publish("w", human("sign", role="office"))
    text = token(db, 1, "ada", ("office", "admin"))
    engine.person("ben")
    mine, other = (engine.unit(engine.start("w"), "sign") for _ in range(2))
    for unit in (mine, other):
        engine.db.execute("select fn_step_claim(1, %s, 'ada')", (unit,))
        engine.db.execute("select fn_step_complete(1, %s, 'ada', '{}')", (unit,))
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada', 'why')", (other,))
    assert engine.one(deciding("approve", "ben"), (approval,)) == "approved"
    evidence = {
        "audit_ref": "x", "approval_id": approval, "prior_audit_id": 4711, "correction_reason": "data_error",
    }  # fmt: skip
    reopen = "step_reopen_for_correction"
    with as_role(db, "stepwell_api", text):
        row = db.execute(DOOR, (mine, "step", "completed", "in_progress", reopen, Jsonb(evidence))).fetchone()
        assert row is not None
        assert row[0]["ok"] is False
    with as_role(db, "stepwell_api", text), pytest.raises(psycopg.Error) as caught:
        db.execute(f"select stepwell.fn_{reopen}(1, %s, 'ada', 'data_error', %s)", (mine, approval))
    assert str(caught.value.sqlstate).startswith("SW")
    assert engine.state(mine) == "completed"
    kept = (
        "select (select count(*) from step_run_prior_audit) + (select count(*) from step_run_output_snapshot)"
    )
    assert engine.one(kept) == 0


@pytest.mark.requirement("RX-03", "RX-08")
def test_the_third_of_two_is_not_ready_and_a_step_behind_a_running_one_waits(engine: Engine):
    limited = Parallel(op("a"), op("b"), op("c"), max_concurrency=2)
    run_id = start(engine, Sequential(limited, op("d"), op("e")))
    words = "select string_agg(node_code, ' ' order by unit_id) from v_unit_dialect where unit_id > %s"
    assert engine.one(words, (run_id << 20,)) == "ready ready waiting idle idle"
    session = engine.worker()
    first = leases(engine, session)
    assert sorted(first) == ["a", "b"]
    assert engine.one(words, (run_id << 20,)) == "running running waiting waiting idle"
    engine.complete(session, first["a"])
    assert engine.one(words, (run_id << 20,)) == "completed running ready waiting idle"


@pytest.mark.requirement("RX-06")
def test_a_dead_validate_takes_no_branch(engine: Engine):
    test = "$.steps.review.output.approved == true"
    steps = (op("validate"), Human("review", role="clerk"), Conditional(test, op("pay"), op("refuse")))
    run_id = start(engine, Sequential(*steps))
    session = engine.worker()
    engine.kill(session, leases(engine, session)["validate"])
    assert engine.states(run_id) == {
        "validate": "cannot_complete", "review": "cancelled", "if.pay": "cancelled", "pay": "cancelled",
        "refuse": "cancelled",
    }  # fmt: skip
    assert engine.run_state(run_id) == "failed"
    assert engine.faults() == {}


@pytest.mark.requirement("RX-06", "RX-13")
def test_a_boundary_inside_a_branch_that_never_opened_takes_no_branch(engine: Engine):
    inner = Sequential(op("x"), Conditional("x", op("y"), op("z")))
    run_id = start(engine, Sequential(Parallel(op("a"), op("b")), Conditional("a", inner)))
    session = engine.worker()
    found = leases(engine, session)
    engine.complete(session, found["a"])
    engine.kill(session, found["b"])
    left = {state for step, state in engine.states(run_id).items() if step not in ("a", "b")}
    assert left == {"cancelled"}
    assert engine.run_state(run_id) == "failed"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-22")
def test_two_names_that_nobody_has_are_no_quorum(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    engine.person("ada")
    asked = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada', p_quorum => 2)", (run_id << 20,))
    for voter in ("nobody-1", "nobody-2"):
        with pytest.raises(psycopg.Error) as caught:
            engine.one(deciding("approve", voter), (asked,))
        assert str(caught.value.sqlstate).startswith("SW")
    assert engine.state(asked) == "requested"


@pytest.mark.requirement("SM-22")
def test_a_replay_with_invented_numbers_opens_nothing(db, engine: Engine):
    (job_id,) = engine.enqueue("a")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    db.execute("update dot_config set config_value = 'true' where config_key = 'approval.required.replay'")
    invented = Jsonb({"audit_ref": "x", "approval_id": 4711, "replay_request_id": 4712})
    rules = db.execute(
        """select actor_class, trigger_kind, trigger_ref from transition_def
           where state_machine_id = 'job.1' and from_state = 'cannot_complete' and to_state = 'ready'"""
    ).fetchall()
    door = "select fn_state_transition_validate(%s, 'job', 'cannot_complete', 'ready', %s, %s, %s, %s)"
    assert rules
    for rule in rules:
        answer = engine.one(door, (job_id, *rule, invented))
        assert (answer["ok"], engine.state(job_id)) == (False, "cannot_complete")


@pytest.mark.requirement("SM-05")
def test_a_preview_asks_nothing_of_a_transaction_that_only_reads(db, engine: Engine):
    """The document calls it stable: it works where nothing can be written."""
    engine.publish("w", human("sign"))
    unit = engine.unit(engine.start("w"), "sign")
    preview = DOOR.replace(", %s)", ", %s, true)").replace("'reviewer'", "'pic_human'")
    for evidence in ({"audit_ref": "x"}, {}):
        with db.transaction():
            db.execute("set transaction read only")
            query = (unit, "step", "ready", "in_progress", "step_claim", Jsonb(evidence))
            assert engine.one(preview, query)["ok"] is False
