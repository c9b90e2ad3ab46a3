"""A secret in any text of any request, or in its headers, is refused, removed, or data by design.

The requests come from the document of the API: a new route or field is attacked without a change here.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from tests.api.routes import Operation, made, operations
from tests.api.test_every_route import narrowed, seeds
from tests.sql.redaction.test_no_parameter_keeps_a_secret import CANARY, DATA, SAID

__all__ = ["seeds"]

APP = made()
DOCUMENT = APP.openapi()
WRITES = [one for one in operations() if not one.is_read]
# An answer is kept for a repeat of its request as its caller saw it; a key is kept as it is.
KEPT = DATA | {"http_answer.answer"}


def fields(schema: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of all texts that a body may have, required or not; a free object gets a name of its own."""
    if "$ref" in schema:
        yield from fields(DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]], path)
    for choice in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(choice, ()):
            yield from fields(one, path)
    match schema.get("type"):
        case "string":
            yield path
        case "object":
            for name, one in schema.get("properties", {}).items():
                yield from fields(one, (*path, name))
            if schema.get("additionalProperties"):
                yield (*path, "note")
        case "array" if path:
            yield from fields(schema.get("items", {}), (*path, "0"))


def planted(body: Any, path: tuple[str, ...], text: str) -> Any:
    """The body with this text at a path."""
    if not path:
        return text
    name, rest = path[0], path[1:]
    if name == "0":
        return [planted(None, rest, text)]
    whole = dict(body) if isinstance(body, dict) else {}
    return whole | {name: planted(whole.get(name), rest, text)}


def requests(one: Operation, seeds: dict[str, str]) -> Iterator[dict[str, Any]]:
    asked = one.request(seeds, DOCUMENT)
    content = one.document.get("requestBody", {}).get("content", {})
    yield asked
    if "application/json" in content:
        for path in dict.fromkeys(fields(content["application/json"]["schema"])):
            yield copy.deepcopy(asked) | {"json": planted(asked.get("json"), path, SAID)}
    for parameter in one.parameters("query"):
        yield copy.deepcopy(asked) | {"params": {**asked["params"], parameter["name"]: SAID}}


@pytest.mark.requirement("RT-12")
def test_no_request_keeps_a_secret(http: httpx.Client, db: psycopg.Connection, seeds: dict[str, str]):
    headers = narrowed(db) | {
        "User-Agent": f"robot {SAID}",
        "traceparent": f"00-{CANARY}",
        "X-Request-Id": SAID,
    }
    count, accepted = 0, 0
    for one in WRITES:
        for asked in requests(one, seeds):
            count += 1
            key = {"Idempotency-Key": f"k-{count}"}
            answer = http.request(**asked, headers=headers | key)
            assert answer.status_code < 500, (one.name, asked, answer.text)
            accepted += answer.is_success
    assert count > 150
    assert accepted > 30
    assert kept(db) - KEPT == set()


def kept(db: psycopg.Connection) -> set[str]:
    """Table and column of every text that has the canary."""
    rows = db.execute(
        """select c.relname, a.attname from pg_class as c
           inner join pg_attribute as a on c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped
           where c.relnamespace = 'stepwell'::regnamespace and c.relkind in ('r', 'p')
               and not c.relispartition"""
    ).fetchall()
    found = set()
    for table, column in rows:
        query = f'select exists (select from stepwell."{table}" as t where t."{column}"::text like %s)'
        if db.execute(query.encode(), (f"%{CANARY}%",)).fetchone() == (True,):
            found.add(f"{table}.{column}")
    return found
