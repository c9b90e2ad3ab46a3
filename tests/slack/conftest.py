"""Fixtures of the Slack tests: a local workspace, settings, people with accounts, signed callbacks."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import psycopg
import pytest

from stepwell.api.app import create_app
from stepwell.connectors.secrets import SecretRef
from stepwell.govern.slack.notifier import SlackNotifier
from stepwell.govern.slack.settings import SlackSettings
from tests.api.serving import serving
from tests.connectors.http_server import LocalServer, local_server
from tests.connectors.slack_server import Workspace
from tests.sql.drive import Engine, human
from tests.support.roles import as_process, process_settings

TOKEN = "xoxb-canary-7f3a91"
SIGNING = "signing-canary-5b2c88"
USERS = {"ada": "U0ADA", "ben": "U0BEN", "cleo": "U0CLEO"}


@pytest.fixture
def slack_server() -> Iterator[LocalServer]:
    with local_server() as started:
        yield started


@pytest.fixture
def workspace(slack_server: LocalServer) -> Workspace:
    made = Workspace(TOKEN)
    slack_server.answer = made.answer
    return made


@pytest.fixture
def settings(
    slack_server: LocalServer, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> SlackSettings:
    """The token is in the environment, the signing secret in a file."""
    monkeypatch.setenv("PLANTED_SLACK_TOKEN", TOKEN)
    (tmp_path / "signing").write_text(f"{SIGNING}\n")
    return SlackSettings(
        token=SecretRef("env:PLANTED_SLACK_TOKEN"),
        signing_secret=SecretRef(f"file:{tmp_path / 'signing'}"),
        channel="C0AAAA",
        api_url=f"{slack_server.url}/api/",
        limit_seconds=1,
    )


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    for name in ("ada", "ben", "cleo"):
        made.one("select fn_person_set(1, %s)", (name,))
        made.one("select fn_slack_user_map(1, %s, %s, 'test')", (USERS[name], name))
    made.publish("order.check", human("sign-off", role="office"))
    return made


@pytest.fixture
def notifier(dsn: str, settings: SlackSettings) -> SlackNotifier:
    return SlackNotifier(as_process(dsn, "slack"), settings)


@pytest.fixture
def api(dsn: str, settings: SlackSettings, tmp_path: Path) -> Iterator[httpx.Client]:
    app = create_app(
        process_settings(dsn, tmp_path),
        as_process(dsn, "api"),
        slack_settings=settings,
        slack_conninfo=as_process(dsn, "slack"),
    )
    with serving(app) as client:
        yield client


class Slack:
    """Sends callbacks as Slack does, with a signature that the test computes."""

    def __init__(self, api: httpx.Client) -> None:
        self.api = api

    def send(
        self, payload: Any, *, at: int | None = None, secret: str = SIGNING, **headers: str
    ) -> httpx.Response:
        body = urlencode({"payload": payload if isinstance(payload, str) else json.dumps(payload)}).encode()
        return self.send_raw(body, at=at, secret=secret, **headers)

    def send_raw(
        self, body: bytes, *, at: int | None = None, secret: str = SIGNING, **headers: str
    ) -> httpx.Response:
        stamp = str(int(time.time()) if at is None else at)
        digest = hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256)
        given = {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={digest.hexdigest()}",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return self.api.post("/api/v1/slack/callback", content=body, headers=given)

    def press(self, person: str, message: dict[str, Any], label: str, **more: Any) -> httpx.Response:
        """Presses the button of the message with this label."""
        (block,) = [block for block in message["blocks"] if block["type"] == "actions"]
        (button,) = [one for one in block["elements"] if one["text"]["text"].startswith(label)]
        payload = {
            "type": "block_actions",
            "user": {"id": USERS.get(person, person)},
            "channel": {"id": "C0AAAA"},
            "message": {"ts": message["ts"]},
            "trigger_id": f"trigger-{person}",
            "actions": [{"action_id": button["action_id"], "value": button["value"]}],
        }
        return self.send(payload, **more)

    def submit(self, person: str, view: dict[str, Any], reason: str | None) -> httpx.Response:
        values = {"reason": {"reason": {"type": "plain_text_input", "value": reason}}}
        sent = {**view, "state": {"values": values}}
        return self.send({"type": "view_submission", "user": {"id": USERS.get(person, person)}, "view": sent})


@pytest.fixture
def slack(api: httpx.Client) -> Slack:
    return Slack(api)


def asked(engine: Engine, by: str = "ada", **named: Any) -> int:
    unit = engine.unit(engine.start("order.check"), "sign-off")
    words = "".join(f", p_{name} => %s" for name in named)
    query = f"select fn_approval_request(1, 'reopen', %s, %s{words})"
    found: int = engine.one(query, (unit, by, *named.values()))
    return found


def words(message: dict[str, Any]) -> str:
    return json.dumps(message.get("blocks", []), ensure_ascii=False)
