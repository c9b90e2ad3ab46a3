"""A function becomes a handler: its signature is read, and unsupported ones are refused."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from stepwell.define import Retry
from stepwell.errors import InvalidInput, UsageError
from stepwell.handlers import Handler, make_handler
from stepwell.outcome import Completed, Dead, Waiting


def handler_of(function: Any, **options: Any) -> Handler:
    settings = {"name": "op", "executor": "default", "retry": None, "timeout_seconds": None, **options}
    return make_handler(function, **settings)


class Order(BaseModel):
    id: str
    amount: float = 1.0


def test_the_context_parameter_is_found_by_its_name():
    def takes(context, a): ...

    handler = handler_of(takes)
    assert (handler.takes_context, handler.context_name) == (True, "context")
    assert [parameter.name for parameter in handler.parameters] == ["a"]


def test_values_are_converted_and_defaults_are_left_to_the_function():
    def takes(order: Order, count: int, note: str = "none"): ...

    bound = handler_of(takes).bind({"order": {"id": "A"}, "count": "3", "unused": 1})
    assert bound == {"order": Order(id="A", amount=1.0), "count": 3}


def test_annotated_limits_are_checked():
    def takes(count: Annotated[int, Field(gt=0)]): ...

    with pytest.raises(InvalidInput, match="parameter count: Input should be greater than 0") as raised:
        handler_of(takes).bind({"count": 0})
    assert raised.value.field == "count"


def test_without_type_hints_every_value_is_accepted():
    def takes(a, b): ...

    assert handler_of(takes).bind({"a": object, "b": None}) == {"a": object, "b": None}


def test_null_is_a_value_and_a_missing_parameter_is_an_error():
    def takes(a: int | None): ...

    handler = handler_of(takes)
    assert handler.bind({"a": None}) == {"a": None}
    with pytest.raises(InvalidInput, match="parameter a is required and not in the input"):
        handler.bind({})


@pytest.mark.parametrize("source", ["def f(*rest): ...", "def f(a, /): ..."])
def test_positional_parameters_are_refused(source):
    space: dict[str, Any] = {}
    exec(source, space)
    with pytest.raises(UsageError, match="cannot be given by name"):
        handler_of(space["f"])


def test_a_handler_in_another_process_cannot_take_the_context():
    def takes(ctx): ...

    with pytest.raises(UsageError, match="cannot take ctx"):
        handler_of(takes, executor="process")


@pytest.mark.parametrize(
    ("hint", "value", "text"),
    [
        (Any, {"a": 1}, '{"a":1}'),
        (None, None, None),
        (dict[str, int], {"a": "1"}, '{"a":1}'),
        (Order, Order(id="x"), '{"id":"x","amount":1.0}'),
        (int | Waiting | Dead, "not checked", '"not checked"'),
        (Completed, 5, "5"),
    ],
    ids=str,
)
def test_results_are_checked_against_the_hint(hint, value, text):
    def gives(): ...

    gives.__annotations__["return"] = hint
    assert handler_of(gives).encode(value) == text


def test_a_result_of_another_type_is_refused():
    def gives() -> int: ...

    with pytest.raises(InvalidInput, match="operation op: result: Input should be a valid integer") as raised:
        handler_of(gives).encode("x")
    assert raised.value.field == "result"


def test_the_error_names_the_place_of_the_wrong_value():
    def gives() -> dict[str, list[Order]]: ...

    with pytest.raises(
        InvalidInput, match=r"operation op: result\.new\[1\]\.amount: Input should be a valid number"
    ):
        handler_of(gives).encode({"new": [{"id": "a"}, {"id": "b", "amount": "x"}]})


def test_the_declaration_holds_what_the_database_needs():
    retry = Retry(max_attempts=3, initial="2s", max="1m", multiplier=3, non_retryable=("ValueError",))
    handler = handler_of(lambda: None, retry=retry, timeout_seconds=5)
    assert handler.declaration() == {
        "name": "op", "executor": "default", "max_attempts": 3, "initial_seconds": 2, "max_seconds": 60,
        "multiplier": 3, "non_retryable": ["ValueError"], "timeout_seconds": 5,
        "delays_seconds": None,
    }  # fmt: skip
