"""A drawing shows every step once, in its lane and column, and every edge as a line that can be followed."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given

from stepwell.define import Conditional, Graph, Operation, Parallel, Sequential, Workflow, freeze
from stepwell.layout import Scope, lay_out
from stepwell.layout.drawing import BOX_HEIGHT, BOX_WIDTH
from tests.strategies.templates import workflows
from tests.support.sample import sample


def lanes_of(graph: Graph) -> dict[int, str]:
    return {step.no: ("red", "green", "blue")[step.no * 7 % 3] for step in graph.steps}


def operations(count: int, first: str = "s") -> list[Operation]:
    return [Operation("work", id=f"{first}{number}") for number in range(count)]


@sample(40)
@given(workflows())
@pytest.mark.timeout(600)
def test_every_workflow_can_be_drawn(workflow: Workflow):
    graph = freeze(workflow)
    for lanes in (None, lanes_of(graph)):
        drawing = lay_out(graph, lanes)
        assert drawing == lay_out(graph, lanes), "the same graph has the same drawing"
        assert json.loads(json.dumps(drawing.to_json()))["version"] == 4
        assert [scope.scope for scope in drawing.scopes] == list(graph.scopes)
        for scope in drawing.scopes:
            assert sorted(box.no for box in scope.boxes) == [s.no for s in graph.scopes[scope.scope]]
            boxes_lie_apart_and_inside(scope)
            boxes_stand_in_their_lane(scope, lanes)
            lines_follow_the_edges(scope, graph)


def boxes_lie_apart_and_inside(scope: Scope) -> None:
    columns: dict[int, list[int]] = {}
    for box in scope.boxes:
        columns.setdefault(box.column, []).append(box.y)
        assert 0 <= box.x <= scope.width - BOX_WIDTH
        assert 0 <= box.y <= scope.height - BOX_HEIGHT
    for ys in columns.values():
        assert all(below - above >= BOX_HEIGHT for above, below in pairwise(sorted(ys)))
    xs = {box.column: box.x for box in scope.boxes}
    assert all(xs[box.column] == box.x for box in scope.boxes)
    assert all(xs[b] >= xs[a] + BOX_WIDTH for a, b in pairwise(sorted(xs)))


def boxes_stand_in_their_lane(scope: Scope, lanes: dict[int, str] | None) -> None:
    assert sum(lane.step_count for lane in scope.lanes) == len(scope.boxes)
    assert all(lane.y + lane.height == below.y for lane, below in pairwise(scope.lanes))
    for box in scope.boxes:
        lane = scope.lanes[box.lane]
        assert lane.name == ("" if lanes is None else lanes[box.no])
        assert lane.y <= box.y
        assert box.y + BOX_HEIGHT <= lane.y + lane.height


def lines_follow_the_edges(scope: Scope, graph: Graph) -> None:
    """Following lines through joints leads from each step to exactly the steps that wait for it."""
    boxes = {box.no: box for box in scope.boxes}
    from_joint: dict[tuple[int, int], set[int]] = {}
    for line in scope.lines:
        for (x, y), (next_x, next_y) in pairwise(line.points):
            assert next_x >= x, "a line never goes back"
            assert x == next_x or y == next_y, "a line has only right angles"
        if line.to_no is not None:
            end = boxes[line.to_no]
            assert line.points[-1] == (end.x, end.y + BOX_HEIGHT // 2)
        if line.from_no is None:
            assert line.to_no is not None
            from_joint.setdefault(line.points[0], set()).add(line.to_no)
    reached: set[tuple[int, int, int | None]] = set()
    for line in scope.lines:
        if line.from_no is None:
            continue
        start = boxes[line.from_no]
        assert line.points[0] == (start.x + BOX_WIDTH, start.y + BOX_HEIGHT // 2)
        ends = {line.to_no} if line.to_no is not None else from_joint[line.points[-1]]
        reached |= {(line.from_no, end, line.branch) for end in ends if end is not None}
    expected = {
        (edge.from_no, edge.to_no, edge.branch)
        for edge in graph.edges
        if graph.step(edge.from_no).scope == scope.scope
    }
    assert reached == expected


def test_many_to_many_edges_are_drawn_through_a_joint():
    graph = freeze(Workflow("w", Sequential(Parallel(*operations(60, "a")), Parallel(*operations(60, "b")))))
    assert len(graph.edges) == 3600
    (scope,) = lay_out(graph).scopes
    assert len(scope.lines) == 120
    lines_follow_the_edges(scope, graph)


def test_a_chain_is_a_straight_row_and_a_fan_is_centred():
    (chain,) = lay_out(freeze(Workflow("w", Sequential(*operations(5))))).scopes
    assert len({box.y for box in chain.boxes}) == 1
    assert all(len(line.points) == 2 for line in chain.lines)
    first, *middle, last = operations(7)
    fan = lay_out(freeze(Workflow("w", Sequential(first, Parallel(*middle), last)))).scopes[0]
    ys = {box.no: box.y for box in fan.boxes}
    assert min(ys.values()) < ys[1] == ys[7] < max(ys.values())


def test_the_branches_of_a_conditional_keep_their_label():
    yes, no, after = operations(3)
    flow = Sequential(Conditional("$.input.go == true", then=yes, otherwise=no, id="go"), after)
    graph = freeze(Workflow("w", flow))
    (scope,) = lay_out(graph).scopes
    found = {line.to_no: line.branch for line in scope.lines if line.from_no == graph.by_id["go"].no}
    labels = {branch.no: branch.label for branch in graph.branches}
    assert {graph.step(to).id: labels[branch] for to, branch in found.items() if to and branch} == {
        "s0": "then",
        "s1": "otherwise",
    }


def test_a_graph_of_two_thousand_steps_stays_small():
    groups = [Parallel(*operations(20, f"g{number}-")) for number in range(100)]
    graph = freeze(Workflow("w", Sequential(*groups)))
    assert len(graph.steps) == 2000
    drawing = lay_out(graph)
    assert len(drawing.scopes[0].lines) == 99 * 40
    assert len(json.dumps(drawing.to_json(), separators=(",", ":"))) < 400_000
