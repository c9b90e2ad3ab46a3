"""What holds for every workflow that can be written."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
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

many = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(workflows())
@pytest.mark.requirement("RX-01")
def test_the_graph_is_acyclic_numbered_in_order_and_ids_are_unique(workflow: Workflow):
    graph = freeze(workflow)
    assert find_cycle(graph.successors) is None
    assert [node.no for node in graph.nodes] == list(range(1, len(graph.nodes) + 1))
    assert all(edge.from_no < edge.to_no for edge in graph.edges)
    assert len({node.id for node in graph.nodes}) == len(graph.nodes) <= 60
    assert len({(edge.from_no, edge.to_no) for edge in graph.edges}) == len(graph.edges)


@many
@given(workflows())
def test_scopes_are_contiguous_and_the_run_comes_first(workflow: Workflow):
    graph = freeze(workflow)
    scopes = [node.scope for node in graph.nodes]
    runs = [scope for at, scope in enumerate(scopes) if at == 0 or scopes[at - 1] != scope]
    assert runs[0] == 0
    assert len(set(runs)) == len(runs)
    maps = {node.no for node in graph.nodes if node.kind == "map"}
    assert set(runs) - {0} == maps
    for edge in graph.edges:
        assert graph.node(edge.from_no).scope == graph.node(edge.to_no).scope


@many
@given(workflows())
def test_a_branch_is_entered_only_through_its_decision(workflow: Workflow):
    graph = freeze(workflow)
    for branch in graph.branches:
        inside = {node.no for node in graph.branch_nodes(branch.no)}
        for edge in graph.edges:
            if edge.to_no in inside and edge.from_no not in inside:
                assert edge.from_no == branch.decision
                assert edge.branch == branch.no
            if edge.branch == branch.no:
                assert edge.to_no in inside


@many
@given(workflows())
def test_what_an_expression_reads_always_ends_before(workflow: Workflow):
    graph = freeze(workflow)
    for node in graph.nodes:
        texts = [text for _, text in node.expressions()]
        read = {id for text in texts for id in read_expression(text).steps}
        if node.test is not None and not isinstance(node.test, str):
            read.add(node.test["step"])
        assert {graph.by_id[id].no for id in read} == set(node.reads or ())
        for id in read:
            assert graph.by_id[id].no in ancestors(graph, node.no)


def ancestors(graph: Graph, no: int) -> set[int]:
    """By walking back, without the bits the check carries; a body starts after what its map waits for."""
    found: set[int] = set()
    pending = [no]
    while pending:
        at = pending.pop()
        before = set(graph.predecessors[at])
        scope = graph.node(at).scope
        if scope:
            pending.append(scope)
        pending += before - found
        found |= before
    return found


@many
@given(workflows(), st.randoms(use_true_random=False))
def test_json_round_trips_and_the_hash_ignores_the_order_of_keys(workflow: Workflow, chance: random.Random):
    graph = freeze(workflow)
    shuffled = shuffle(graph.to_json(), chance)
    again = Graph.from_json(json.loads(json.dumps(shuffled)))
    assert again == graph
    assert again.canonical == graph.canonical
    assert again.hash == graph.hash
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
def test_yaml_round_trips(workflow: Workflow):
    text = write_yaml(workflow)
    again = read_yaml(text)
    assert again == workflow
    assert freeze(again).hash == freeze(workflow).hash
    assert write_yaml(again) == text


@settings(many, max_examples=60)
@given(workflows(Shape(max_nodes=15)), workflows(Shape(max_nodes=15)))
def test_any_text_can_be_updated_to_any_workflow(old: Workflow, new: Workflow):
    assert read_yaml(update_yaml(write_yaml(old), new)) == new


@settings(many, max_examples=60)
@given(workflows(Shape(max_nodes=20)), workflows(Shape(max_nodes=20)))
def test_a_diff_is_empty_exactly_when_nothing_changed(one: Workflow, two: Workflow):
    first, second = freeze(one), freeze(two)
    assert diff_graphs(first, first).is_empty
    there, back = diff_graphs(first, second), diff_graphs(second, first)
    assert there.is_empty == (first == second)
    assert there.steps_added == back.steps_removed
    assert there.edges_removed == back.edges_added
    json.dumps(there.to_json())
