"""Errors over HTTP: each is a problem document with type, field and hint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel, Field

from stepwell import errors
from stepwell.api.app import create_app
from stepwell.config import Settings
from tests.api.serving import serving

MEDIA_TYPE = "application/problem+json"
DOMAIN = {
    "invalid": (
        errors.InvalidInput("name is empty", field="name", hint="1 to 200 characters"),
        422,
        "invalid-input",
    ),
    "missing": (errors.NotFound("run 7 does not exist"), 404, "not-found"),
    "conflict": (errors.Conflict("run 7 has ended"), 409, "conflict"),
    "refused": (errors.Refused("no such transition"), 409, "refused"),
    "lease": (errors.LeaseLost("the lease ended"), 409, "lease-lost"),
    "limit": (
        errors.LimitExceeded("60,000 nodes", field="nodes", hint="at most 50,000"),
        422,
        "limit-exceeded",
    ),
    "forbidden": (errors.PermissionDenied("viewers may not cancel"), 403, "permission-denied"),
    "unavailable": (errors.DatabaseUnavailable("no connection"), 503, "database-unavailable"),
    "schema": (errors.SchemaError("0002 is missing"), 503, "schema"),
}


class Body(BaseModel):
    name: str = Field(max_length=5)
    count: int


def add_failing_routes(app: FastAPI) -> None:
    @app.get("/api/v1/domain/{kind}")
    def domain(kind: str) -> None:
        raise DOMAIN[kind][0]

    @app.get("/api/v1/broken")
    def broken() -> None:
        raise RuntimeError("a detail that must stay hidden")

    @app.get("/api/v1/database-broken")
    def database_broken() -> None:
        raise errors.DatabaseFailure("column secret_column does not exist")

    @app.post("/api/v1/body")
    def body(body: Body, limit: int = 10) -> Body:
        return body


@pytest.fixture
def failing(dsn: str, tmp_path: Path) -> Iterator[httpx.Client]:
    app = create_app(Settings(database_url=dsn, data_dir=tmp_path), dsn, body_bytes_limit=1000)
    add_failing_routes(app)
    with serving(app) as client:
        yield client


def problem(response: httpx.Response) -> dict:
    assert response.headers["Content-Type"] == MEDIA_TYPE
    body = response.json()
    assert body["status"] == response.status_code
    assert body["request_id"] == response.headers["X-Request-ID"]
    assert body["type"].startswith("urn:stepwell:problem:")
    assert None not in body.values()
    return body


@pytest.mark.parametrize("kind", DOMAIN)
def test_a_domain_error_keeps_its_code_field_and_hint(failing: httpx.Client, kind: str):
    error, status, code = DOMAIN[kind]
    found = problem(failing.get(f"/api/v1/domain/{kind}"))
    assert (found["status"], found["type"]) == (status, f"urn:stepwell:problem:{code}")
    assert found["detail"] == error.message
    assert found.get("field") == error.field
    assert found.get("hint") == error.hint


def test_an_unexpected_error_shows_only_its_request_id(failing: httpx.Client):
    for path in ("/api/v1/broken", "/api/v1/database-broken"):
        response = failing.get(path)
        found = problem(response)
        assert (found["status"], found["type"]) == (500, "urn:stepwell:problem:internal")
        assert "hidden" not in response.text
        assert "secret_column" not in response.text


def test_every_wrong_field_is_named(failing: httpx.Client):
    response = failing.post("/api/v1/body?limit=many", json={"name": "too long", "count": "x"})
    found = problem(response)
    assert (found["status"], found["type"]) == (422, "urn:stepwell:problem:invalid-input")
    assert {entry["field"] for entry in found["errors"]} == {"query.limit", "body.name", "body.count"}


def test_a_body_that_is_no_json_is_a_problem_of_the_body(failing: httpx.Client):
    response = failing.post("/api/v1/body", content=b"{", headers={"Content-Type": "application/json"})
    assert problem(response)["field"].startswith("body")


def test_an_unknown_path_of_the_api_is_a_problem_and_not_a_page(failing: httpx.Client):
    for path in ("/api", "/api/", "/api/v1/nothing", "/api/v2/health"):
        response = failing.get(path, headers={"Accept": "text/html"})
        assert problem(response)["type"] == "urn:stepwell:problem:not-found"


def test_the_problem_of_a_wrong_method_names_the_right_one(failing: httpx.Client):
    response = failing.delete("/api/v1/health")
    found = problem(response)
    assert (found["status"], response.headers["Allow"]) == (405, "GET")
    assert "GET" in found["detail"]
    response = failing.put("/api/v1/runs")
    assert (problem(response)["status"], response.headers["Allow"]) == (405, "GET, POST")
    assert "GET, POST" in response.json()["detail"]


def test_a_wrong_method_outside_the_api_is_a_problem(failing: httpx.Client):
    assert problem(failing.post("/runs/7"))["status"] == 405


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_refused(failing: httpx.Client, chunked: bool):
    body = b"[" + b" " * 2000 + b"]"
    content = iter([body[:900], body[900:]]) if chunked else body
    response = failing.post("/api/v1/body", content=content, headers={"Content-Type": "application/json"})
    found = problem(response)
    assert (found["status"], found["type"]) == (413, "urn:stepwell:problem:content-too-large")
    assert "1000 bytes" in found["detail"]
