"""A workflow with an input schema refuses other inputs: at a start, in a sub-workflow, in a schedule."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation, subworkflow

ORDER = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "minLength": 1},
        "amount": {"type": "number", "minimum": 0},
    },
    "required": ["order_id"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def published(engine: Engine):
    engine.publish("order", operation("charge"), input=ORDER)


def start(engine: Engine, *inputs: Any, refs: list[str] | None = None) -> list[Any]:
    return engine.db.execute(
        "select run_id, is_new from fn_run_start(1, 'order', %s::jsonb[], %s)",
        ([Jsonb(one) for one in inputs], refs),
    ).fetchall()


@pytest.mark.parametrize(
    ("inputs", "message", "field"),
    [
        ([{}], "input.order_id is required", "input.order_id"),
        ([{"order_id": 7}], "input.order_id must be of type string, not integer", "input.order_id"),
        ([{"order_id": "A", "amount": -1}], "input.amount must be 0 or more", "input.amount"),
        ([{"order_id": "A", "amout": 1}], "input.amout is not a known field", "input.amout"),
        (
            [{"order_id": "A"}, {"order_id": ""}],
            "inputs[1].order_id must have 1 or more",
            "inputs[1].order_id",
        ),
    ],
    ids=str,
)
def test_a_refused_start_names_the_field_and_writes_nothing(
    engine: Engine, inputs: Any, message: str, field: str
):
    with pytest.raises(psycopg.Error) as caught:
        start(engine, *inputs)
    assert (caught.value.sqlstate, caught.value.diag.column_name) == ("SW001", field)
    assert str(caught.value).startswith(message)
    assert engine.one("select count(*) from run_detail") == 0


def test_an_input_that_fits_the_schema_starts_a_run(engine: Engine):
    assert len(start(engine, {"order_id": "A"}, {"order_id": "B", "amount": 1.5})) == 2
    assert engine.faults() == {}


def test_a_known_key_returns_its_run_although_the_schema_became_stricter(engine: Engine):
    ((run_id, _),) = start(engine, {"order_id": "A"}, refs=["K"])
    engine.publish("order", operation("charge"), input=ORDER | {"required": ["order_id", "amount"]})
    assert start(engine, {"order_id": "A"}, refs=["K"]) == [(run_id, False)]
    with pytest.raises(psycopg.Error, match=r"input\.amount is required"):
        start(engine, {"order_id": "A"}, refs=["L"])


def test_the_schema_is_stored_with_its_version(engine: Engine):
    engine.publish("order", operation("charge"))
    rows = engine.db.execute("select version_no, input_schema from v_workflow_version order by version_no")
    assert rows.fetchall() == [(1, ORDER), (2, None)]
    assert len(start(engine, {"anything": 1})) == 1


def test_an_input_that_the_sub_workflow_refuses_fails_the_step(engine: Engine):
    engine.publish("outer", subworkflow("call", "order", inputs={"order_id": "$.input.n"}))
    run_id = engine.start("outer", {"n": 7})
    assert engine.run_state(run_id) == "failed"
    row = engine.db.execute(
        "select last_error ->> 'message', failure_class from step_run where step_id = 'call'"
    ).fetchone()
    assert row == ("input.order_id must be of type string, not integer", "invalid_input")
    assert engine.run_state(engine.start("outer", {"n": "A"})) == "in_progress"
    assert engine.faults() == {}


def test_a_schedule_is_checked_when_it_is_set(engine: Engine):
    def put(given: Any) -> None:
        engine.db.execute(
            "select fn_schedule_set(1, 's', 'order', '0 3 * * *', 'UTC', %s, 'skip', 1, %s, 'ada')",
            (Jsonb(given), datetime(2030, 1, 1, tzinfo=UTC)),
        )

    with pytest.raises(psycopg.Error, match=r"input\.order_id is required"):
        put({})
    put({"order_id": "A"})


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "object", "not": {}}, "workflow w: the name input.not must be one of"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "workflow w: input: #/$defs/none leads to nothing"),
    ],
    ids=str,
)
def test_a_schema_with_unsupported_parts_is_not_published(engine: Engine, schema: Any, message: str):
    with pytest.raises(psycopg.Error) as caught:
        engine.publish("w", operation("a"), input=schema)
    assert caught.value.sqlstate == "SW001"
    assert str(caught.value).startswith(message)
