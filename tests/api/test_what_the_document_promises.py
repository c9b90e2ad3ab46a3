"""What all calls share, for every operation of the OpenAPI document: keys, positions, tags, problems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
from jsonschema import Draft202012Validator

from tests.api.routes import Operation, made, operations
from tests.api.test_every_route import objects, resolved
from tests.sql.drive import Engine, human, operation

READS = [one for one in operations() if one.is_read]
WRITES = [one for one in operations() if not one.is_read]
# Nothing of a request with a password is kept, so it has no key.
WITHOUT_KEY = {"PUT /api/v1/session/password"}


def names(one: Operation, place: str) -> set[str]:
    return {found["name"] for found in one.parameters(place)}


def headers(one: Operation) -> set[str]:
    """The headers of its answers of success."""
    answers = one.document["responses"]
    return {name for status in answers if status[0] == "2" for name in answers[status].get("headers", ())}


def test_every_write_takes_a_key_and_tells_its_position():
    assert {one.name for one in WRITES if "Idempotency-Key" not in names(one, "header")} == WITHOUT_KEY
    assert [one.name for one in WRITES if "Stepwell-Position" not in headers(one)] == []


def test_every_read_takes_a_position_and_has_a_tag():
    assert [one.name for one in READS if "min_position" not in names(one, "query")] == []
    assert [one.name for one in READS if "ETag" not in headers(one)] == []
    assert [one.name for one in READS if "304" not in one.document["responses"]] == []


def test_every_problem_is_listed_with_an_example():
    for one in operations():
        found = {status for status in one.document["responses"] if status[0] in "45"}
        assert {"401", "403", "422", "429", "503"} <= found, one.name
        for status in found:
            content = one.document["responses"][status]["content"]["application/problem+json"]
            examples = content.get("examples") or {"only": {"value": content["example"]}}
            for example in examples.values():
                assert example["value"]["type"].startswith("urn:stepwell:problem:"), (one.name, status)
                assert str(example["value"]["status"]) == status, one.name


@pytest.mark.parametrize(
    ("asked", "named"),
    [("x", "query.min_position"), ("-1", "query.min_position"), ("9" * 40, "query.min_position")],
)
def test_every_read_refuses_what_is_no_position(
    api: httpx.Client, db: psycopg.Connection, asked: str, named: str
):
    engine = Engine(db)
    engine.publish("w", operation("a"), human("sign", role="office"))
    run_id = engine.start("w")
    seeds = dict.fromkeys((found["name"] for one in READS for found in one.parameters("path")), "1")
    seeds |= {"run_id": str(run_id), "unit_id": str(engine.unit(run_id, "a")), "name": "w"}
    for one in READS:
        request = one.request(seeds, made().openapi())
        request["params"] = {**request["params"], "min_position": asked}
        answer = api.request(**request)
        assert (answer.status_code, answer.json()["field"]) == (422, named), one.name


def fields_of_bodies() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each field of what a caller sends, at every depth, with its schema and those that it may be."""
    document = made().openapi()
    for one in WRITES:
        content = one.document.get("requestBody", {}).get("content", {})
        if "application/json" in content:
            for schema in objects(content["application/json"]["schema"], document):
                for name, field in schema["properties"].items():
                    choices = [resolved(choice, document) for choice in field.get("anyOf", [field])]
                    yield f"{one.name} {schema['title']}.{name}", {**field, "choices": choices}


def test_every_field_of_a_body_has_an_example_of_its_kind():
    """A page that reads the document shows it; a time, a flag and a word of a list show themselves."""
    found, wrong = 0, []
    for name, field in fields_of_bodies():
        found += 1
        examples = [example for one in (field, *field["choices"]) for example in one.get("examples", ())]
        is_plain = any(
            {"enum", "const", "properties"} & set(one) or one.get("type") == "boolean" or "format" in one
            for one in field["choices"]
        )
        if not is_plain and not examples:
            wrong.append(name)
        for example in examples:
            whole = [{**one, "components": made().openapi()["components"]} for one in field["choices"]]
            if not any(Draft202012Validator(one).is_valid(example) for one in whole):
                wrong.append(f"{name}: {example!r}")
    assert wrong == []
    assert found > 150
