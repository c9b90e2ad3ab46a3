"""The JSON Schema of an event type accepts the same payloads as the contract in the registry."""

from __future__ import annotations

import jsonschema
import psycopg
import pytest

PAYLOADS = [
    ("step.waiting", {"waiting_facet": "waiting_human"}, True),
    ("step.waiting", {"waiting_facet": "waiting_moon"}, False),
    ("step.waiting", {}, False),
    ("job.failed", {"classification": "transient", "failure_class": "timeout", "attempt": 2}, True),
    ("job.failed", {"classification": "perhaps", "failure_class": "timeout"}, False),
    ("job.failed", {"classification": "transient", "failure_class": 7}, False),
    ("step.completed", {}, True),
    ("step.completed", {"completed_after_deadline": "yes"}, False),
    ("step.ready", {"anything": ["else"]}, True),
    ("task.reopened_for_correction", {"correction_reason": "data_error", "approval_id": 5}, False),
    (
        "task.reopened_for_correction",
        {"correction_reason": "data_error", "approval_id": 5, "prior_audit_id": 9},
        True,
    ),
]


@pytest.mark.requirement("SM-18")
def test_every_event_type_has_a_valid_schema(db: psycopg.Connection):
    query = "select event_type, fn_event_type_schema(event_type) from event_type_registry"
    for event_type, schema in db.execute(query):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["title"] == event_type


@pytest.mark.requirement("SM-18")
@pytest.mark.parametrize(("event_type", "payload", "holds"), PAYLOADS)
def test_the_schema_and_the_log_agree(
    db: psycopg.Connection, event_type: str, payload: dict[str, object], holds: bool
):
    row = db.execute(
        "select fn_event_type_schema(%s), _event_payload_problem(%s, %s) is null",
        (event_type, event_type, psycopg.types.json.Jsonb(payload)),
    ).fetchone()
    assert row is not None
    schema, log_accepts = row
    assert jsonschema.Draft202012Validator(schema).is_valid(payload) is holds
    assert log_accepts is holds


def test_an_unknown_event_type_is_refused_by_name(db: psycopg.Connection):
    with pytest.raises(psycopg.Error) as refused:
        db.execute("select fn_event_type_schema('step.dreamt')")
    assert refused.value.sqlstate == "SW002"
    assert "step.dreamt" in str(refused.value)
