"""The input of a workflow is declared by a type or a schema, in Python or YAML, and is part of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from stepwell.define import (
    DefinitionError,
    Graph,
    Operation,
    SubWorkflow,
    Workflow,
    diff_graphs,
    freeze,
    read_yaml,
    write_yaml,
)
from stepwell.define.json_schema import CHECKED, FOR_READERS
from stepwell.errors import InvalidInput
from stepwell.reactive import MemoryEngine


class Line(BaseModel):
    sku: str
    count: int = Field(ge=1)


class Order(BaseModel):
    order_id: str
    lines: list[Line] = []
    note: str | None = None


class Engine:
    """A type that cannot be written as JSON."""


@dataclass
class Plain:
    order_id: str


class Typed(TypedDict):
    order_id: str


@dataclass
class Unreadable:
    connection: Engine


SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
STEP = Operation("charge")


@pytest.mark.parametrize("declared", [Order, Plain, Typed, SCHEMA], ids=str)
def test_a_type_or_a_schema_becomes_part_of_the_graph(declared):
    graph = freeze(Workflow("w", STEP, input=declared))
    assert graph.input_schema["required"] == ["order_id"]
    assert graph.to_json()["input"] == graph.input_schema
    assert Graph.from_json(graph.to_json()) == graph


def test_without_a_declared_input_the_graph_has_no_schema():
    assert "input" not in freeze(Workflow("w", STEP)).to_json()


def test_yaml_and_python_make_the_same_workflow():
    text = """
        workflow: w
        input:
          type: object
          properties:
            order_id: {type: string}
          required: [order_id]
        steps: charge
    """
    workflow = Workflow("w", STEP, input=SCHEMA)
    assert read_yaml(text) == workflow
    assert read_yaml(write_yaml(workflow)) == workflow
    assert freeze(read_yaml(text)) == freeze(workflow)


def test_a_changed_input_schema_is_a_difference():
    found = diff_graphs(freeze(Workflow("w", STEP)), freeze(Workflow("w", STEP, input=SCHEMA)))
    assert found.workflow_changed["input"].after == SCHEMA


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (7, "a number is not accepted"),
        (int, "a type is not accepted"),
        (Unreadable, "cannot be described"),
        ({"type": "array"}, 'describes a "array"'),
        ({"properties": {"a": {"minimun": 1}}}, 'input.properties.a.minimun: the keyword "minimun"'),
        ({"properties": {"a": {"minimun": 1}}}, 'did you mean "minimum"?'),
        ({"anyOf": [{}, {"not": {}}]}, "input.anyOf[1].not"),
        ({"$defs": {"B": {"patternProperties": {}}}}, "input.$defs.B.patternProperties"),
    ],
    ids=str,
)
def test_an_input_that_cannot_be_checked_is_refused(declared, words):
    with pytest.raises(DefinitionError) as caught:
        Workflow("w", STEP, input=declared)
    assert words in str(caught.value)


def test_the_error_for_yaml_names_the_line():
    text = "workflow: w\ninput:\n  properties:\n    a:\n      minimun: 1\nsteps: charge\n"
    with pytest.raises(DefinitionError, match=r"^w\.yaml:5:"):
        read_yaml(text, file="w.yaml")


KNOWN = (
    "additionalItems", "contains", "contentSchema", "dependentRequired", "dependentSchemas", "else", "if",
    "maxContains", "minContains", "not", "patternProperties", "then", "unevaluatedItems",
    "unevaluatedProperties", "$anchor", "$dynamicRef", "$vocabulary", "x-mine", *CHECKED, *FOR_READERS,
)  # fmt: skip


@pytest.mark.parametrize("keyword", KNOWN)
def test_python_and_the_database_know_the_same_keywords(db: Any, keyword: str):
    query = "select stepwell._schema_refusal(jsonb_build_object(%s::text, %s::jsonb), 'input')"
    (said,) = db.execute(query, (keyword, Jsonb(None))).fetchone()
    database_knows = said is None or not said.startswith("the name ")
    assert database_knows == (keyword in (*CHECKED, *FOR_READERS) or keyword.startswith("x-"))


def test_a_run_in_memory_checks_its_input():
    graph = freeze(Workflow("w", STEP, input=Order))
    assert MemoryEngine(graph, input={"order_id": "A", "lines": [{"sku": "X", "count": 1}]}).run()
    with pytest.raises(InvalidInput, match=r"input\.lines\[0\]\.count: at least 1 is accepted"):
        MemoryEngine(graph, input={"order_id": "A", "lines": [{"sku": "X", "count": 0}]}).run()


def test_a_wrong_input_of_a_sub_workflow_in_memory_fails_the_step():
    outer = freeze(Workflow("outer", SubWorkflow("w", inputs={"order_id": "$.input.n"})))
    inner = {"w": freeze(Workflow("w", STEP, input=SCHEMA))}
    assert MemoryEngine(outer, input={"n": 7}, workflows=inner).run().statuses["w"] == "failed"
    assert MemoryEngine(outer, input={"n": "A"}, workflows=inner).run().statuses["w"] == "completed"
