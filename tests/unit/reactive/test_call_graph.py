"""The call graph: calls are nodes, `a->b` means a triggered b, `a->b:depends_on` means b waits for a."""

from __future__ import annotations

import pytest

from stepwell.define import Conditional, Map, Operation, Parallel, Sequential, SubWorkflow
from stepwell.reactive import CallEvent, CallEventType, CallGraph, MemoryEngine
from tests.unit.reactive.calls import aborted, failed, graph_of, requested, responded

op = Operation
FORK = graph_of(Sequential(op("a"), Parallel(op("b"), op("c")), op("d")))


@pytest.mark.requirement("RX-12")
def test_edges_have_composite_keys():
    events = [requested("a"), responded("a"), requested("b", parent="a#1"), requested("c"), responded("b")]
    events += [responded("c"), requested("d")]
    calls = CallGraph.of(FORK, events)
    assert set(calls.edges) == {
        "a#1->b#1",
        "a#1->b#1:depends_on",
        "a#1->c#1:depends_on",
        "b#1->d#1:depends_on",
        "c#1->d#1:depends_on",
    }
    edge = calls.edges["b#1->d#1:depends_on"]
    assert (edge.source, edge.target, edge.edge_type) == ("b#1", "d#1", "depends_on")
    assert calls.edges["a#1->b#1"].edge_type == "triggered"


@pytest.mark.requirement("RX-12")
def test_each_attempt_is_a_call_and_dependents_depend_on_the_latest():
    events = [requested("a"), failed("a", will_retry=True), requested("a", 2), responded("a", attempt=2)]
    calls = CallGraph.of(FORK, [*events, requested("b"), aborted("b")])
    assert {call.request_id: call.status for call in calls.calls.values()} == {
        "a#1": "failed",
        "a#2": "completed",
        "b#1": "aborted",
    }
    assert list(calls.edges) == ["a#2->b#1:depends_on"]


@pytest.mark.requirement("RX-12")
def test_the_same_events_again_change_nothing():
    events = [requested("a"), responded("a"), requested("b", parent="a#1")]
    once, twice = CallGraph.of(FORK, events), CallGraph.of(FORK, events * 2)
    assert (once.calls, once.edges) == (twice.calls, twice.edges)


@pytest.mark.requirement("RX-12")
def test_an_unseen_caller_is_pending_and_an_unknown_node_is_kept():
    calls = CallGraph.of(FORK, [requested("elsewhere", parent="x#1")])
    assert calls.calls["x#1"].status == "pending"
    assert calls.calls["elsewhere#1"].status == "running"
    assert list(calls.edges) == ["x#1->elsewhere#1"]


@pytest.mark.requirement("RX-12")
def test_dependencies_go_through_conditionals_and_maps():
    graph = graph_of(Sequential(op("a"), Conditional("a", op("b")), op("c")))
    calls = CallGraph.of(graph, MemoryEngine(graph).run().projections[""].log)
    assert set(calls.edges) == {"a#1->b#1:depends_on", "a#1->c#1:depends_on", "b#1->c#1:depends_on"}
    graph = graph_of(Map("$.input.items", Sequential(op("a"), op("b")), id="all"))
    calls = CallGraph.of(graph, MemoryEngine(graph, input={"items": [1, 2]}).run().projections[""].log)
    assert set(calls.edges) == {f"all[{at}].a#1->all[{at}].b#1:depends_on" for at in (0, 1)}


@pytest.mark.requirement("RX-12")
def test_a_sub_workflow_triggers_the_calls_of_its_run():
    inner = graph_of(op("x"))
    run = MemoryEngine(graph_of(SubWorkflow("inner", id="sub")), workflows={"inner": inner}).run()
    calls = CallGraph.of(inner, run.projections["sub"].log)
    assert list(calls.edges) == ["sub#1->sub/x#1"]


def test_an_aborted_run_aborts_its_running_calls():
    calls = CallGraph.of(FORK, [requested("a"), CallEvent(CallEventType.RUN_ABORTED, "run:1")])
    assert calls.calls["a#1"].status == "aborted"
