"""Neither the token nor the signing secret of Slack is stored or shown anywhere."""

from __future__ import annotations

import json
import logging

import psycopg
import pytest

from tests.connectors.http_server import Reply
from tests.slack.conftest import SIGNING, TOKEN, asked
from tests.support.wait import until


def everything_in(db: psycopg.Connection) -> str:
    """Every row of every table."""
    tables = db.execute(
        "select c.oid::regclass::text from pg_class as c"
        " where c.relnamespace = 'stepwell'::regnamespace and c.relkind in ('r', 'm')"
    ).fetchall()
    rows = [db.execute(f"select t::text from {name} as t").fetchall() for (name,) in tables]
    return str(rows)


@pytest.mark.parametrize("trouble", [None, "echo", "500"])
def test_the_secrets_of_slack_are_not_stored_logged_or_sent(
    engine, workspace, notifier, slack, db, clock, caplog, capfd, trouble
):
    with caplog.at_level(logging.DEBUG):
        if trouble == "echo":
            workspace.answers["chat.postMessage"] = Reply(200, {"ok": False, "error": f"bad token {TOKEN}"})
        elif trouble == "500":
            workspace.answers["chat.postMessage"] = Reply(500, f"Bearer {TOKEN}", {"X-Echo": TOKEN})
        approval = asked(engine)
        notifier.run_once()
        workspace.answers.clear()
        clock.advance(seconds=60)
        notifier.run_once()
        (message,) = workspace.messages()
        clock.reset()
        answers = [
            slack.press("ada", message, "Approve"),
            slack.press("ben", message, "Approve", secret="wrong-one"),
        ]
        until(lambda: workspace.ephemerals)
        answers.append(slack.press("ben", message, "Approve"))
        notifier.run_once()
    assert engine.state(approval) == "approved"
    said = " ".join(answer.text + str(answer.headers) for answer in answers)
    kept = everything_in(db)
    shown = json.dumps([workspace.messages(), workspace.ephemerals, workspace.views])
    printed = "".join(capfd.readouterr())
    for place, text in {
        "answer": said, "database": kept, "message": shown, "log": caplog.text, "output": printed,
    }.items():  # fmt: skip
        assert TOKEN not in text, place
        assert SIGNING not in text, place
