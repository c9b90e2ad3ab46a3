"""An expression above the cost limit is evaluated by a worker, in a transaction that holds no lock.

A step of the engine enters the queue for it; the report of the worker brings the value. An operation is
leased without its inputs, and its worker asks for them.
"""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

import stepwell as sw
from tests.sql.drive import Engine, Lease, operation, subworkflow, wait
from tests.sql.expressions.hostile import publish_before_the_rule
from tests.sql.graphs.publishing import publish
from tests.support.clock import Clock

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database

# 4,000,000 comparisons in lax mode: accepted when it is published, because a and b may be one value each.
SAME = "$.input.a == $.input.b"
LIST = "strict $.input.items ? ($.input.a[*] == $.input.b[*])"
APART = {"a": list(range(2_000)), "b": list(range(2_000, 4_000)), "items": [1, 2]}
TOGETHER = {**APART, "b": [*APART["b"], 1_999]}
EVALUATE = "stepwell.evaluate"


def branch() -> sw.Conditional:
    return sw.Conditional(SAME, sw.Operation("yes"), otherwise=sw.Operation("no"), id="c")


def leased(engine: Engine, session: int) -> Lease:
    (lease,) = engine.claim(session)
    return lease


def report(engine: Engine, session: int, lease: Lease) -> None:
    assert engine.report(session, engine.outcome(session, lease)) == []


def limit(engine: Engine, value: int) -> None:
    engine.db.execute(
        "update dot_config set config_value = %s where config_key = 'limits.expression_cost_alone'",
        (Jsonb(value),),
    )


def reason(engine: Engine, unit_id: int) -> tuple[str, str]:
    row = engine.db.execute(
        "select failure_class, error ->> 'message' from job_dead_letter where unit_id = %s", (unit_id,)
    ).fetchone()
    assert row is not None
    return row  # type: ignore[return-value]


@pytest.mark.parametrize(("given", "taken", "skipped"), [(APART, "no", "yes"), (TOGETHER, "yes", "no")])
def test_a_conditional_takes_the_branch_of_the_value(engine: Engine, given, taken: str, skipped: str):
    publish(engine, branch())
    run_id = engine.start("w", given)
    # Nothing was evaluated by the start: the step waits for a worker, and says so.
    assert engine.states(run_id) == {"c": "ready", "yes": "not_started", "no": "not_started"}
    assert engine.why(engine.unit(run_id, "c"))[0] == "no_worker"
    session = engine.worker()
    lease = leased(engine, session)
    assert (lease.step_id, lease.operation) == ("c", EVALUATE)
    report(engine, session, lease)
    assert engine.states(run_id) == {"c": "completed", taken: "ready", skipped: "skipped"}
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_a_map_gets_its_items_from_the_value(engine: Engine):
    over = {"id": "m", "kind": "map", "over": LIST, "reads": []}
    publish_before_the_rule(engine, "w", over, operation("each", scope=1), edges=[])
    run_id = engine.start("w", TOGETHER)
    session = engine.worker()
    report(engine, session, leased(engine, session))
    assert engine.state(engine.unit(run_id, "m")) == "in_progress"
    # It is a step of the engine again: the end of the session does not take it away.
    engine.one("select fn_worker_close(%s)", (session,))
    assert engine.state(engine.unit(run_id, "m")) == "in_progress"
    assert engine.faults() == {}
    session = engine.worker()
    assert [lease.bound_input["item"] for lease in engine.claim(session)] == [1, 2]
    assert engine.faults() == {}


def test_a_sub_workflow_gets_its_input_from_the_value(engine: Engine):
    engine.publish("child", operation("c"))
    engine.publish("w", subworkflow("sub", "child", inputs={"same": SAME, "first": "$.input.items[0]"}))
    run_id = engine.start("w", TOGETHER)
    session = engine.worker()
    report(engine, session, leased(engine, session))
    lease = leased(engine, session)
    assert (lease.step_id, lease.input) == ("c", {"same": True, "first": 1})
    report(engine, session, lease)
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


