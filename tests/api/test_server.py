"""The server under requests that are sent slowly, and its figures for monitoring."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import psycopg
import pytest

from stepwell.api import protocol, server
from stepwell.api.app import create_app
from stepwell.config import Settings
from tests.api.serving import serving
from tests.sql.drive import Engine, operation
from tests.support.roles import as_process, bound_token

HALF = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


@contextmanager
def half_sent(client: httpx.Client, begun: bytes = HALF) -> Iterator[socket.socket]:
    """A connection whose request is never finished."""
    with socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=60) as made:
        made.sendall(begun)
        yield made


def test_a_thousand_half_sent_requests_do_not_stop_the_server(http: httpx.Client):
    with ExitStack() as stack:
        for _ in range(1_010):
            stack.enter_context(half_sent(http))
        assert httpx.get(f"{http.base_url}/healthz", timeout=60).json() == {"status": "ok"}
        assert len(protocol.BoundedProtocol._unfinished) <= protocol.UNFINISHED_LIMIT


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        HALF,
        b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100\r\n\r\n{",
    ],
    ids=["nothing", "headers", "body"],
)
def test_a_request_that_is_never_finished_is_cut(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch, begun: bytes
):
    monkeypatch.setattr(protocol, "HEADERS_SECONDS", 0.2)
    monkeypatch.setattr(protocol, "BODY_SECONDS", 0.2)
    with half_sent(http, begun) as made, suppress(ConnectionResetError):
        assert made.recv(100) == b"", "the server answered half of a request"
    assert http.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "rest",
    [b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\nZZ\r\nabc"],
    ids=["cut", "chunks"],
)
def test_a_body_that_is_cut_is_no_error_of_the_server(
    http: httpx.Client, dsn: str, rest: bytes, caplog: pytest.LogCaptureFixture
):
    head = f"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {bound_token(dsn)}\r\n"
    with half_sent(http, head.encode() + b"Content-Type: application/json\r\n" + rest) as made:
        made.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while made.recv(1000):
                pass
    assert http.get("/healthz").status_code == 200
    assert [record for record in caplog.records if record.exc_info or record.levelname == "ERROR"] == []


def test_a_connection_that_asks_nothing_more_is_closed(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(protocol, "HEADERS_SECONDS", 3_600.0)
    monkeypatch.setattr(server, "KEEP_ALIVE_SECONDS", 0.2)
    address = as_process(dsn, "api")
    app = create_app(Settings(database_url=address, data_dir=tmp_path), address)
    assert server.config_of(app).timeout_keep_alive == server.KEEP_ALIVE_SECONDS
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(app, config_of=server.config_of) as client, half_sent(client, whole) as made:
        heard = b""
        while part := made.recv(1000):
            heard += part
        assert heard.startswith(b"HTTP/1.1 200 ")
        assert heard.endswith(b'{"status":"ok"}'), "the server closed the connection before its answer"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /healthz HTTP/1.1\r\nX-Long: " + b"x" * 200_000,
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n",
        b"POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nX-Nul: \x00\r\nHost: a\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    ],
    ids=["long headers", "two hosts", "long length", "two lengths", "unknown coding", "path", "NUL", "TLS"],
)
def test_what_cannot_be_read_as_http_is_refused_with_a_problem(http: httpx.Client, sent: bytes):
    with half_sent(http, sent) as made, suppress(ConnectionResetError):
        heard = b""
        while part := made.recv(10_000):
            heard += part
        head, _, body = heard.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"application/problem+json" in head
        found = json.loads(body)
        assert (found["type"], found["field"]) == ("urn:stepwell:problem:invalid-request", "header")
    assert http.get("/healthz").status_code == 200


def test_the_figures_need_their_verb(http: httpx.Client, dsn: str, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish("w", operation("a"))
    engine.start("w")
    engine.drain(engine.worker())
    db.execute("select fn_job_enqueue(1, 'mail.send', array['{}'::jsonb])")
    plain = {"Authorization": f"Bearer {bound_token(dsn, 'plain', 'service', 'nobody')}"}
    assert http.get("/metrics", headers=plain).status_code == 403
    assert http.get("/metrics").status_code == 401
    operator = {"Authorization": f"Bearer {bound_token(dsn, 'prom', 'service', 'operator')}"}
    answer = http.get("/metrics", headers=operator)
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    found = dict(re.findall(r"^(stepwell_\S+) (\S+)$", answer.text, re.M))
    assert sum(float(found[name]) for name in found if name.startswith("stepwell_queue_depth{")) == 1
    assert float(found['stepwell_runs_ended_5m{state="completed"}']) == 1
    assert {name.partition("{")[0] for name in found} >= {
        "stepwell_queue_oldest_seconds",
        "stepwell_leases",
        "stepwell_timer_lag_seconds",
        "stepwell_runs_open",
        "stepwell_integrity_problems",
        "stepwell_seal_age_seconds",
        "stepwell_api_pool_connections",
        "stepwell_api_streams",
    }
    assert float(found["stepwell_api_requests"]) == 1
    for line in answer.text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) stepwell_\S+ .+|stepwell_\w+(\{\w+="[^"]*"\})? \S+', line), line
