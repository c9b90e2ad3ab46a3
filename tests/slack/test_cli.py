"""Slack on the command line: accounts are mapped, the settings are checked, the keeper sends due cards."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.acceptance.running import run as stepwell
from tests.connectors.http_server import Reply
from tests.slack.conftest import TOKEN, asked
from tests.support.roles import as_process, bound_token

Run = Callable[..., str]


@pytest.fixture
def run(dsn, settings) -> Run:
    """Commands of an administrator with a token, and of what speaks with Slack with its own role."""
    token = bound_token(dsn, "olga", "person")

    def call(*arguments: str, code: int = 0, **environment: str) -> str:
        given = {
            "STEPWELL_TOKEN": token, "STEPWELL_SLACK_URL": as_process(dsn, "slack"),
            "STEPWELL_KEEPER_URL": as_process(dsn, "keeper"),
            "PLANTED_SLACK_TOKEN": TOKEN, "STEPWELL_SLACK_TOKEN": settings.token.reference,
            "STEPWELL_SLACK_CHANNEL": settings.channel, "STEPWELL_SLACK_API_URL": settings.api_url,
            **environment,
        }  # fmt: skip
        done = stepwell("--database-url", as_process(dsn, "api"), *arguments, environment=given)
        assert done.returncode == code, done.stdout + done.stderr
        assert TOKEN not in done.stdout + done.stderr
        return done.stdout + done.stderr

    return call


def test_accounts_are_mapped_listed_and_unmapped(engine, run):
    assert "U0BEN belongs to no person now" in run("slack", "unmap", "U0BEN")
    assert "no person has the Slack account U0BEN" in run("slack", "unmap", "U0BEN", code=1)
    assert "U0NEW belongs to ben" in run("slack", "map", "ben", "U0NEW")
    assert "U0NEW belonged already to ben" in run("slack", "map", "ben", "U0NEW")
    taken = run("slack", "map", "ben", "U0ADA", code=1)
    assert "U0ADA already belongs to ada: disconnect that first." in taken
    assert "person nobody does not exist" in run("slack", "map", "nobody", "U0X", code=1)
    assert "not the name" in run("slack", "map", "ben", "@ben", code=1)
    assert [line.split()[:2] for line in run("slack", "list").splitlines()[1:]] == [
        ["ada", "U0ADA"], ["ben", "U0NEW"], ["cleo", "U0CLEO"],
    ]  # fmt: skip
    assert json.loads(run("slack", "list", "--json"))[1]["slack_user_id"] == "U0NEW"


def test_slack_check_shows_the_settings_and_failed_messages(engine, run, workspace):
    workspace.answers["auth.test"] = Reply(200, {"ok": True, "user": "stepwell", "team": "Kho"})
    shown = run("slack", "check")
    assert "stepwell writes to C0AAAA of Kho" in shown
    assert "cards have no buttons" in shown
    assert "no message has failed" in shown
    asked(engine)
    workspace.answers["chat.postMessage"] = Reply(200, {"ok": False, "error": "not_in_channel"})
    assert "0 approvals shown in Slack" in run("keeper", "--once")
    assert "not_in_channel: invite the app to the channel" in run("slack", "check")
    assert json.loads(run("slack", "check", "--json"))["late"][0]["try_count"] == 1


def test_the_keeper_sends_due_cards(engine, run, workspace):
    asked(engine)
    assert "1 approvals shown in Slack" in run("keeper", "--once")
    assert len(workspace.messages()) == 1


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"STEPWELL_SLACK_TOKEN": "", "STEPWELL_SLACK_CHANNEL": ""}, "Slack is not set up"),
        ({"STEPWELL_SLACK_CHANNEL": ""}, "STEPWELL_SLACK_TOKEN and STEPWELL_SLACK_CHANNEL must both be set"),
        ({"STEPWELL_SLACK_TOKEN": TOKEN}, "STEPWELL_SLACK_TOKEN is not a reference: write env:NAME"),
        ({"STEPWELL_SLACK_CHANNEL": "#general"}, "STEPWELL_SLACK_CHANNEL is '#general'"),
        ({"STEPWELL_SLACK_API_URL": "http://slack.example.com"}, "STEPWELL_SLACK_API_URL is not accepted"),
    ],
)
def test_the_error_names_the_wrong_slack_setting(dsn, run, environment, sentence):
    assert sentence in run("slack", "check", code=2, **environment)


def test_the_error_names_a_missing_secret_or_a_wrong_token(dsn, run, workspace):
    assert "secret env:NO_SUCH is not set" in run(
        "slack", "check", code=1, STEPWELL_SLACK_TOKEN="env:NO_SUCH"
    )
    workspace.token = "another"
    assert "invalid_auth is its answer: check the token" in run("slack", "check", code=1)
