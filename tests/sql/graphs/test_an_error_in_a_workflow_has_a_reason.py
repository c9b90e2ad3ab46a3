"""An error in a workflow is refused when it is published, if it can be known then. Otherwise the step fails
for good with a reason, and the run ends.
"""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from stepwell.define import Conditional, Map, Operation, Sequential, Step, SubWorkflow
from tests.sql.drive import Engine, operation, subworkflow
from tests.sql.graphs.publishing import publish, start
from tests.support.clock import Clock

op = Operation


def conditional(test: Any, **more: Any) -> dict[str, Any]:
    return {"id": "if.a", "kind": "conditional", "test": test, **more}


def reason(engine: Engine, run_id: int, step_id: str) -> tuple[str, str]:
    """The state and the error of a dead step. Checks that its run has failed and no invariant is violated."""
    assert engine.run_state(run_id) == "failed"
    assert engine.faults() == {}
    unit_id = engine.unit(run_id, step_id)
    error = engine.one("select error from job_dead_letter where tenant_id = 1 and unit_id = %s", (unit_id,))
    return engine.state(unit_id), f"{error['type']}: {error['message']}"


@pytest.mark.requirement("RX-10")
def test_an_expression_that_does_not_parse_is_refused_when_it_is_published(engine: Engine):
    with pytest.raises(
        psycopg.Error, match=r"step if\.a, test: \$\.input\.\( is not an SQL/JSON path"
    ) as caught:
        engine.publish("w", conditional("$.input.("), operation("a"))
    assert caught.value.sqlstate == "SW001"
    with pytest.raises(psycopg.Error, match=r"step all, over: \$\.\[ is not an SQL/JSON path"):
        engine.publish("w", {"id": "all", "kind": "map", "over": "$.["}, operation("a", scope=1))


@pytest.mark.requirement("RX-10")
@pytest.mark.parametrize("test", ["$.steps.nowhere.output.flag", '$.steps.nowhere.status == "completed"'])
def test_a_conditional_that_reads_an_unknown_step_fails_or_is_false(engine: Engine, test: str):
    """`define` refuses such a test. In a graph that `define` did not make, the step fails."""
    branches = [{"no": 1, "conditional": 1, "negated": False}]
    engine.publish("w", conditional(test, reads=[]), operation("a", branch=1), branches=branches)
    run_id = engine.start("w")
    if "==" in test:  # a comparison with nothing is false, as in every SQL/JSON path
        assert engine.states(run_id) == {"if.a": "completed", "a": "skipped"}
        assert engine.run_state(run_id) == "completed"
    else:
        state, why = reason(engine, run_id, "if.a")
        assert state == "cannot_complete"
        assert why == f"ExpressionError: test: {test} gives nothing, not true or false"


@pytest.mark.requirement("RX-10")
@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("$.input.word", '"no"'),
        ("$.input.missing", "nothing"),
        ("$.input.word > 3", "null"),
        ("$.input.list", "[1]"),
    ],
)
def test_a_conditional_whose_test_gives_no_boolean_fails_for_good(engine: Engine, test: str, found: str):
    root = Sequential(Conditional(test, op("a"), op("b")), op("c"))
    run_id = start(engine, root, {"word": "no", "list": [1]})
    assert reason(engine, run_id, "if.a") == (
        "cannot_complete",
        f"ExpressionError: test: {test} gives {found}, not true or false",
    )
    assert engine.states(run_id) == {
        "if.a": "cannot_complete", "a": "cancelled", "b": "cancelled", "c": "cancelled",
    }  # fmt: skip


@pytest.mark.requirement("RX-10")
@pytest.mark.parametrize(
    ("items", "found"),
    [
        ("word", "gives string, not a list"),
        ({"a": 1}, "gives object, not a list"),
        (None, "gives null, not a list"),
    ],
    ids=["a string", "an object", "null"],
)
def test_a_map_over_a_value_that_is_no_list_fails_for_good(engine: Engine, items: Any, found: str):
    run_id = start(engine, Sequential(Map("$.input.items", op("a"), id="all"), op("b")), {"items": items})
    assert reason(engine, run_id, "all") == (
        "cannot_complete",
        f"ExpressionError: over: $.input.items {found}",
    )
    assert engine.states(run_id) == {"all": "cannot_complete", "b": "cancelled"}


