"""Each step checks its own fields when it is made, and an error names the field."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from stepwell.define import (
    Conditional,
    DefinitionError,
    Human,
    Map,
    Operation,
    Parallel,
    Retry,
    Sequential,
    SubWorkflow,
    Wait,
    Workflow,
)


class SignOff(BaseModel):
    approved: bool
    note: str = ""


def items(order_id: str) -> list[str]:
    return [order_id]


def test_the_default_id_is_the_name_of_the_operation_event_or_workflow():
    assert Operation("charge").id == "charge"
    assert Wait("carrier.picked_up").id == "carrier.picked_up"
    assert SubWorkflow("invoice.close").id == "invoice.close"
    assert Operation("charge", id="second") == Operation("charge", id="second")
    assert Operation("charge") == Operation("charge", id="charge")


def test_the_default_id_of_a_map_or_conditional_comes_from_its_first_step():
    pack = Sequential(Operation("pack"), Operation("label"))
    assert Map("$.input.items", pack).id == "map.pack"
    assert Map("$.input.items", Sequential(Operation("pack"))).id == "map.pack"
    assert Conditional("charge", then=Map("$.input.items", pack)).id == "if.map.pack"
    assert Conditional("charge", otherwise=Operation("refund")).id == "if.refund"
    assert Conditional("charge", then=pack, id="paid").id == "paid"


def test_every_form_of_a_duration_is_stored_as_seconds():
    assert (
        Operation("a", timeout="1h")
        == Operation("a", timeout=3600)
        == Operation("a", timeout=timedelta(hours=1))
    )
    assert Retry(initial="500ms").initial == 0.5


def test_a_form_is_a_schema_and_cannot_be_changed_from_outside():
    human = Human("sign-off", role="warehouse", form=SignOff)
    assert human.form["properties"]["approved"] == {"title": "Approved", "type": "boolean"}
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    human = Human("sign-off", role="warehouse", form=schema)
    schema["properties"]["sneaked"] = {}
    assert human.form == {"type": "object", "properties": {}}


def test_retry_stores_the_names_of_exceptions_once_and_sorted():
    assert Retry(non_retryable=(ValueError, "KeyError", "ValueError")).non_retryable == (
        "KeyError",
        "ValueError",
    )


def test_inputs_accept_literals():
    assert Operation("a", inputs={"n": 5, "flag": True, "none": None, "half": 0.5}).inputs == {
        "n": "5",
        "flag": "true",
        "none": "null",
        "half": "0.5",
    }


REFUSED = [
    (lambda: Operation(""), "operation", "is not a valid name"),
    (lambda: Operation("a b"), "operation", "beginning with a letter"),
    (lambda: Operation("-a"), "operation", "is not a valid name"),
    (lambda: Operation("ü"), "operation", "is not a valid name"),
    (lambda: Operation("a" * 201), "operation", "201 characters"),
    (lambda: Operation(5), "operation", "a number is not a valid name"),
    (lambda: Operation("a", id="x y"), "id", "is not a valid name"),
    (lambda: Operation("a", inputs=["x"]), "inputs", "a list is not accepted"),
    (lambda: Operation("a", inputs={"x": []}), "inputs.x", "a list is not accepted"),
    (lambda: Operation("a", inputs={"x": float("nan")}), "inputs.x", "is not accepted"),
    (lambda: Operation("a", inputs={"x": ""}), "inputs.x", "is empty"),
    (lambda: Operation("a", inputs={"x": "$" * 2001}), "inputs.x", "the limit is 2000"),
    (lambda: Operation("a", inputs={f"p{n}": 1 for n in range(101)}), "inputs", "the limit is 100"),
    (lambda: Operation("a", retry=5), "retry", "accepted: Retry"),
    (lambda: Operation("a", timeout="soon"), "timeout", "is not a duration"),
    (lambda: Operation("a", priority=40_000), "priority", "from -32,768 to 32,767"),
    (lambda: Operation("a", mandatory="yes"), "mandatory", "true or false"),
    (lambda: Operation("a", optional=True), "optional", "accepted: mandatory=False"),
    (lambda: Map("$.input", Operation("a"), optional=True), "optional", "accepted: mandatory=False"),
    (lambda: Operation("a", title="x" * 501), "title", "the limit is 500"),
    (lambda: Operation("a", title="null\x00"), "title", "cannot be stored"),
    (lambda: Operation("a", executor="gpu!"), "executor", "is not a valid name"),
    (lambda: Retry(0), "retry.max_attempts", "from 1 to 1,000"),
    (lambda: Retry(True), "retry.max_attempts", "is not accepted"),
    (lambda: Retry(multiplier=0.5), "retry.multiplier", "from 1 to 100"),
    (lambda: Retry(multiplier=float("nan")), "retry.multiplier", "from 1 to 100"),
    (lambda: Retry(initial="1h", max="1m"), "retry.max", "is shorter than retry.initial"),
    (lambda: Retry(non_retryable=("not a name",)), "retry.non_retryable", "is not a valid name"),
    (lambda: Human("x"), "role", "no person can do the step"),
    (
        lambda: Human("x", role="r", form="text"),
        "form",
        "a TypedDict or a JSON Schema",
    ),
    (lambda: Human("x", role="r", form={"type": "string"}), "form", '"type": "object"'),
    (lambda: Human("x", role="r", form={"x": object()}), "form", "is not JSON"),
    (lambda: Human("x", role="r", form={"x": "y" * 70_000}), "form", "the limit is 65,536"),
    (lambda: Human("x", role="r", deadline=0), "deadline", "above zero"),
    (lambda: Sequential(), "sequential", "a Sequential without steps"),
    (lambda: Parallel(), "parallel", "a Parallel without steps"),
    (lambda: Sequential(Operation("a"), "b"), "sequential[1]", 'write Operation("b")'),
    (lambda: Parallel(Operation("a"), max_concurrency=0), "max_concurrency", "from 1 to"),
    (lambda: Map("$.input", Operation("a"), max_concurrency=0), "max_concurrency", "from 1 to"),
    (lambda: Map(None, Operation("a")), "map", "nothing is not accepted"),
    (lambda: Map("$.input", None), "do", "is not a step"),
    (lambda: Map(lambda: [], Operation("a")), "map", "made with def"),
    (lambda: Map(partial(items, "x"), Operation("a")), "map", "made with def"),
    (lambda: Conditional("a"), "then", "has neither then nor otherwise"),
    (lambda: Conditional("a", then="b"), "then", "is not a step"),
    (lambda: Conditional(True, then=Operation("b")), "if", "true or false is not accepted"),
    (lambda: Conditional("a", then=Operation("b" * 200)), "id", "give id="),
    (lambda: Workflow("a b", Operation("x")), "workflow", "is not a valid name"),
    (lambda: Workflow("a", "x"), "steps", "is not a step"),
    (
        lambda: Workflow("a", Operation("x"), failure_policy="abort"),
        "failure_policy",
        "accepted: continue-running",
    ),
]


@pytest.mark.parametrize(("make", "field", "message"), REFUSED)
def test_the_error_names_the_wrong_field_and_what_would_be_accepted(make: Any, field: str, message: str):
    with pytest.raises(DefinitionError) as refused:
        make()
    assert refused.value.field == field
    assert message in str(refused.value)


def test_a_definition_error_has_the_sqlstate_of_invalid_input_and_its_problems():
    with pytest.raises(DefinitionError) as refused:
        Operation("a b")
    assert refused.value.sqlstate == "SW001"
    assert refused.value.problems[0].to_json() == {
        "message": refused.value.problems[0].message,
        "field": "operation",
    }