@pytest.mark.parametrize("in_map", [False, True])
def test_the_inputs_of_an_operation_are_given_to_its_worker(engine: Engine, in_map: bool):
    inputs = {"same": SAME, "first": "$.input.items[0]"}
    if in_map:
        over = {"id": "m", "kind": "map", "over": "$.input.items", "reads": []}
        engine.publish("w", over, operation("a", scope=1, inputs=inputs), edges=[])
    else:
        engine.publish("w", operation("a", inputs=inputs))
    engine.start("w", TOGETHER)
    session = engine.worker()
    lease = engine.claim(session)[0]
    assert isinstance(lease.bound_input, list)
    assert lease.bound_input[0].startswith(f"inputs.same: {SAME} would look at ")
    item = {"item": 1, "index": 0} if in_map else {}
    assert engine.evaluate(session, lease) == {"value": {"same": True, "first": 1, **item}}


def test_timers_and_reports_leave_costly_expressions_to_workers(engine: Engine, clock: Clock):
    """Both are in the middle of a batch of others and hold the locks of runs."""
    publish(engine, sw.Sequential(sw.Operation("first"), branch()), name="report")
    publish(engine, sw.Sequential(sw.Wait("never", timeout="1m", id="w"), branch()), name="wait")
    late = [
        wait("w", "never", timeout_seconds=60),
        {"id": "late", "kind": "conditional", "test": {"step": "w"}, "reads": [1]},
        {"id": "c", "kind": "conditional", "test": SAME, "reads": []},
    ]
    engine.publish("timer", *late)
    runs = [engine.start(name, TOGETHER) for name in ("report", "timer")]
    session = engine.worker()
    assert engine.complete(session, leased(engine, session)) == []
    clock.advance(minutes=10)
    assert engine.timers() == 1
    assert [engine.states(run_id)["c"] for run_id in runs] == ["ready", "ready"]
    session = engine.worker()
    leases = engine.claim(session)
    assert [lease.operation for lease in leases] == [EVALUATE, EVALUATE]
    for lease in leases:
        report(engine, session, lease)
    assert [engine.states(run_id)["c"] for run_id in runs] == ["completed", "completed"]
    assert engine.faults() == {}


def test_an_expression_above_the_second_limit_fails_its_step(engine: Engine):  # limits.expression_cost_alone
    limit(engine, 3_999_999)
    publish(engine, sw.Parallel(branch(), sw.Operation("a", inputs={"same": SAME})))
    run_id = engine.start("w", APART)
    session = engine.worker()
    for lease in engine.claim(session):
        report(engine, session, lease)
    said = "would look at 4000002 values of this document; at most 3999999 are accepted"
    for step_id, field in (("c", "test"), ("a", "inputs.same")):
        failure_class, message = reason(engine, engine.unit(run_id, step_id))
        assert failure_class == "expression_error"
        assert message.startswith(f"{field}: {SAME} {said}")
    assert engine.run_state(run_id) == "failed"
    assert engine.faults() == {}


def test_nobody_waits_for_an_evaluation(engine: Engine, dsn: str):
    publish(engine, branch())
    run_id = engine.start("w", APART)
    session = engine.worker()
    lease = leased(engine, session)
    with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as other:
        assert Engine(other).evaluate(session, lease) == {"value": False}
        # Its transaction is still open. It holds no lock of a row, and reads tables only.
        modes = "select distinct mode from pg_locks where pid = %s and locktype in ('relation', 'tuple')"
        assert engine.db.execute(modes, (other.info.backend_pid,)).fetchall() == [("AccessShareLock",)]
        writes = "select backend_xid is not null from pg_stat_activity where pid = %s"
        assert not engine.one(writes, (other.info.backend_pid,))
        engine.db.execute("set lock_timeout = '1s'")
        engine.one("select fn_run_cancel(1, %s, 'cli:test')", (run_id,))
    refused = engine.report(session, (lease, "evaluated", {"value": False}))
    assert [row.row_kind for row in refused] == ["refused"]
    assert engine.states(run_id)["c"] == "cancelled"
    assert engine.faults() == {}


def test_only_the_session_with_the_lease_may_evaluate(engine: Engine):
    publish(engine, branch())
    engine.start("w", APART)
    session = engine.worker()
    lease = leased(engine, session)
    for who, number in ((engine.worker("other"), lease.lease_no), (session, lease.lease_no + 1)):
        with pytest.raises(psycopg.Error, match="does not have the lease of step 'c'") as error:
            engine.one("select fn_expression_evaluate(%s, 1, %s, %s)", (who, lease.unit_id, number))
        assert error.value.sqlstate == "SW005"


