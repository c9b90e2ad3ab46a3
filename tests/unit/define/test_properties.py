"""Properties of every workflow that can be written."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.define import (
    Graph,
    Workflow,
    check_graph,
    diff_graphs,
    find_cycle,
    freeze,
    read_yaml,
    update_yaml,
    write_yaml,
)
from stepwell.define.expression import read_expression
from tests.strategies.templates import Shape, workflows
from tests.support.sample import sample

# Each test draws many large workflows, which takes minutes on a busy machine.
pytestmark = pytest.mark.timeout(600)

many = sample(25)


@many
@given(workflows())
@pytest.mark.requirement("RX-01")
def test_every_graph_is_well_formed(workflow: Workflow):
    graph = freeze(workflow)
    numbered_in_order_without_a_cycle(graph)
    scopes_are_contiguous_and_the_run_comes_first(graph)
    branches_are_entered_only_through_their_conditional(graph)
    steps_that_are_read_always_end_before(graph)


def numbered_in_order_without_a_cycle(graph: Graph) -> None:
    assert find_cycle(graph.successors) is None
    assert [step.no for step in graph.steps] == list(range(1, len(graph.steps) + 1))
    assert all(edge.from_no < edge.to_no for edge in graph.edges)
    assert len({step.id for step in graph.steps}) == len(graph.steps) <= 60
    assert len({(edge.from_no, edge.to_no) for edge in graph.edges}) == len(graph.edges)


def scopes_are_contiguous_and_the_run_comes_first(graph: Graph) -> None:
    scopes = [step.scope for step in graph.steps]
    runs = [scope for at, scope in enumerate(scopes) if at == 0 or scopes[at - 1] != scope]
    assert runs[0] == 0
    assert len(set(runs)) == len(runs)
    assert set(runs) - {0} == {step.no for step in graph.steps if step.kind == "map"}
    for edge in graph.edges:
        assert graph.step(edge.from_no).scope == graph.step(edge.to_no).scope


def branches_are_entered_only_through_their_conditional(graph: Graph) -> None:
    for branch in graph.branches:
        inside = {step.no for step in graph.branch_steps(branch.no)}
        for edge in graph.edges:
            if edge.to_no in inside and edge.from_no not in inside:
                assert (edge.from_no, edge.branch) == (branch.conditional, branch.no)
            if edge.branch == branch.no:
                assert edge.to_no in inside


def steps_that_are_read_always_end_before(graph: Graph) -> None:
    for step in graph.steps:
        read = {id for _, text in step.expressions() for id in read_expression(text).steps}
        if step.test is not None and not isinstance(step.test, str):
            read.add(step.test["step"])
        numbers = {graph.by_id[id].no for id in read}
        assert numbers == set(step.reads or ())
        assert not numbers or numbers <= ancestors(graph, step.no)


def ancestors(graph: Graph, no: int) -> set[int]:
    """Found by following the edges back; a body also starts after what its map waits for."""
    found: set[int] = set()
    pending = [no]
    while pending:
        at = pending.pop()
        before = set(graph.predecessors[at])
        scope = graph.step(at).scope
        if scope:
            pending.append(scope)
        pending += before - found
        found |= before
    return found


@many
@given(workflows(), st.randoms(use_true_random=False))
def test_json_reads_back_and_the_canonical_form_ignores_the_order_of_keys(
    workflow: Workflow, chance: random.Random
):
    graph = freeze(workflow)
    shuffled = shuffle(graph.to_json(), chance)
    again = Graph.from_json(json.loads(json.dumps(shuffled)))
    assert again == graph
    assert again.canonical == graph.canonical
    assert check_graph(again) == []


def shuffle(value: object, chance: random.Random) -> object:
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffle(value[key], chance) for key in keys}
    return [shuffle(item, chance) for item in value] if isinstance(value, list) else value


@many
@given(workflows())
@pytest.mark.requirement("RT-11")
def test_yaml_reads_back_to_the_same_workflow(workflow: Workflow):
    text = write_yaml(workflow)
    again = read_yaml(text)
    assert again == workflow
    assert freeze(again).canonical == freeze(workflow).canonical
    assert write_yaml(again) == text


@sample(15)
@given(workflows(Shape(max_nodes=15)), workflows(Shape(max_nodes=15)))
def test_any_text_can_be_updated_to_any_workflow(old: Workflow, new: Workflow):
    assert read_yaml(update_yaml(write_yaml(old), new)) == new


@sample(15)
@given(workflows(Shape(max_nodes=20)), workflows(Shape(max_nodes=20)))
def test_a_diff_is_empty_exactly_when_nothing_changed(one: Workflow, two: Workflow):
    first, second = freeze(one), freeze(two)
    assert diff_graphs(first, first).is_empty
    there, back = diff_graphs(first, second), diff_graphs(second, first)
    assert there.is_empty == (first == second)
    assert there.steps_added == back.steps_removed
    assert there.edges_removed == back.edges_added
    json.dumps(there.to_json())
