"""A Conditional is decided when every step before it has ended, also the steps before a cancelled one. So its
result does not depend on the order in which the steps end.
"""

from __future__ import annotations

from itertools import permutations

import pytest

from stepwell.define import Conditional, Map, Operation, Parallel, Sequential, SubWorkflow
from tests.sql.drive import Engine
from tests.sql.graphs.publishing import leases, publish, start

op = Operation
TWO_BEFORE_ONE = Sequential(Parallel(op("a"), op("c")), op("x"))


@pytest.mark.requirement("RX-06")
@pytest.mark.parametrize("order", list(permutations(["a", "c", "y"])), ids="".join)
def test_both_failures_are_caught_in_every_order(engine: Engine, order: tuple[str, ...]):
    root = Sequential(Parallel(TWO_BEFORE_ONE, op("y")), Conditional("x", op("d"), op("e")))
    run_id = start(engine, root)
    session = engine.worker()
    leased = leases(engine, session)
    for step in order:
        if step == "y":
            engine.complete(session, leased[step])
        else:
            engine.kill(session, leased[step])
        assert engine.faults() == {}
    assert engine.states(run_id) == {
        "a": "cannot_complete", "c": "cannot_complete", "x": "cancelled", "y": "completed",
        "if.d": "completed", "d": "skipped", "e": "ready",
    }  # fmt: skip
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


@pytest.mark.requirement("RX-06")
def test_a_conditional_names_the_step_it_waits_for(engine: Engine):
    run_id = start(engine, Sequential(TWO_BEFORE_ONE, Conditional("x", op("d"), op("e"))))
    session = engine.worker()
    leased = leases(engine, session)
    engine.kill(session, leased["a"])
    unit_id = engine.unit(run_id, "if.d")
    assert engine.state(unit_id) == "ready"
    assert engine.why(unit_id)[:2] == ("dependency", "if.d waits for c (In progress).")
    assert engine.faults() == {}
    engine.complete(session, leased["c"])
    assert engine.state(unit_id) == "completed"
    assert engine.one("select bool_or(needs_attention) from run_progress") is False


@pytest.mark.requirement("RX-06")
@pytest.mark.parametrize("last", ["completed", "dead"])
def test_a_conditional_never_reads_a_step_that_still_runs(engine: Engine, last: str):
    test = '$.steps.a.status == "completed" || $.steps.x.status == "completed"'
    run_id = start(engine, Sequential(TWO_BEFORE_ONE, Conditional(test, op("d"), op("e"))))
    session = engine.worker()
    leased = leases(engine, session)
    engine.kill(session, leased["c"])
    engine.report(session, (leased["a"], last, {"error": {"type": "Dead", "message": "no"}}))
    states = engine.states(run_id)
    assert (states["d"], states["e"]) == (
        ("ready", "skipped") if last == "completed" else ("skipped", "ready")
    )


@pytest.mark.requirement("RX-06")
def test_a_conditional_waits_again_when_the_failed_step_is_replayed(engine: Engine):
    run_id = start(engine, Sequential(TWO_BEFORE_ONE, Conditional("x", op("d"), op("e"))))
    session = engine.worker()
    leased = leases(engine, session)
    engine.kill(session, leased["a"])
    engine.one("select fn_job_retry(1, %s, 'cli:ada', 'fixed')", (engine.unit(run_id, "a"),))
    assert engine.states(run_id)["x"] == "not_started"
    engine.complete(session, leased["c"])
    assert engine.states(run_id)["if.d"] == "ready"
    assert engine.faults() == {}
    engine.drain(session)
    assert engine.states(run_id) == {
        "a": "completed", "c": "completed", "x": "completed", "if.d": "completed", "d": "completed",
        "e": "skipped",
    }  # fmt: skip
    assert engine.faults() == {}


@pytest.mark.requirement("RX-06")
@pytest.mark.parametrize("failing", ["a", "x"])
def test_a_waiting_conditional_counts_a_replayed_step_again(engine: Engine, failing: str):
    root = Sequential(
        Parallel(Sequential(op("a"), op("x")), op("y")),
        Conditional('$.steps.a.status == "completed" && $.steps.x.status == "completed"', op("d"), op("e")),
    )
    run_id = start(engine, root)
    session = engine.worker()
    leased = leases(engine, session)
    if failing == "x":
        engine.complete(session, leased["a"])
        leased |= leases(engine, session)
    engine.kill(session, leased[failing])
    engine.one("select fn_job_retry(1, %s, 'cli:ada', 'fixed')", (engine.unit(run_id, failing),))
    assert engine.faults() == {}
    engine.drain(session)
    assert engine.states(run_id)["if.d"] == "not_started", "y still runs"
    engine.complete(session, leased["y"])
    assert engine.states(run_id)["d"] == "ready"
    assert engine.faults() == {}


@pytest.mark.requirement("JW-10")
def test_no_sub_run_starts_for_an_item_that_was_cancelled(engine: Engine):
    publish(engine, Sequential(Conditional("$.input.word", op("t")), op("u")), "inner")
    body = SubWorkflow("inner", id="sub", inputs={"word": "$.item"})
    run_id = start(
        engine,
        Map("$.input.items", body, id="all"),
        {"items": ["no boolean", True, True]},
        failure_policy="abort-dependents",
    )
    assert engine.run_state(run_id) == "failed"
    rows = engine.db.execute(
        "select u.item_no, u.state_code, r.run_id is not null from work_unit as u "
        "left join run_detail as r on r.tenant_id = 1 and r.parent_unit_id = u.unit_id "
        "where u.tenant_id = 1 and u.unit_id >> 20 = %s and u.item_no is not null order by u.item_no",
        (run_id,),
    ).fetchall()
    assert rows == [(0, "cannot_complete", True), (1, "cancelled", False), (2, "cancelled", False)]
    assert engine.faults() == {}


@pytest.mark.requirement("RX-06")
def test_a_held_conditional_is_skipped_with_the_branch_around_it(engine: Engine):
    """A person cancels a step before its branch is decided. The Conditional after it may not catch that and
    open a branch of its own: the branch around it is not taken."""
    inner = Sequential(op("b"), Conditional("b", op("c"), op("z")))
    run_id = start(engine, Sequential(op("a"), Conditional("$.input.n > 3", inner)), {"n": 1})
    engine.one("select fn_job_cancel(1, %s, 'cli:ada')", (engine.unit(run_id, "b"),))
    assert engine.state(engine.unit(run_id, "if.c")) == "ready"
    assert engine.drain(engine.worker()) == 1
    assert engine.states(run_id) == {
        "a": "completed", "if.b": "completed", "b": "cancelled",
        "if.c": "skipped", "c": "skipped", "z": "skipped",
    }  # fmt: skip
    assert engine.faults() == {}
