"""Requests of somebody who wants to break in, to stop others or to learn what is not theirs."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from stepwell.api.identity import COOKIE
from tests.api.routes import Operation, operations
from tests.sql.drive import Engine, operation

PASSWORD = "seven green bottles"


@pytest.fixture
def minh(http: httpx.Client, db: psycopg.Connection) -> httpx.Client:
    """A server on which minh has a password; the client has no cookie."""
    db.execute(
        """update dot_config set config_value = '"$argon2id$v=19$m=19456,t=2,p=1"'
           where config_key = 'sign_in.argon2id'"""
    )
    row = db.execute("select link from fn_link_create(1, 'minh', 'first_administrator')").fetchone()
    assert row is not None
    assert http.post("/api/v1/session/link", json={"link": row[0], "password": PASSWORD}).status_code == 200
    http.cookies.clear()
    return http


def sign_in(http: httpx.Client, password: str, address: str, **headers: str) -> httpx.Response:
    answer = http.post(
        "/api/v1/session",
        json={"name": "minh", "password": password},
        headers={"X-Forwarded-For": address, **headers},
    )
    http.cookies.clear()
    return answer


def test_wrong_passwords_from_elsewhere_do_not_lock_a_person_out(minh: httpx.Client):
    """The pause belongs to name and address: whoever guesses pauses only the own address."""
    for number in range(30):
        sign_in(minh, "wrong", f"198.51.100.{number % 3}")
    assert sign_in(minh, PASSWORD, "198.51.100.1").status_code == 429
    assert sign_in(minh, PASSWORD, "203.0.113.7").status_code == 200


def test_a_session_that_somebody_planted_is_never_used(minh: httpx.Client):
    """A cookie that was there before the sign-in is worth nothing after it."""
    planted = f"sws_{'0' * 64}"
    answer = minh.post(
        "/api/v1/session",
        json={"name": "minh", "password": PASSWORD},
        headers={"Cookie": f"{COOKIE}={planted}"},
    )
    given = answer.cookies[COOKIE]
    minh.cookies.clear()
    assert given != planted
    assert minh.get("/api/v1/session", headers={"Cookie": f"{COOKIE}={planted}"}).status_code == 401
    second = sign_in(minh, PASSWORD, "203.0.113.7").cookies[COOKIE]
    assert second != given, "two sign-ins share a session"


@pytest.mark.parametrize(
    "key",
    [
        [], [1], ["runs"], ["runs", "x"], ["runs", 1, 2], ["runs", 2**70], ["runs", -(2**70)], ["runs", True],
        ["runs", 1.5], ["runs", None], ["runs", [1]], ["events", 1], ["runs", "1; drop table x"], {"runs": 1},
        "runs",
    ],
)  # fmt: skip
def test_a_forged_cursor_is_refused(api: httpx.Client, key: object):
    text = base64.urlsafe_b64encode(json.dumps(key).encode()).rstrip(b"=").decode()
    answer = api.get("/api/v1/runs", params={"cursor": text})
    assert (answer.status_code, answer.json()["field"]) == (422, "query.cursor"), answer.text


def test_a_cursor_of_another_tenant_shows_only_the_own_runs(
    http: httpx.Client, token: Callable[..., str], db: psycopg.Connection
):
    engine = Engine(db)
    engine.publish("secret", operation("a"))
    for _ in range(3):
        engine.start("secret")
    first = {"Authorization": f"Bearer {token()}"}
    cursor = http.get("/api/v1/runs", params={"limit": 1}, headers=first).json()["next"]
    other = engine.one("select fn_tenant_set('other')")
    engine.one("select fn_principal_set(%s, 'person', 'eve', array['admin'])", (other,))
    text = engine.one("select token from fn_token_create(%s, 'eve', 'test', 3600)", (other,))
    found = http.get("/api/v1/runs", params={"cursor": cursor}, headers={"Authorization": f"Bearer {text}"})
    assert found.json() == {"items": [], "next": None}


def test_a_compressed_body_is_not_unpacked(api: httpx.Client):
    """A small body that becomes gigabytes is read as the bytes that it is."""
    packed = gzip.compress(b'{"workflow": "w", "input": {"a": "' + b"x" * 10_000_000 + b'"}}')
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    answer = api.post("/api/v1/runs", content=packed, headers=headers)
    assert answer.status_code in (400, 415, 422), answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("limit", ["0", "-1", "201", "1e9", "99999999999999999999", "NaN", "\x00"])
def test_a_page_that_is_too_large_is_refused(api: httpx.Client, limit: str):
    answer = api.get("/api/v1/runs", params={"limit": limit})
    assert answer.status_code == 422, answer.text


@pytest.mark.parametrize(
    "text", ["\x00", "a\x00b", "\ud800", "\udfff\ud800", "\uffff", "\u202e", "\U0010ffff", "\u0000" * 9]
)
def test_odd_text_is_never_an_error_of_the_server(api: httpx.Client, db: psycopg.Connection, text: str):
    Engine(db).publish("w", operation("a"))
    for body in (
        {"workflow": text}, {"workflow": "w", "key": text}, {"workflow": "w", "input": {text: 1}},
        {"workflow": "w", "input": {"a": [text]}}, {"workflow": "w", "labels": {"a": text}},
    ):  # fmt: skip
        answer = api.post(
            "/api/v1/runs", content=json.dumps(body), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code in (201, 404, 422), (body, answer.text)
        if not answer.is_success:
            assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(
    "given", ["00-" + "f" * 32 + "-" + "f" * 16 + "-ff", "ff" * 500, "00-\xff", "'; drop--", "00--" * 99]
)
def test_junk_in_a_trace_is_replaced(api: httpx.Client, given: str):
    answer = api.get("/api/v1/runs", headers={"traceparent": given.encode("latin-1")})
    assert (answer.status_code, len(answer.headers["traceparent"])) == (200, 55)


def test_no_answer_has_a_trace_of_the_inside(api: httpx.Client):
    for path in ("/runs/x", "/runs/99999999999999", "/runs?state=none", "/nowhere", "/runs/1/then?at=x"):
        text = api.get(f"/api/v1{path}").text
        assert not any(word in text for word in ("Traceback", "psycopg", "select ", "stepwell._", ".py")), (
            text
        )


def test_the_largest_number_that_is_accepted_is_answered(api: httpx.Client):
    """At the edge of every number of every read nothing overflows."""
    failed = []
    for asked in operations():
        numbers = [one for one in asked.parameters("query") if largest(one) is not None]
        # A stream does not end, and a page of the largest size has its own test.
        if not asked.is_read or not numbers or asked.path == "/api/v1/stream":
            continue
        seeds = {one["name"]: str(largest(one) or "x") for one in asked.parameters("path")}
        request = asked.request(seeds, {})
        for one in numbers:
            given = {**request, "params": {**request["params"], one["name"]: largest(one)}}
            if (answer := api.request(**given)).status_code >= 500:
                failed.append((asked.name, one["name"], answer.text))
    assert failed == []


def largest(parameter: dict[str, Any]) -> int | None:
    """The largest integer that the document accepts; None for a parameter that is no integer."""
    choices = parameter["schema"].get("anyOf", [parameter["schema"]])
    for one in (choice.get("items", choice) for choice in choices):
        if one.get("type") == "integer":
            return int(one["exclusiveMaximum"]) - 1 if "exclusiveMaximum" in one else int(one["maximum"])
    return None


# Python reads offsets up to a day, PostgreSQL up to 15:59.
FAR, OUTSIDE = "2026-01-01T00:00:00+23:59", ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00")


def test_a_time_of_any_zone_in_a_query_is_read_or_refused_by_name(api: httpx.Client, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    asked = [(one, name) for one in operations() for name in times(one)]
    assert len(asked) >= 8
    for one, name in asked:
        request = one.request({"run_id": str(run_id)}, {})
        # The log is never read without a filter.
        more = {"actor": "x"} if "actor" in {found["name"] for found in one.parameters("query")} else {}
        for text in (FAR, *OUTSIDE):
            answer = api.request(**{**request, "params": {**more, name: text}})
            if text == FAR:
                assert answer.status_code in (200, 404, 422), (one.name, name, answer.text)
            else:
                found = (answer.status_code, answer.json()["field"].removeprefix("query."))
                assert found == (422, name), (one.name, name, answer.text)


def times(one: Operation) -> list[str]:
    """The parameters of a query that are times."""
    return [
        found["name"]
        for found in one.parameters("query")
        if found["name"] == "at"
        or any(c.get("format") == "date-time" for c in found["schema"].get("anyOf", ()))
    ]


@pytest.mark.parametrize("text", [FAR, *OUTSIDE])
def test_a_time_of_any_zone_in_a_body_is_read_or_refused_by_name(
    api: httpx.Client, db: psycopg.Connection, text: str
):
    Engine(db).publish("w", operation("a"))
    answer = api.post("/api/v1/jobs", json={"operation": "a", "process_after": text})
    if text == FAR:
        assert answer.status_code == 201, answer.text
        assert api.get(f"/api/v1/jobs/{answer.json()['job_id']}").status_code == 200
    else:
        assert (answer.status_code, answer.json()["field"]) == (422, "body.process_after")


@pytest.mark.parametrize(
    "body",
    [
        b"\x1f\x8b\x08\x00",
        b'{"workflow":"w","input":{"a":' + b"9" * 5_000 + b"}}",
        b'{"workflow":"w","input":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"workflow":"w","input":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_000 + b"}",
    ],
    ids=["bytes", "a long number", "deep lists", "deep objects"],
)
def test_a_body_that_no_reader_of_json_takes_is_named(api: httpx.Client, body: bytes):
    answer = api.post("/api/v1/runs", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["field"]) == (400, "body")
    assert "UTF-8" in answer.json()["hint"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/runs", {"workflow": "w", "inputs": {"a": 1}}),
        ("/api/v1/runs/batch", {"workflow": "w", "inputs": [{}], "key": "a"}),
        ("/api/v1/jobs", {"operation": "o", "input": {}}),
    ],
)
def test_a_misspelled_field_starts_nothing(api: httpx.Client, path: str, body: dict[str, object]):
    answer = api.post(path, json=body)
    assert answer.status_code == 422
    assert answer.json()["field"] == f"body.{list(body)[-1]}"
