"""Every answer of the server: security headers, request ids, accepted host names."""

from __future__ import annotations

import httpx
import pytest

PATHS = ["/", "/healthz", "/api/v1/health", "/api/v1/nothing", "/assets/gone.js", "/api/v1/docs"]


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_has_the_security_headers(api: httpx.Client, path: str):
    headers = api.get(path, headers={"Accept": "text/html"}).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "same-origin"


def test_a_request_id_is_made_when_none_is_given(api: httpx.Client):
    first, second = (api.get("/healthz").headers["X-Request-ID"] for _ in range(2))
    assert first != second


def test_a_request_id_that_is_given_is_kept(api: httpx.Client):
    response = api.get("/healthz", headers={"X-Request-ID": "trace.me-7"})
    assert response.headers["X-Request-ID"] == "trace.me-7"


@pytest.mark.parametrize("given", ["", "a" * 65, "semi;colon", "with space", "<script>"])
def test_an_unsafe_request_id_is_replaced(api: httpx.Client, given: str):
    assert api.get("/healthz", headers={"X-Request-ID": given}).headers["X-Request-ID"] != given


@pytest.mark.parametrize("host", ["localhost", "localhost:8400", "127.0.0.1:1", "[::1]:8400", "LOCALHOST"])
def test_host_names_of_loopback_are_accepted(api: httpx.Client, host: str):
    assert api.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]"]
)
def test_another_host_name_is_refused(api: httpx.Client, host: str):
    response = api.get("/api/v1/health", headers={"Host": host})
    assert response.status_code == 421
    assert response.json()["field"] == "header.Host"
