"""How each kind of step becomes steps and edges of the graph."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from stepwell.define import (
    Conditional,
    DefinitionError,
    Graph,
    Human,
    Map,
    Operation,
    Parallel,
    Retry,
    Sequential,
    Step,
    SubWorkflow,
    Wait,
    Workflow,
    freeze,
)

pytestmark = pytest.mark.requirement("RX-01")

a, b, c, d, e = (Operation(name) for name in "abcde")


def graph_of(*steps: Step) -> Graph:
    return freeze(Workflow("w", Sequential(*steps)))


def edges(graph: Graph) -> set[str]:
    """Edges as `a>b`; an edge into a branch has its label: `if.b>b:then`."""
    labels = {branch.no: f":{branch.label}" for branch in graph.branches}
    return {
        f"{graph.step(edge.from_no).id}>{graph.step(edge.to_no).id}{labels.get(edge.branch or 0, '')}"
        for edge in graph.edges
    }


class SignOff(BaseModel):
    approved: bool


def is_large(order_id: str) -> bool:
    return len(order_id) > 3


def parcels(order_id: str) -> list[str]:
    return [order_id]


def test_containers_are_no_steps_of_the_graph():
    graph = graph_of(Sequential(Sequential(a)), Parallel(Sequential(b, c), Parallel(d)), e)
    assert [step.id for step in graph.steps] == ["a", "b", "c", "d", "e"]
    assert edges(graph) == {"a>b", "b>c", "a>d", "c>e", "d>e"}


def test_a_join_waits_for_every_last_step_before_it():
    graph = graph_of(Parallel(a, b), Parallel(c, Sequential(d, e)))
    assert edges(graph) == {"a>c", "b>c", "a>d", "b>d", "d>e"}


def test_a_conditional_becomes_a_step_whose_edges_carry_the_branch():
    graph = graph_of(a, Conditional('$.steps.a.status == "completed"', then=Sequential(b, c), otherwise=d), e)
    assert edges(graph) == {"a>if.b", "if.b>b:then", "b>c", "if.b>d:otherwise", "c>e", "d>e"}
    conditional = graph.by_id["if.b"]
    assert (conditional.kind, conditional.test) == ("conditional", '$.steps.a.status == "completed"')
    assert [graph.step(no).id for no in conditional.reads or ()] == ["a"]
    assert [graph.by_id[id].branch for id in "abcde"] == [None, 1, 1, 2, None]
    assert [(branch.conditional, branch.negated, branch.parent) for branch in graph.branches] == [
        (conditional.no, False, None),
        (conditional.no, True, None),
    ]


def test_behind_an_empty_branch_the_next_step_waits_for_the_conditional():
    assert edges(graph_of(Conditional("$.input.x == 1", then=a), b)) == {"if.a>a:then", "a>b", "if.a>b"}
    assert edges(graph_of(Conditional("$.input.x == 1", otherwise=a), b)) == {
        "if.a>a:otherwise",
        "a>b",
        "if.a>b",
    }


def test_nested_conditionals_know_their_outer_branch():
    inner = Conditional("$.input.y == 1", then=b)
    graph = graph_of(Conditional("$.input.x == 1", then=Sequential(a, inner), otherwise=c), d)
    assert edges(graph) == {
        "if.a>a:then",
        "a>if.b",
        "if.b>b:then",
        "if.a>c:otherwise",
        "b>d",
        "if.b>d",
        "c>d",
    }
    assert [branch.parent for branch in graph.branches] == [None, 1, None]
    assert {step.id for step in graph.branch_steps(1)} == {"a", "if.b", "b"}
    assert {step.id for step in graph.branch_steps(2)} == {"b"}


def test_a_step_id_as_a_test_means_that_the_step_completed():
    graph = graph_of(a, Conditional("a", then=b))
    assert graph.by_id["if.b"].test == {"step": "a"}
    assert graph.by_id["if.b"].reads == (graph.by_id["a"].no,)


def test_the_body_of_a_map_has_its_own_scope_and_later_numbers():
    inner = Map("$.item.parts", c, id="inner")
    graph = graph_of(Map("$.input.items", Sequential(b, inner), id="outer", max_concurrency=3), d)
    assert [(step.id, graph.step(step.scope).id if step.scope else None) for step in graph.steps] == [
        ("outer", None),
        ("d", None),
        ("b", "outer"),
        ("inner", "outer"),
        ("c", "inner"),
    ]
    assert edges(graph) == {"outer>d", "b>inner"}
    assert graph.by_id["outer"].max_concurrency == 3
    assert [step.id for step in graph.exits()] == ["d"]
    assert [step.id for step in graph.exits(graph.by_id["outer"].no)] == ["inner"]


def test_branch_and_group_do_not_reach_into_a_map_body():
    inside = Map("$.input.items", Sequential(a, Conditional("$.index == 0", then=b)), id="m")
    graph = graph_of(Conditional("$.input.x == 1", then=Parallel(inside, c, max_concurrency=1)))
    assert (graph.by_id["m"].branch, graph.by_id["m"].group) == (1, 1)
    assert (graph.by_id["a"].branch, graph.by_id["a"].group) == (None, None)
    assert graph.branches[1].parent is None
    assert graph.by_id["b"].branch == 2


def test_a_parallel_with_a_limit_is_a_group_and_the_innermost_applies():
    graph = graph_of(Parallel(a, Parallel(b, c), Parallel(d, max_concurrency=1), max_concurrency=2))
    assert [step.group for step in graph.steps] == [1, 1, 1, 2]
    assert [(group.no, group.max_concurrency) for group in graph.groups] == [(1, 2), (2, 1)]


def test_a_limit_without_any_step_makes_no_group():
    inner = Parallel(a, b, max_concurrency=2)
    assert graph_of(Parallel(inner, max_concurrency=5)) == graph_of(inner)


def test_functions_in_conditionals_and_maps_become_operations():
    graph = graph_of(Conditional(is_large, then=a), Map(parcels, b, id="m"))
    name = f"{__name__}.is_large"
    assert graph.by_id["if.a.test"].operation == name
    assert graph.by_id["if.a"].test == '$.steps."if.a.test".output'
    assert graph.by_id["m"].over == '$.steps."m.over".output'
    assert edges(graph) == {"if.a.test>if.a", "if.a>a:then", "a>m.over", "if.a>m.over", "m.over>m"}
    assert graph.callables == {name: is_large, f"{__name__}.parcels": parcels}
    freeze(Workflow("w", Conditional(is_large, then=a)), operations={"a"})


def test_one_function_can_be_used_twice_but_not_two_with_one_name():
    def is_large(order_id: str) -> bool:
        return False

    def again() -> object:
        def is_large(order_id: str) -> bool:
            return True

        is_large.__qualname__ = outer.__qualname__
        return is_large

    outer = is_large
    graph_of(Conditional(outer, then=a), Conditional(outer, then=b))
    with pytest.raises(DefinitionError, match="two different functions share the name"):
        graph_of(Conditional(outer, then=a), Conditional(again(), then=b))  # type: ignore[arg-type]


def test_an_operation_as_a_test_keeps_its_own_id_and_inputs():
    graph = graph_of(a, Conditional(Operation("judge", inputs={"x": "$.steps.a.output"}), then=b))
    assert edges(graph) == {"a>judge", "judge>if.b", "if.b>b:then"}
    assert graph.by_id["if.b"].test == "$.steps.judge.output"


ORDER = Workflow(
    "order.process",
    Sequential(
        Operation("validate", retry=Retry(5, non_retryable=(ValueError,)), timeout="30s", executor="process"),
        Parallel(Operation("charge"), Operation("reserve", priority=3), max_concurrency=2),
        Conditional(
            '$.steps.charge.status == "completed"',
            then=Map("$.steps.reserve.output.items", Operation("pack"), max_concurrency=10),
            otherwise=Operation("refund", mandatory=False),
        ),
        Human("sign-off", role="warehouse", deadline="4h", form=SignOff),
        Wait("carrier.picked_up", timeout="2d"),
        SubWorkflow("invoice.close", inputs={"order": "$.input.order_id"}),
    ),
    failure_policy="abort-dependents",
    title="Order",
)

PLAIN_EDGES = [(1, 2), (1, 3), (2, 4), (3, 4), (5, 7), (6, 7), (7, 8), (8, 9)]
PUBLISHED = {
    "format": 2,
    "name": "order.process",
    "title": "Order",
    "failure_policy": "abort-dependents",
    "steps": [
        {
            "no": 1,
            "id": "validate",
            "kind": "operation",
            "operation": "validate",
            "executor": "process",
            "timeout_seconds": 30,
            "retry": {
                "max_attempts": 5,
                "initial_seconds": 1,
                "max_seconds": 300,
                "multiplier": 2,
                "non_retryable": ["ValueError"],
            },
        },
        {"no": 2, "id": "charge", "kind": "operation", "operation": "charge", "group": 1},
        {
            "no": 3,
            "id": "reserve",
            "kind": "operation",
            "operation": "reserve",
            "group": 1,
            "priority": 3,
        },
        {
            "no": 4,
            "id": "if.map.pack",
            "kind": "conditional",
            "test": '$.steps.charge.status == "completed"',
            "reads": [2],
        },
        {
            "no": 5,
            "id": "map.pack",
            "kind": "map",
            "branch": 1,
            "over": "$.steps.reserve.output.items",
            "reads": [3],
            "max_concurrency": 10,
        },
        {
            "no": 6,
            "id": "refund",
            "kind": "operation",
            "operation": "refund",
            "branch": 2,
            "mandatory": False,
        },
        {
            "no": 7,
            "id": "sign-off",
            "kind": "human",
            "role": "warehouse",
            "deadline": 14_400,
            "form": SignOff.model_json_schema(),
        },
        {
            "no": 8,
            "id": "carrier.picked_up",
            "kind": "wait",
            "event": "carrier.picked_up",
            "timeout_seconds": 172_800,
        },
        {
            "no": 9,
            "id": "invoice.close",
            "kind": "subworkflow",
            "workflow": "invoice.close",
            "inputs": {"order": "$.input.order_id"},
            "reads": [],
        },
        {"no": 10, "id": "pack", "kind": "operation", "operation": "pack", "scope": 5},
    ],
    "edges": [{"from": 4, "to": 5, "branch": 1}, {"from": 4, "to": 6, "branch": 2}],
    "branches": [
        {"no": 1, "conditional": 4, "label": "then", "negated": False},
        {"no": 2, "conditional": 4, "label": "otherwise", "negated": True},
    ],
    "groups": [{"no": 1, "max_concurrency": 2}],
}


def test_the_example_of_the_readme_is_frozen_to_this_document():
    found = freeze(ORDER).to_json()
    plain = [edge for edge in found["edges"] if "branch" not in edge]
    assert [(edge["from"], edge["to"]) for edge in plain] == PLAIN_EDGES
    assert found | {"edges": [edge for edge in found["edges"] if "branch" in edge]} == PUBLISHED