def test_a_cancelled_evaluation_is_an_error_and_no_problem_of_the_expression(engine: Engine):
    nested = "exists ($.input.a[*] ? (exists ($.input.a[*] ? (@ < 0))))"
    publish_before_the_rule(engine, "w", operation("a", inputs={"x": nested}))
    engine.start("w", {"a": list(range(1_500))})
    session = engine.worker()
    lease = leased(engine, session)
    engine.db.execute("set statement_timeout = '5ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        engine.evaluate(session, lease)


def test_an_evaluation_whose_worker_died_is_done_again(engine: Engine, clock: Clock):
    publish(engine, branch())
    run_id = engine.start("w", APART)
    leased(engine, engine.worker(lease_seconds=30))
    clock.advance(minutes=5)
    assert engine.one("select fn_leases_recover()") == 1
    session = engine.worker()
    lease = leased(engine, session)
    assert lease.attempt == 2
    report(engine, session, lease)
    assert engine.states(run_id)["c"] == "completed"
    assert engine.faults() == {}


def test_a_step_that_is_replayed_is_carried_out_by_the_engine_first(engine: Engine):
    publish(engine, sw.Sequential(branch(), sw.Operation("after")))
    run_id = engine.start("w", APART)
    session = engine.worker()
    engine.kill(session, leased(engine, session))
    assert engine.run_state(run_id) == "failed"
    engine.db.execute(
        "update dot_config set config_value = '9000000' where config_key = 'limits.expression_cost'"
    )
    engine.one("select fn_run_retry(1, %s, 'cli:ada', 'again')", (run_id,))
    assert engine.states(run_id)["c"] == "completed"
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_a_paused_run_is_not_evaluated(engine: Engine):
    publish(engine, sw.Sequential(sw.Operation("first"), branch()))
    run_id = engine.start("w", APART)
    session = engine.worker()
    first = leased(engine, session)
    engine.one("select fn_run_pause(1, %s, 'cli:ada')", (run_id,))
    engine.complete(session, first)
    assert engine.claim(session) == []
    engine.one("select fn_run_resume(1, %s, 'cli:ada')", (run_id,))
    report(engine, session, leased(engine, session))
    assert engine.states(run_id)["c"] == "completed"
    assert engine.faults() == {}


def test_an_evaluation_takes_and_frees_a_slot_of_its_group(engine: Engine):
    parts = [sw.Conditional(SAME, sw.Operation(f"yes{n}"), id=f"c{n}") for n in range(3)]
    publish(engine, sw.Parallel(*parts, max_concurrency=1))
    run_id = engine.start("w", APART)
    session = engine.worker()
    for _ in parts:
        report(engine, session, leased(engine, session))
    assert engine.claim(session) == []
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


@pytest.mark.parametrize(
    ("outcome", "body"), [("completed", True), ("completed", None), ("released", None), ("failed", {})]
)
def test_a_worker_cannot_decide_a_conditional_in_another_way(engine: Engine, outcome: str, body: Any):
    publish(engine, branch())
    run_id = engine.start("w", APART)
    session = engine.worker()
    engine.report(session, (leased(engine, session), outcome, body))
    states = engine.states(run_id)
    assert states.pop("c") in ("ready", "failed", "cannot_complete")
    assert set(states.values()) <= {"not_started", "cancelled"}
    assert engine.faults() == {}


def test_an_operation_cannot_be_reported_as_evaluated(engine: Engine):
    engine.publish("w", operation("a"))
    engine.start("w")
    session = engine.worker()
    lease = leased(engine, session)
    with pytest.raises(psycopg.Error, match=f"only for leases of the operation {EVALUATE}"):
        engine.report(session, (lease, "evaluated", {"value": 1}))


def test_the_workers_that_the_run_needs_evaluate_its_expressions(engine: Engine):
    engine.one(
        "select fn_operation_register(1, %s)",
        (Jsonb([{"name": name, "executor": "process"} for name in ("yes", "no")]),),
    )
    publish(engine, branch())
    engine.start("w", APART)
    assert engine.claim(engine.worker(classes=["default"])) == []
    assert leased(engine, engine.worker(classes=["process"])).operation == EVALUATE
