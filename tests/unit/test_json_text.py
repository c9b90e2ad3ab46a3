"""Values become JSON text that Postgres can store, or the error names the place that is wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, TypeAdapter

from stepwell.errors import InvalidInput
from stepwell.json_text import encode


class Price(BaseModel):
    amount: float
    discount: float | None = None


class Written(BaseModel):
    """A model that writes NaN and infinity as texts."""

    model_config = ConfigDict(ser_json_inf_nan="strings")
    amount: float


class Loose(BaseModel):
    value: Any


@dataclass
class Line:
    price: float


@pytest.mark.parametrize(
    ("value", "place", "name"),
    [
        (math.nan, "result", "NaN"),
        ({"items": [1, 2, 3, {"price": math.nan}]}, "result.items[3].price", "NaN"),
        ({"a": {"odd key": math.inf}}, "result.a['odd key']", "Infinity"),
        ([None, (1.0, -math.inf)], "result[1][1]", "-Infinity"),
        ({"price": Price(amount=math.nan)}, "result.price.amount", "NaN"),
        ({"lines": [Line(1.0), Line(math.inf)]}, "result.lines[1].price", "Infinity"),
        ({7: math.nan}, "result['7']", "NaN"),
    ],
)
def test_the_error_names_the_place_of_nan_and_infinity(value, place, name):
    with pytest.raises(InvalidInput) as raised:
        encode(value, "result")
    assert raised.value.message == f"{place}: {name} is not JSON; give null or a text"
    assert raised.value.field == place


def test_nan_is_found_inside_a_declared_type():
    with pytest.raises(InvalidInput, match=r"result\[1\]\.discount: NaN is not JSON"):
        encode([Price(amount=1), Price(amount=1, discount=math.nan)], "result", TypeAdapter(list[Price]))


@pytest.mark.parametrize(
    ("value", "declared", "place"),
    [
        ({"a": [1.0, {"b": math.nan}]}, dict[str, Any], "result.a[1].b"),
        ([math.nan], list, "result[0]"),
        (math.nan, Any, "result"),
        (Loose(value=[None, math.nan]), Loose, "result.value[1]"),
        ({"a": Loose(value=(Loose(value=math.nan),))}, None, "result.a.value[0].value"),
    ],
)
def test_nan_is_found_where_the_declared_type_is_any(value, declared, place):
    """Pydantic writes it as null there."""
    with pytest.raises(InvalidInput) as raised:
        encode(value, "result", None if declared is None else TypeAdapter(declared))
    assert raised.value.field == place


@pytest.mark.parametrize("value", [Written(amount=math.nan), {"inner": Written(amount=math.inf)}])
def test_a_model_that_writes_nan_as_text_is_accepted(value):
    adapter = TypeAdapter(Written) if isinstance(value, Written) else None
    assert encode(value, "result", adapter) in ('{"amount":"NaN"}', '{"inner":{"amount":"Infinity"}}')


@pytest.mark.parametrize("value", [{"NaN": "Infinity"}, {"a": None, "b": ["null", "-Infinity"]}])
def test_texts_such_as_infinity_are_accepted(value):
    assert TypeAdapter(Any).validate_json(encode(value, "result")) == value


def test_nan_in_an_effect_is_stored_as_null():
    assert encode({"price": math.nan, "n": 1}, "effect", nan_as_null=True) == '{"price":null,"n":1}'


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": ["x", "y\x00"]}, "result.a[1]: a text contains the character U+0000"),
        ({"a\x00": 1}, "result: a text contains the character U+0000"),
        ({"a\\": "\\\x00"}, "result['a\\\\']: a text contains the character U+0000"),
        ({"a": {"b": object()}}, "result.a.b: Unable to serialize unknown type"),
        ({"a": "\ud800"}, "result.a: UnicodeEncodeError"),
    ],
)
def test_the_error_names_the_place_of_a_value_that_cannot_be_written(value, message):
    with pytest.raises(InvalidInput) as raised:
        encode(value, "result")
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize("text", ["\\u0000", "a\\\\u0000", "plain"])
def test_only_a_real_nul_character_is_refused(text):
    assert TypeAdapter(str).validate_json(encode(text, "result")) == text


def test_a_cycle_and_a_deep_nest_are_refused():
    cycle: list[Any] = []
    cycle.append({"again": cycle})
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    for value in (cycle, deep):
        with pytest.raises(InvalidInput, match=r"^result\[0\]"):
            encode(value, "result")


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_written_values_read_back_the_same_and_others_are_refused(value):
    if _has_what_json_lacks(value):
        with pytest.raises(InvalidInput, match=r"^value"):
            encode(value, "value")
    else:
        assert TypeAdapter(Any).validate_json(encode(value, "value")) == value


def _has_what_json_lacks(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case str():
            return "\x00" in value
        case list():
            return any(map(_has_what_json_lacks, value))
        case dict():
            return any(map(_has_what_json_lacks, (*value, *value.values())))
        case _:
            return False
