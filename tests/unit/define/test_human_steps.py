"""The fields of a human step are checked, frozen, and read back from JSON and from YAML."""

from __future__ import annotations

import pytest

from stepwell.define import DefinitionError, Human, Sequential, Workflow, freeze, read_yaml, write_yaml
from stepwell.define.graph import Graph

FULL = Human(
    "pack",
    role="office",
    deadline="8h",
    calendar="office",
    deadline_from="start",
    postcondition="$.output.total == $.input.total",
    tasks=[
        {"id": "count", "role": "warehouse", "form": {"type": "object", "required": ["n"]}},
        {"id": "label", "operation": "print_label"},
        {"id": "export", "assignee": "ben", "when": "$.input.abroad == true"},
    ],
    escalation=[{"after": "4h", "tell": "lead"}],
    content="manual.packing",
)


def test_the_fields_are_in_the_graph_and_read_back_from_json_and_yaml():
    workflow = Workflow("w", Sequential(FULL, Human("late", role="r", due_at="2026-12-24T17:00:00+07:00")))
    graph = freeze(workflow)
    step = graph.steps[0].to_json()
    assert step["deadline"] == 28_800
    assert step["escalation"] == [{"after": 14_400, "tell": "lead"}]
    assert [task["id"] for task in step["tasks"]] == ["count", "label", "export"]
    assert step["calendar"] == "office"
    assert graph.steps[1].to_json()["due_at"] == "2026-12-24T17:00:00+07:00"
    assert Graph.from_json(graph.to_json()).canonical == graph.canonical
    assert freeze(read_yaml(write_yaml(workflow))).canonical == graph.canonical


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"tasks": [{"id": "a"}]}, "nothing can do the task"),
        ({"tasks": [{"id": "a", "role": "r"}, {"id": "a", "role": "r"}]}, "twice"),
        ({"tasks": [{"id": "a", "role": "r", "wen": "$.input.x"}]}, "accepted: an object with id"),
        ({"tasks": [{"id": "a", "role": "r", "when": "$.inputs.x =="}]}, "tasks[0].when"),
        ({"escalation": [{"after": "soon", "tell": "lead"}]}, "escalation[0].after"),
        ({"escalation": "lead"}, "a list"),
        ({"deadline_from": "monday"}, "accepted: ready, start"),
        ({"due_at": "2026-12-24T17:00:00"}, "a time with its zone"),
        ({"postcondition": "$.output.total = 1"}, "postcondition"),
    ],
)
def test_an_error_names_the_wrong_field(more, words):
    with pytest.raises(DefinitionError) as caught:
        Human("pack", role="office", **more)
    assert words in str(caught.value)
