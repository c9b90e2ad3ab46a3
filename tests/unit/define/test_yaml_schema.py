"""The JSON Schema for editors accepts and refuses the same documents as the YAML reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from stepwell.define import DefinitionError, Workflow, read_yaml, write_yaml
from stepwell.define.yaml_schema import yaml_schema
from stepwell.define.yaml_words import STEP_WORDS
from tests.strategies.templates import Shape, workflows
from tests.support.sample import sample
from tests.unit.define.test_reading_yaml import ORDER

# Each property test draws many workflows, which takes minutes on a busy machine.
pytestmark = pytest.mark.timeout(600)

VALIDATOR = Draft202012Validator(yaml_schema())


def plain(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def test_the_schema_is_valid_and_names_every_key():
    Draft202012Validator.check_schema(yaml_schema())
    schema = json.loads(json.dumps(yaml_schema()))
    for head, (_, words) in STEP_WORDS.items():
        assert list(schema["$defs"][head]["properties"]) == list(words)


def test_the_schema_accepts_the_example():
    assert VALIDATOR.is_valid(plain(ORDER))


@sample(20)
@given(workflows(Shape(max_nodes=30)))
def test_the_schema_accepts_every_written_workflow(workflow: Workflow):
    VALIDATOR.validate(plain(write_yaml(workflow)))


# These keys accept a number, or an empty list, in some places: the tests of the reader cover them.
ACCEPT_NUMBERS_OR_EMPTY_LISTS = {"timeout", "deadline", "inputs", "priority", "non_retryable"} | {
    *("max_concurrency", "max_attempts", "initial", "max", "multiplier")
}


@sample(40)
@given(workflows(Shape(max_nodes=8)), st.data())
def test_a_damaged_document_is_refused_by_schema_and_reader(workflow: Workflow, data: st.DataObject):
    document = plain(write_yaml(workflow))
    place = data.draw(st.sampled_from(mappings(document)))
    damage = data.draw(st.sampled_from(["unknown key", "number", "nothing", "empty list"]))
    if damage == "unknown key":
        place["retires"] = 1
    else:
        keys = [key for key in place if key not in ACCEPT_NUMBERS_OR_EMPTY_LISTS]
        assume(keys)
        damaged: dict[str, Any] = {"number": 5.5, "nothing": None, "empty list": []}
        place[data.draw(st.sampled_from(keys))] = damaged[damage]
    assert not VALIDATOR.is_valid(document)
    with pytest.raises(DefinitionError):
        read_yaml(json.dumps(document))


def mappings(value: object) -> list[dict[str, Any]]:
    """Every mapping of a document, except those inside a form, which is a schema itself."""
    if isinstance(value, list):
        return [found for item in value for found in mappings(item)]
    if not isinstance(value, dict):
        return []
    own = [] if set(value) <= {"a", "b", "c"} else [value]
    return own + [found for key, item in value.items() if key != "form" for found in mappings(item)]


@pytest.mark.parametrize(
    "text",
    [
        "{workflow: w, steps: [{if: x}]}",
        "{workflow: w, steps: [{map: $.input}]}",
        "{workflow: w, steps: [{human: x}]}",
        "{workflow: w, steps: [{parallel: [a], max_concurrency: 0}]}",
        "{workflow: w, steps: [{wait: x, human: y, role: z}]}",
        "{workflow: w, steps: [{operation: a, priority: 99999}]}",
        "{workflow: w, steps: [a b]}",
        "{workflow: w, steps: [[a]]}",
        "{workflow: w}",
        "{steps: [a]}",
    ],
)
def test_the_schema_refuses_shapes_that_the_reader_refuses(text: str):
    assert not VALIDATOR.is_valid(plain(text))
    with pytest.raises(DefinitionError):
        read_yaml(text)