@pytest.mark.requirement("RU-06")
@pytest.mark.requirement("JW-10")
def test_workflows_that_call_each_other_are_refused_and_the_cycle_is_named(engine: Engine):
    publish(engine, Sequential(op("a"), SubWorkflow("two", id="next")), "one")
    publish(engine, SubWorkflow("three"), "two")
    with pytest.raises(psycopg.Error) as caught:
        publish(engine, Sequential(op("a"), SubWorkflow("one", id="again")), "three")
    assert caught.value.sqlstate == "SW001"
    assert str(caught.value).splitlines()[0] == (
        "workflow three: step again, workflow: the workflow would call itself without end: "
        "three → one → two → three"
    )
    with pytest.raises(psycopg.Error, match="self → self"):
        engine.publish("self", subworkflow("again", "self"))
    assert engine.one("select count(*) from workflow_registry where workflow_name in ('three', 'self')") == 0


@pytest.mark.requirement("JW-10")
def test_a_cycle_through_an_old_version_is_accepted(engine: Engine):
    publish(engine, SubWorkflow("two"), "one")
    publish(engine, op("a"), "one")
    publish(engine, SubWorkflow("one"), "two")
    run_id = engine.start("two")
    engine.drain(engine.worker())
    assert engine.run_state(run_id) == "completed"


@pytest.mark.requirement("JW-10")
def test_nesting_that_is_too_deep_fails_the_innermost_step_and_all_runs(engine: Engine):
    def step(level: int) -> Step:
        return SubWorkflow(f"level{level + 1}", id="inner")

    for level in range(40, 0, -1):
        publish(engine, op("a") if level == 40 else step(level), f"level{level}")
    run_id = engine.start("level1")
    assert reason(engine, run_id, "inner")[0] == "cannot_complete"
    depth, state, error = engine.db.execute(
        "select r.depth, u.state_code, d.error ->> 'message' from run_detail as r "
        "inner join work_unit as u on u.tenant_id = 1 and u.unit_id = (r.run_id << 20) + 1 "
        "inner join job_dead_letter as d on d.tenant_id = 1 and d.unit_id = u.unit_id "
        "where r.tenant_id = 1 order by r.depth desc limit 1"
    ).fetchone()  # type: ignore[misc]
    why = "workflow: sub-workflows are nested more than 32 levels deep"
    assert (depth, state, error) == (32, "cannot_complete", why)
    assert (
        engine.one("select count(*) from work_unit where scope = 'workflow_run' and state_code <> 'failed'")
        == 0
    )


@pytest.mark.requirement("JW-10")
def test_a_sub_workflow_that_takes_too_long_fails_and_its_run_is_cancelled(engine: Engine, clock: Clock):
    publish(engine, Sequential(op("a"), op("b")), "inner")
    run_id = start(engine, Sequential(SubWorkflow("inner", id="sub", timeout="1h"), op("z")))
    session = engine.worker(lease_seconds=86_400)
    leased = engine.claim(session)
    clock.advance(minutes=59)
    assert engine.timers() == 0
    clock.advance(minutes=2)
    assert engine.timers() == 1
    state, why = reason(engine, run_id, "sub")
    assert state == "cannot_complete"
    assert why == "WaitingTimeout: the run of the sub-workflow did not end within 3600 seconds"
    assert engine.run_state(run_id + 1) == "cancelled"
    assert len(engine.complete(session, *leased)) == 1, "the report of the cancelled step is refused"


@pytest.mark.requirement("JW-10")
def test_a_sub_workflow_that_ends_in_time_leaves_no_timer(engine: Engine):
    publish(engine, op("a"), "inner")
    run_id = start(engine, SubWorkflow("inner", id="sub", timeout="1h"))
    assert engine.one("select count(*) from timer") == 1
    engine.drain(engine.worker())
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}
    publish(engine, Conditional("$.input.flag == true", op("t")), "inner")
    assert engine.run_state(engine.start("w", {"flag": False})) == "completed"
    assert engine.faults() == {}
