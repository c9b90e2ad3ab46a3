"""A Conditional catches only the failures that its test is about; a branch that never opened runs nothing."""

from __future__ import annotations

import pytest

from stepwell.define import Conditional, Human, Operation, Parallel, Sequential
from stepwell.define.graph_reader import read_graph
from stepwell.outcome import Dead
from stepwell.reactive import MemoryEngine, NodeStatus, Projection, RunStatus
from tests.unit.reactive.calls import complete, fail, graph_of, requested, responded

S = NodeStatus
op = Operation
APPROVAL = Sequential(
    op("validate"),
    Human("review", role="clerk"),
    Conditional("$.steps.review.output.approved == true", op("pay"), op("refuse")),
)


@pytest.mark.requirement("RX-06")
def test_a_technical_error_is_not_a_business_no():
    run = MemoryEngine(graph_of(APPROVAL), outcomes={"validate": Dead("no database")}).run()
    assert run.status is RunStatus.FAILED
    assert run.statuses["review"] is S.ABORTED
    assert run.statuses["pay"] is run.statuses["refuse"] is S.ABORTED


@pytest.mark.requirement("RX-06")
@pytest.mark.parametrize("test", ['$.steps.a.status == "completed"', "!exists($.steps.a.error)", "a"])
def test_a_test_about_the_failure_catches_it(test: str):
    graph = graph_of(Sequential(op("a"), Conditional(test, op("b"), op("c"))))
    run = MemoryEngine(graph, outcomes={"a": Dead("no")}).run()
    assert (run.status, run.statuses["c"]) == (RunStatus.COMPLETED, S.COMPLETED)


@pytest.mark.requirement("RX-06")
@pytest.mark.parametrize(("broken", "status"), [("a", RunStatus.COMPLETED), ("b", RunStatus.FAILED)])
def test_the_status_of_one_step_and_the_output_of_another_catch_only_the_first(
    broken: str, status: RunStatus
):
    test = '$.steps.a.status == "failed" || $.steps.b.output.ok == true'
    graph = graph_of(Sequential(Parallel(op("a"), op("b")), Conditional(test, op("c"), op("d"))))
    assert MemoryEngine(graph, outcomes={broken: Dead("no")}).run().status is status


@pytest.mark.requirement("RX-06")
def test_a_version_of_an_older_release_keeps_catching_what_it_reads():
    graph = graph_of(Sequential(op("a"), Conditional("$.steps.a.output.ok == true", op("b"), op("c"))))
    data = graph.to_json()
    assert [step.get("catches") for step in data["steps"]] == [None, [], None, None]
    assert read_graph(data) == graph
    for step in data["steps"]:
        step.pop("catches", None)
    old = read_graph(data)
    assert MemoryEngine(graph, outcomes={"a": Dead("no")}).run().status is RunStatus.FAILED
    assert MemoryEngine(old, outcomes={"a": Dead("no")}).run().statuses["a"] is S.FAILED
    assert old.step(2).caught() == (1,)


@pytest.mark.requirement("RX-06")
def test_a_boundary_in_a_branch_that_never_opened_runs_nothing():
    inner = Sequential(op("x"), Conditional("x", op("y"), op("z"), id="inner"))
    graph = graph_of(Sequential(Parallel(op("a"), op("b")), Conditional("a", inner, id="outer")))
    run = MemoryEngine(graph, outcomes={"b": Dead("no")}).run()
    assert run.status is RunStatus.FAILED
    assert {run.statuses[node] for node in ("outer", "x", "inner", "y", "z")} == {S.ABORTED}


@pytest.mark.requirement("RX-07")
def test_a_retry_opens_only_what_nothing_else_blocks():
    projection = Projection(graph_of(Sequential(Parallel(op("a"), op("b")), op("c"))))
    fail(projection, "a", "b")
    projection.append(requested("a", 2))
    assert projection.get_status("c") is S.ABORTED
    projection.append(responded("a", attempt=2))
    assert projection.get_status("c") is S.ABORTED
    assert projection.run_status is RunStatus.FAILED
    projection.append(requested("b", 2))
    projection.append(responded("b", attempt=2))
    assert projection.get_status("c") is S.READY


@pytest.mark.requirement("RX-07")
def test_a_retry_after_the_decision_keeps_the_decision():
    projection = Projection(graph_of(Sequential(op("a"), Conditional("a", op("t"), op("e")))))
    fail(projection, "a")
    complete(projection, "e")
    projection.append(requested("a", 2))
    projection.append(responded("a", attempt=2))
    assert projection.statuses() == {
        "a": S.COMPLETED, "if.t": S.COMPLETED, "t": S.SKIPPED, "e": S.COMPLETED,
    }  # fmt: skip
    assert projection.unit("if.t").output is False, "the first decision"
    assert projection.run_status is RunStatus.COMPLETED


@pytest.mark.requirement("RX-07")
def test_a_node_that_runs_again_makes_ready_nodes_wait():
    projection = Projection(graph_of(Sequential(op("a"), op("b"))))
    complete(projection, "a")
    projection.append(requested("a", 2))
    assert projection.get_status("b") is S.WAITING
    projection.append(responded("a", attempt=2))
    assert projection.get_status("b") is S.READY


@pytest.mark.requirement("RX-02")
def test_an_answer_before_its_request_ends_the_node():
    projection = Projection(graph_of(Sequential(op("a"), op("b"))))
    projection.append(responded("a"))
    projection.append(requested("a"))
    assert projection.get_status("a") is S.COMPLETED
    assert projection.get_status("b") is S.READY
    assert len(projection.get_events("a")) == 2


@pytest.mark.requirement("RX-05")
@pytest.mark.parametrize(
    ("policy", "status"), [("continue-running", S.RUNNING), ("abort-dependents", S.ABORTED)]
)
def test_a_request_after_a_predecessor_broke_follows_the_policy(policy: str, status: NodeStatus):
    projection = Projection(graph_of(Sequential(op("a"), op("b"))), policy)
    fail(projection, "a")
    projection.append(requested("b"))
    assert projection.get_status("b") is status


@pytest.mark.requirement("RX-10")
def test_only_a_node_that_was_called_has_a_result():
    projection = Projection(graph_of(Sequential(op("a"), op("b"))))
    fail(projection, "a")
    assert projection.get_status("b") is S.ABORTED
    assert projection.get_result("b") is None
    projection.append(requested("b"))
    projection.abort_node("b")
    found = projection.get_result("b")
    assert found is not None
    assert found.status is S.ABORTED


@pytest.mark.requirement("RX-02", "RX-07")
def test_an_answer_before_its_request_ends_a_later_attempt_too():
    projection = Projection(graph_of(Sequential(op("a"), op("b"))))
    fail(projection, "a")
    projection.append(responded("a", attempt=2))
    projection.append(requested("a", 2))
    assert (projection.get_status("a"), projection.get_status("b")) == (S.COMPLETED, S.READY)


@pytest.mark.requirement("RX-04")
def test_a_graph_never_changes_so_no_predecessor_is_added():
    graph = graph_of(Sequential(op("a"), op("b")))
    with pytest.raises(AttributeError):
        graph.edges = ()  # type: ignore[misc]
