"""`stepwell up` with Slack: the keeper posts the card, and the server accepts the callback."""

from __future__ import annotations

from tests.acceptance.running import up
from tests.slack.conftest import TOKEN, Slack, asked, words
from tests.support.roles import as_process
from tests.support.wait import until


def test_real_processes_post_the_card_and_accept_the_decision(engine, dsn, settings, workspace):
    environment = {
        # The owner migrates; each process that has an address of its own uses it.
        "STEPWELL_DATABASE_URL": dsn,
        "STEPWELL_KEEPER_URL": as_process(dsn, "keeper"),
        "STEPWELL_SLACK_URL": as_process(dsn, "slack"),
        "PLANTED_SLACK_TOKEN": TOKEN,
        "STEPWELL_SLACK_TOKEN": settings.token.reference,
        "STEPWELL_SLACK_SIGNING_SECRET": settings.signing_secret.reference,
        "STEPWELL_SLACK_CHANNEL": settings.channel,
        "STEPWELL_SLACK_API_URL": settings.api_url,
    }
    with up("--port", "0", environment=environment) as running, running.wait_ready() as client:
        approval = asked(engine)
        (message,) = until(workspace.messages, what="the card")
        assert Slack(client).press("ben", message, "Approve").status_code == 200
        assert engine.state(approval) == "approved"
        until(lambda: "Approved" in words(workspace.messages()[0]), what="the outcome on the card")
    assert TOKEN not in running.output
    assert "Traceback" not in running.output
