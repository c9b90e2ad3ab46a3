"""The root, the rendered tree and the flow graph have the names and the promises of the source document."""

from __future__ import annotations

import pytest

from stepwell.define import Conditional, Map, Operation, Parallel, Sequential, Workflow, freeze
from stepwell.reactive import (
    CallEvent,
    CallEventType,
    CallGraph,
    CallStatus,
    Disposed,
    FlowGraph,
    NodeStatus,
    Projection,
    ReactiveHost,
    UnknownNode,
    UnknownRequest,
    WorkflowReactiveRoot,
    call_status_to_node_status,
    node_status_to_call_action,
)
from stepwell.reactive.frames import Unit
from tests.unit.reactive.calls import complete, graph_of, requested, responded

S = NodeStatus
op = Operation
CHAIN = graph_of(Sequential(op("a"), op("b"), op("c")))


@pytest.mark.requirement("RX-14")
def test_a_status_says_what_to_do_with_the_call():
    actions = {status: node_status_to_call_action(status) for status in NodeStatus}
    assert actions.pop(S.READY) == "start"
    assert actions.pop(S.SKIPPED) == "skip"
    assert actions.pop(S.ABORTED) == "abort"
    assert set(actions.values()) == {"none"}
    assert [call_status_to_node_status(status) for status in CallStatus] == [
        S.RUNNING, S.COMPLETED, S.FAILED, S.ABORTED,
    ]  # fmt: skip


@pytest.mark.requirement("RX-14")
def test_the_root_has_the_documents_names():
    root = WorkflowReactiveRoot(CHAIN, "abort-dependents")
    root.append(CallEvent("call.requested", "r1", "a", operation_id="a", input={"n": 1}))
    assert root.failure_policy == "abort-dependents"
    assert root.node_key_to_request_id == {"a": "r1"}
    assert root.event_log == root.events
    assert (root.event_log[0].operation_id, root.event_log[0].input) == ("a", {"n": 1})
    assert root.get_events("a") == root.event_log
    assert list(root.status_map) == ["a", "b", "c"]
    assert root.status_map["b"] is root.status("b")
    assert [one.node for one in root.nodes] == ["a", "b", "c"]
    first = next(root.nodes)
    assert first.preconditions is root.preconditions("a")
    assert first.blocked_by_failure is root.blocked_by_failure("a")
    calls = CallGraph.of(CHAIN, root.event_log).calls
    assert calls["r1"].operation_id == "a"


@pytest.mark.requirement("RX-14")
def test_the_request_of_a_node_is_that_of_its_latest_attempt():
    root = WorkflowReactiveRoot(CHAIN)
    for attempt in (1, 2):
        root.append(requested("a", attempt))
    assert root.node_key_to_request_id == {"a": "a#2"}


@pytest.mark.requirement("RX-02")
@pytest.mark.parametrize("type", ["call.finished", "", "responded"])
def test_an_unknown_event_type_is_refused(type: str):
    with pytest.raises(ValueError, match=r"accepted: call\.requested, call\.responded"):
        CallEvent(type, "a#1", "a")


@pytest.mark.requirement("RX-02")
def test_an_event_type_as_text_means_the_same():
    projection = Projection(CHAIN)
    projection.append(CallEvent("call.requested", "a#1", "a"))
    projection.append(CallEvent("call.error", "a#1", error={"type": "x"}))
    assert projection.get_status("a") is S.FAILED
    assert projection.log[0].type is CallEventType.REQUESTED


@pytest.mark.requirement("RX-02")
def test_a_request_id_that_is_the_name_of_a_node_ends_nothing():
    projection = Projection(CHAIN)
    with pytest.raises(UnknownRequest, match="request 'a' is not known"):
        projection.append(CallEvent(CallEventType.RESPONDED, "a"))
    assert issubclass(UnknownRequest, UnknownNode)
    assert projection.get_status("a") is S.READY


@pytest.mark.requirement("RX-02")
def test_a_request_of_one_node_ends_no_other():
    root = WorkflowReactiveRoot(graph_of(Parallel(op("a"), op("b"))))
    root.append(requested("a"))
    for type in ("call.requested", "call.responded", "call.error", "call.aborted"):
        with pytest.raises(UnknownRequest, match="request 'a#1' is one of node 'a'"):
            root.append(CallEvent(type, "a#1", "b"))
    assert root.statuses() == {"a": S.RUNNING, "b": S.READY}
    assert len(root.events) == 1
    assert root.error is None


@pytest.mark.requirement("RX-05")
def test_an_unknown_failure_policy_is_refused():
    with pytest.raises(ValueError, match="accepted: continue-running, abort-dependents"):
        WorkflowReactiveRoot(CHAIN, "nonsense")


