"""The graph that the database makes of a template of job graphs is read and drawn like every other."""

from __future__ import annotations

import pytest

from stepwell.define.graph import Graph
from stepwell.define.problem import DefinitionError
from stepwell.layout.document import draw

TEMPLATE = {
    "format": 2,
    "name": "MOT:parcels",
    "input": {"type": "object", "properties": {"parcel": {"type": "string"}}, "required": ["parcel"]},
    "steps": [
        {
            "no": 1, "id": "label", "kind": "operation", "operation": "label", "retry": {"max_attempts": 2},
            "source_ref": "$.input.parcel", "target_ref": "printer:1", "payload_ref": "s3://b/1",
            "inputs": {"source_ref": "$.input.parcel", "target_ref": '"printer:1"'}, "reads": [],
        },
        {"no": 2, "id": "weigh", "kind": "operation", "operation": "weigh", "delay_seconds": 60},
        {"no": 3, "id": "route", "kind": "operation", "operation": "route", "join": "any"},
        {"no": 4, "id": "abroad", "kind": "subworkflow", "workflow": "MOT:customs"},
    ],
    "edges": [{"from": 1, "to": 3}, {"from": 1, "to": 4}, {"from": 2, "to": 3}],
    "branches": [],
}  # fmt: skip


def test_a_stored_template_is_read_and_drawn():
    graph = Graph.from_stored(TEMPLATE)
    assert [step.to_json() for step in graph.steps] == TEMPLATE["steps"]
    drawn = draw(graph, "0" * 64, "role")
    assert drawn["joins"] == {"3": "any"}
    assert drawn["steps"]["id"] == ["label", "weigh", "route", "abroad"]


def test_a_workflow_says_nothing_of_what_only_templates_say():
    with pytest.raises(DefinitionError) as caught:
        Graph.from_json({**TEMPLATE, "name": "parcels"})
    for field in ("source_ref", "delay_seconds", "join", "MOT:customs"):
        assert field in str(caught.value)
