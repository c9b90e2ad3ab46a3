"""The database checks a part of JSON Schema, with the same results as the reference implementation."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.support.sample import sample

ORDER = {
    "type": "object",
    "$defs": {
        "Line": {
            "type": "object",
            "properties": {"sku": {"type": "string", "pattern": "^[A-Z]+$"}, "count": {"minimum": 1}},
            "required": ["sku"],
            "additionalProperties": False,
        }
    },
    "properties": {
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}, "minItems": 1},
        "note": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
        "prices": {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0}},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
        "step": {"multipleOf": 0.5},
        "tags": {"uniqueItems": True},
        "kind": {"oneOf": [{"const": "a"}, {"type": "string", "minLength": 2}]},
        "codes": {"propertyNames": {"enum": ["x", "y"]}, "maxProperties": 1},
        "never": False,
    },
    "required": ["lines"],
}
LINE = {"lines": [{"sku": "A"}]}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({}, "input.lines is required"),
        ({"lines": []}, "input.lines must have 1 or more items"),
        ({"lines": [{"sku": "A"}, {"sku": "b"}]}, "input.lines[1].sku must match ^[A-Z]+$"),
        ({"lines": [{"sku": "A", "x": 1}]}, "input.lines[0].x is not a known field"),
        ({"lines": [{"sku": "A", "count": 0}]}, "input.lines[0].count must be 1 or more"),
        (LINE | {"note": "too long"}, "input.note must have 0 to 5 characters"),
        (LINE | {"note": 7}, "input.note must be of type string, not integer"),
        (LINE | {"prices": {"eur": 0}}, "input.prices.eur must be more than 0"),
        (LINE | {"pair": [1, 2]}, "input.pair[1] must be of type string, not integer"),
        (LINE | {"pair": [1, "a", 3]}, "input.pair[2] is not accepted"),
        (LINE | {"step": 0.75}, "input.step must be a multiple of 0.5"),
        (LINE | {"tags": [1, "1", 1]}, "input.tags must not have the same item twice"),
        (LINE | {"kind": "b"}, 'input.kind must be "a"'),
        (LINE | {"codes": {"z": 1}}, 'the name input.codes.z must be one of ["x", "y"]'),
        (LINE | {"codes": {"x": 1, "y": 1}}, "input.codes must have 0 to 1 fields"),
        (LINE | {"never": 1}, "input.never is not accepted"),
        (LINE | {"note": None, "prices": {"eur": 0.5}, "pair": [1, "a"], "kind": "a", "other": 1}, None),
    ],
    ids=str,
)
def test_a_problem_names_the_field_and_what_is_accepted(db: Any, value: Any, problem: str | None):
    assert said(db, ORDER, value) == problem


@pytest.mark.parametrize(
    ("schema", "value", "accepted"),
    [
        ({"minimum": 1}, 0, "be 1 or more"),
        ({"maximum": 9.5}, 10, "be 9.5 or less"),
        ({"minimum": 1, "maximum": 9}, 10, "be between 1 and 9"),
        ({"minLength": 2}, "a", "have 2 or more characters"),
        ({"maxLength": 1}, "ab", "have 0 to 1 characters"),
        ({"minLength": 2, "maxLength": 3}, "a", "have 2 to 3 characters"),
        ({"minItems": 1}, [], "have 1 or more items"),
        ({"minItems": 1, "maxItems": 2}, [], "have 1 to 2 items"),
        ({"minProperties": 1}, {}, "have 1 or more fields"),
        ({"minProperties": 1, "maxProperties": 2}, {}, "have 1 to 2 fields"),
    ],
    ids=str,
)
def test_a_limit_that_is_open_at_one_side_is_a_sentence(db: Any, schema: Any, value: Any, accepted: str):
    assert said(db, schema, value) == f"input must {accepted}"


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}], ids=str)
def test_a_schema_that_refers_to_itself_is_reported(db: Any, schema: Any):
    assert said(db, schema, 1) == "input cannot be checked: the schema refers to itself"


def test_a_tree_of_any_depth_is_checked(db: Any):
    tree = {
        "type": "object",
        "properties": {"below": {"type": "array", "items": {"$ref": "#"}}, "n": {"type": "integer"}},
    }
    value: Any = {"n": "x"}
    for _ in range(50):
        value = {"n": 1, "below": [value]}
    assert said(db, tree, value) == f"input{'.below[0]' * 50}.n must be of type integer, not string"


names = st.sampled_from(["a", "b", "c"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.5, 2.0])
    | st.text("ab", max_size=3)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
TYPES = ["null", "boolean", "integer", "number", "string", "object", "array"]


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    small = st.integers(0, 3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, unique=True),
            "enum": st.lists(values, min_size=1, max_size=4),
            "const": values,
            "minimum": st.integers(-2, 2),
            "exclusiveMaximum": st.integers(-2, 2),
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "minLength": small,
            "maxLength": small,
            "pattern": st.sampled_from(["^a", "b$", "^(a|b)+$"]),
            "properties": st.dictionaries(names, inner, max_size=2),
            "required": st.lists(names, max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
            "minProperties": small,
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "maxItems": small,
            "uniqueItems": st.booleans(),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "$ref": st.just("#/$defs/shared"),
        },
    )


schema_trees = st.recursive(st.booleans() | schemas(st.booleans()), schemas, max_leaves=4)


@sample(60)
@given(schema=schemas(schema_trees), shared=schemas(st.booleans()), value=values)
def test_the_database_accepts_what_the_reference_accepts(
    template_db: Any, schema: Any, shared: Any, value: Any
):
    shared.pop("$ref", None)
    whole = {**schema, "$defs": {"shared": shared}}
    holds = jsonschema.Draft202012Validator(whole).is_valid(value)
    assert (said(template_db, whole, value) is None) == holds


def said(db: Any, schema: Any, value: Any) -> str | None:
    row = db.execute(
        "select stepwell._schema_problem(%s, %s, 'input')", (Jsonb(schema), Jsonb(value))
    ).fetchone()
    return row[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "object", "properties": {"a": {"type": "integer", "x-note": 1, "title": "A"}}}, None),
        ({"properties": {"a": {"patternProperties": {}}}}, "the name input.properties.a.patternProperties"),
        ({"properties": {"a": {"type": "text"}}}, "input.properties.a.type must be one of"),
        ({"minimum": "1"}, "input.minimum must be of type number, not string"),
        ({"anyOf": []}, "input.anyOf must have 1 or more items"),
        ({"properties": {"a": {"$ref": "#/$defs/B"}}}, "input: #/$defs/B leads to nothing"),
        ({"$ref": "https://example.com/schema"}, "input: https://example.com/schema leads to nothing"),
        ({"properties": {"a": {"pattern": "("}}}, "input: the pattern ( cannot be read"),
        ([1], "input must be of type object, not array"),
    ],
    ids=str,
)
def test_a_schema_with_parts_that_are_not_checked_is_refused(db: Any, schema: Any, problem: str | None):
    (found,) = db.execute("select stepwell._schema_refusal(%s, 'input')", (Jsonb(schema),)).fetchone()
    assert found is None if problem is None else found.startswith(problem)
