"""Milestones: on a step, once in a workflow, not in the body of a map; equal in Python, JSON and YAML."""

from __future__ import annotations

import hashlib

import pytest

from stepwell.define import (
    DefinitionError,
    Human,
    Map,
    Operation,
    Sequential,
    Step,
    SubWorkflow,
    Wait,
    Workflow,
    diff_graphs,
    freeze,
    read_yaml,
    write_yaml,
)
from stepwell.define.graph import Graph

STEPS: tuple[Step, ...] = (
    Operation("charge", milestone="Paid"),
    Human("sign", role="office", milestone="Đã ký"),
    Wait("carrier.picked_up", milestone="On its way"),
    SubWorkflow("invoice", milestone="Invoiced"),
    Map("$.input.items", Operation("pack"), milestone="All packed"),
)


@pytest.mark.requirement("UI-17")
def test_every_kind_of_step_can_have_one_and_reads_back_from_json_and_yaml():
    workflow = Workflow("w", Sequential(*STEPS))
    graph = freeze(workflow)
    assert [step.milestone for step in graph.steps if step.scope == 0] == [
        "Paid",
        "Đã ký",
        "On its way",
        "Invoiced",
        "All packed",
    ]
    assert Graph.from_json(graph.to_json()).canonical == graph.canonical
    assert read_yaml(write_yaml(workflow)) == workflow
    assert freeze(read_yaml(write_yaml(workflow))).canonical == graph.canonical


def test_a_workflow_without_milestones_keeps_the_hash_it_had():
    graph = freeze(Workflow("order", Sequential(Operation("charge"), Human("sign", role="office"))))
    known = "69327dd8510fd7171f43ae6ccebc8fc5b03328169946dc58af0b6721bd3636ba"
    assert hashlib.sha256(graph.canonical).hexdigest() == known


def test_a_difference_names_the_milestone():
    before = freeze(Workflow("w", Operation("charge", milestone="Paid")))
    after = freeze(Workflow("w", Operation("charge", milestone="Money is here")))
    change = diff_graphs(before, after).steps_changed["charge"]["milestone"]
    assert (change.before, change.after) == ("Paid", "Money is here")


@pytest.mark.parametrize("given", ["", "  ", 5, "x" * 201, "a\x00b"])
def test_a_milestone_is_a_text_of_at_most_200_characters(given: str):
    with pytest.raises(DefinitionError, match="milestone"):
        Operation("charge", milestone=given)


def test_a_milestone_stands_once_in_a_workflow():
    with pytest.raises(DefinitionError, match=r'milestone.*"Paid" is already the milestone of "charge"'):
        freeze(
            Workflow("w", Sequential(Operation("charge", milestone="Paid"), Operation("b", milestone="Paid")))
        )


def test_the_body_of_a_map_has_none_and_yaml_names_the_line():
    text = (
        "workflow: w\nsteps:\n  - map: $.input.items\n    do:\n      operation: pack\n      milestone: All\n"
    )
    with pytest.raises(DefinitionError, match="accepted: on the map itself") as error:
        freeze(read_yaml(text))
    assert error.value.problems[0].line == 6
