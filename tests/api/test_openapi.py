"""The OpenAPI document and the reference page are complete."""

from __future__ import annotations

import re

import httpx


def test_the_document_is_openapi_3_and_has_every_operation(api: httpx.Client):
    document = api.get("/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.")
    # Prometheus asks at the path that it knows.
    assert {path for path in document["paths"] if not path.startswith("/api/v1/")} == {"/metrics"}
    assert "/api/v1/health" in document["paths"]


def test_every_operation_documents_its_errors_as_problems(api: httpx.Client):
    document = api.get("/api/v1/openapi.json").json()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            refusals = [one for status, one in operation["responses"].items() if int(status) >= 400]
            assert len(refusals) >= 3, f"{method} {path}"
            assert all("application/problem+json" in one["content"] for one in refusals), f"{method} {path}"
    assert {"Problem", "FieldError"} <= set(document["components"]["schemas"])
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_every_reference_in_the_document_has_a_target(api: httpx.Client):
    text = api.get("/api/v1/openapi.json").text
    schemas = api.get("/api/v1/openapi.json").json()["components"]["schemas"]
    assert set(re.findall(r'"#/components/schemas/([^"]+)"', text)) <= set(schemas)


def test_the_reference_page_loads_nothing_from_other_servers(api: httpx.Client):
    response = api.get("/api/v1/docs")
    assert response.status_code == 200
    assert "/api/v1/health" in response.text
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', response.text)
    assert "<script" not in response.text
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]


def test_every_link_of_the_reference_page_has_a_target(api: httpx.Client):
    text = api.get("/api/v1/docs").text
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(re.findall(r'id="([^"]+)"', text))
