"""A planted secret is in no effect, no error and no log line of a connector."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import traceback
from urllib.parse import quote

import pytest

from stepwell.connectors.base import Action, Connector, Effect
from stepwell.connectors.email import EmailConnector
from stepwell.connectors.http import HttpConnector, HttpHeader, HttpLimits
from stepwell.connectors.model import ModelConnector, ModelPrice
from stepwell.connectors.secrets import SecretRef
from stepwell.connectors.servicenow import ServiceNowConnector
from stepwell.connectors.slack import SlackConnector
from stepwell.errors import StepwellError
from tests.connectors.http_server import CUT, HANG, LocalServer, Reply, Seen
from tests.connectors.smtp_server import smtp_server

SECRET = 'canary-7f3a+/&="ü'
LIMITS = HttpLimits(read_seconds=0.2)
ID = "0123456789abcdef0123456789abcdef"
# Status of the answer; 0 never answers, -1 closes the connection.
REPLIES = [(status, "env") for status in (200, 201, 302, 400, 401, 404, 429, 500, 503, 0, -1)]
REPLIES += [(status, "file") for status in (200, 400, 500)]


def connectors(url: str, ref: SecretRef) -> list[tuple[Connector, Action]]:
    http = HttpConnector("http", url, headers={"X-Key": HttpHeader(ref, "Bearer ")}, limits=LIMITS)
    now = ServiceNowConnector("now", url, secret=ref, user="flow", limits=LIMITS)
    bearer = ServiceNowConnector("now", url, secret=ref, limits=LIMITS)
    model = ModelConnector("model", url, secret=ref, prices={"m": ModelPrice(1, 1)}, limits=LIMITS)
    slack = SlackConnector("slack", secret=ref, api_url=f"{url}/api/", limit_seconds=1)
    values = {"values": {"state": "2"}}
    return [
        (http, Action(1, "http", "post", "/x", {"a": 1}, "k")),
        (now, Action(1, "now", "update", f"incident/{ID}", values, "k")),
        (bearer, Action(1, "now", "create", "incident", values, "k")),
        (model, Action(1, "model", "chat", "m", {"messages": [{"role": "user", "content": "x"}]}, "k")),
        (slack, Action(1, "slack", "post", "C0AAAA", {"text": "x"}, "k")),
    ]


def echo(status: int):
    """The server repeats all request headers in its body and headers."""

    def answer(seen: Seen) -> Reply:
        if status <= 0:
            return HANG if status == 0 else CUT
        received = json.dumps(seen.headers)
        given = seen.headers.get("authorization") or seen.headers.get("x-key", "")
        headers = {"X-Echo": quote(given), "Location": f"/elsewhere?{quote(given)}", "Retry-After": "1"}
        body = {
            "ok": False, "error": received, "echo": given, given: [received], "id": given, "ts": given,
            "result": {"sys_id": ID, "state": given, "echo": received},
            "choices": [{"message": {"content": received}}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1},
        }  # fmt: skip
        return Reply(status, body, headers)

    return answer


def forms() -> list[str]:
    return [
        SECRET, "canary-7f3a", quote(SECRET, safe=""), base64.b64encode(f"flow:{SECRET}".encode()).decode(),
        base64.b64encode(SECRET.encode()).decode(),
    ]  # fmt: skip


def found_in(text: str) -> list[str]:
    return [form for form in forms() if form in text]


def outcome(connector: Connector, action: Action) -> Effect | StepwellError:
    try:
        return asyncio.run(connector.perform(action))
    except StepwellError as error:
        return error


def text_of(outcome: Effect | StepwellError) -> str:
    if isinstance(outcome, Effect):
        return repr(outcome)
    parts = (str(outcome), repr(outcome), outcome.detail, outcome.hint, outcome.sentence())
    return " ".join([*map(str, parts), *traceback.format_exception(outcome)])


@pytest.mark.parametrize(("status", "place"), REPLIES)
def test_no_effect_error_or_log_of_a_connector_holds_the_secret(
    server: LocalServer, status: int, place: str, monkeypatch, tmp_path, caplog
):
    monkeypatch.setenv("PLANTED", SECRET)
    (tmp_path / "planted").write_text(SECRET)
    ref = SecretRef("env:PLANTED" if place == "env" else f"file:{tmp_path / 'planted'}")
    server.answer = echo(status)
    with caplog.at_level(logging.DEBUG):
        for connector, action in connectors(server.url, ref):
            shown = text_of(outcome(connector, action))
            assert not found_in(shown), (connector.name, shown)
    assert any(SECRET in str(seen.headers) or "Basic" in str(seen.headers) for seen in server.seen)
    assert not found_in(caplog.text)
    assert not found_in(" ".join(str(record.__dict__) for record in caplog.records))


@pytest.mark.parametrize("word", ["", "235 welcome", "535 no", "454 later"])
def test_no_effect_error_or_log_of_a_mail_holds_the_password(word: str, monkeypatch, caplog):
    secret = "canary-7f3a+/&="
    monkeypatch.setenv("PLANTED", secret)
    with smtp_server() as smtp, caplog.at_level(logging.DEBUG):
        mail = EmailConnector(
            "mail", "127.0.0.1", port=smtp.port, security="none", sender="a@example.com", user="flow",
            secret=SecretRef("env:PLANTED"),
        )  # fmt: skip
        smtp.answers = {"AUTH": word} if word else {}
        smtp.password = secret if word.startswith("2") else None
        shown = text_of(
            outcome(mail, Action(1, "mail", "send", "b@example.com", {"subject": "s", "text": "t"}, "k"))
        )
    assert "7f3a" not in shown + caplog.text