@pytest.mark.requirement("RX-16")
def test_an_error_tells_every_running_call_to_abort_before_the_root_is_disposed(
    caplog: pytest.LogCaptureFixture,
):
    """The document's order: abort the calls, then the nodes, dispose the root, log the error."""
    root = WorkflowReactiveRoot(graph_of(Parallel(op("a"), op("b"), op("c"))))
    told: list[tuple[str, str | None, NodeStatus]] = []

    def abort(node: str, request_id: str | None) -> None:
        told.append((node, request_id, root.get_status(node)))
        if node == "a":
            raise ConnectionError("the call cannot be reached")

    root.drive(lambda node: root.append(requested(node)) and None, abort)
    root.append(responded("c"))
    status = root.status("b")

    def break_down() -> None:
        if status() is S.RUNNING:
            raise ZeroDivisionError("an effect broke")

    root.effect(break_down)
    assert isinstance(root.error, ZeroDivisionError)
    assert told == [("a", "a#1", S.RUNNING), ("b", "b#1", S.RUNNING)]
    assert root.statuses() == {"a": S.ABORTED, "b": S.ABORTED, "c": S.COMPLETED}
    with pytest.raises(Disposed):
        root.append(responded("b"))
    assert "an effect broke" in caplog.text


@pytest.mark.requirement("RX-08")
def test_watching_many_limited_nodes_costs_nothing_until_the_limit_is_reached():
    count = 200
    computed = 0

    class Counting(WorkflowReactiveRoot):
        def _has_slot(self, unit: Unit) -> bool:
            nonlocal computed
            computed += 1
            return super()._has_slot(unit)

    root = Counting(graph_of(Parallel(*(op(f"n{at}") for at in range(count)), max_concurrency=5)))
    asked = 0
    for at in range(count):
        can_start = root.can_start(f"n{at}")

        def look(can_start=can_start) -> None:
            nonlocal asked
            asked += 1
            can_start()

        root.effect(look)
    for at in range(count):
        complete(root, f"n{at}")
    assert all(root.get_status(f"n{at}") is S.COMPLETED for at in range(count))
    assert asked <= 5 * count
    # Not each of them after each start and end of another one.
    assert computed <= 5 * count
    assert len(root._statuses) == count


TEMPLATE = Workflow(
    "tree",
    Sequential(
        op("a"),
        Parallel(op("b"), op("c")),
        Conditional("a", op("d"), op("e")),
        Map("$.input.items", Sequential(op("f"), op("g")), id="all"),
    ),
)


@pytest.mark.requirement("RX-15")
def test_a_rendered_node_holds_the_signals_of_the_root():
    root = WorkflowReactiveRoot(freeze(TEMPLATE), input={"items": [1, 2]})
    tree = ReactiveHost(root).render(TEMPLATE)
    assert [child.type for child in tree.children] == ["Operation", "Parallel", "Conditional", "Map"]
    assert tree.key is None
    assert [child.branch for child in tree.find("if.d").children] == ["then", "otherwise"]
    for key in ("a", "b", "c", "if.d", "d", "e", "all"):
        node = tree.find(key)
        assert node.status is root.status_map[key]
        assert node.preconditions is root.preconditions(key)
        assert node.blocked_by_failure is root.blocked_by_failure(key)
    assert tree.find("all").children == ()
    complete(root, "a", "b", "c", "d")
    assert tree.find("d").status() is S.COMPLETED
    again = ReactiveHost(root).render(TEMPLATE)
    assert again.find("all[1].g").status is root.status("all[1].g")


@pytest.mark.requirement("RX-15")
def test_every_edge_has_a_type_and_data_flows_only_where_it_is_read():
    graph = graph_of(
        Sequential(
            op("a"),
            op("b", inputs={"x": "$.steps.a.output"}),
            Conditional('$.steps.b.status == "completed"', op("c"), op("d")),
        )
    )
    flow = FlowGraph(graph)
    edges = flow.edges
    assert [edges[key].data_flow for key in ("a->b", "b->if.c")] == [True, False]
    assert {key: edge.edge_type for key, edge in edges.items()} == {
        "a->b": "sequential",
        "b->if.c": "sequential",
        "if.c->c:conditional": "conditional",
        "if.c->d:conditional": "conditional",
    }
    assert [edges[f"if.c->{to}:conditional"].negated for to in "cd"] == [False, True]
    calls = CallGraph.of(graph, [requested("a"), responded("a"), requested("b")])
    assert {edge.edge_type for edge in calls.edges.values()} == {"depends_on"}


@pytest.mark.requirement("RX-15")
def test_the_flow_graph_is_walked():
    flow = FlowGraph(graph_of(Sequential(op("a"), Parallel(op("b"), op("c")), op("d"))))
    assert (flow.roots(), flow.leaves()) == (("a",), ("d",))
    assert flow.successors("a") == flow.predecessors("d") == ("b", "c")
    assert (flow.descendants("a"), flow.ancestors("d")) == (("b", "c", "d"), ("a", "b", "c"))
    assert flow.topological_order() == ("a", "b", "c", "d")
    assert flow.has_node("b")
    assert flow.has_edge("a", "b")
    assert not flow.has_edge("b", "a")
    with pytest.raises(KeyError, match="has no step 'x'"):
        flow.successors("x")


@pytest.mark.requirement("RX-14")
def test_nobody_sets_a_status_past_the_log():
    """002 lets the hub set `statusMap.get(node).value`, and forbids it elsewhere: the log decides."""
    root = WorkflowReactiveRoot(CHAIN)
    with pytest.raises(TypeError):
        root.status_map["a"] = root.status("b")  # type: ignore[index]
    with pytest.raises(AttributeError):
        root.status_map["a"].value = S.COMPLETED  # type: ignore[attr-defined]
    root.node_key_to_request_id["a"] = "r9"
    assert root.node_key_to_request_id == {}
    assert root.get_status("a") is S.READY
