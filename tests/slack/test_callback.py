"""A press of a button in Slack counts once, for the mapped person, and only with a valid signature."""

from __future__ import annotations

import time

import httpx
import pytest

from stepwell.api.app import create_app
from tests.api.serving import serving
from tests.connectors.http_server import Reply
from tests.slack.conftest import USERS, asked, words
from tests.support.deciding import deciding
from tests.support.roles import as_process, process_settings
from tests.support.wait import until


@pytest.fixture
def card(engine, workspace, notifier):
    """An approval that ada requested, and its message."""
    approval = asked(engine)
    notifier.run_once()
    return approval, workspace.messages()[0]


@pytest.mark.requirement("RT-07")
def test_the_approve_button_approves(engine, slack, workspace, notifier, card):
    approval, message = card
    answer = slack.press("ben", message, "Approve")
    assert (answer.status_code, answer.content) == (200, b"")
    assert engine.state(approval) == "approved"
    assert engine.events(approval) == ["approval.requested", "approval.vote_recorded", "approval.approved"]
    assert workspace.ephemerals == []
    notifier.run_once()
    assert "Approved" in words(workspace.messages()[0])
    assert "*ben* approved" in words(workspace.messages()[0])
    assert engine.faults() == {}


@pytest.mark.requirement("RT-07")
def test_the_reject_button_asks_for_a_reason_and_then_rejects(engine, slack, workspace, notifier, card):
    approval, message = card
    assert slack.press("ben", message, "Reject").status_code == 200
    (view,) = until(lambda: workspace.views)
    assert engine.state(approval) == "requested", "it was decided before the reason was given"
    answer = slack.submit("ben", view, " the amount is wrong ")
    assert (answer.status_code, answer.content) == (200, b"")
    assert engine.state(approval) == "rejected"
    assert engine.one("select reason from approval_vote") == "the amount is wrong"
    notifier.run_once()
    assert "*ben* rejected: the amount is wrong" in words(workspace.messages()[0])


@pytest.mark.requirement("RT-07")
def test_a_button_decides_only_what_its_message_shows(engine, slack, workspace, notifier, card):
    approval, message = card
    engine.db.execute("update approval_detail set reason = 'something else'")
    slack.press("ben", message, "Approve")
    assert "is not what was shown" in ephemeral(workspace)["text"]
    slack.press("ben", message, "Reject")
    (view,) = until(lambda: workspace.views)
    refused = slack.submit("ben", view, "no").json()
    assert "is not what was shown" in refused["errors"]["reason"]
    assert engine.state(approval) == "requested"
    notifier.run_once()
    slack.press("ben", workspace.messages()[0], "Approve")
    assert engine.state(approval) == "approved", "the message was drawn again, with what is there now"


def ephemeral(workspace) -> dict:
    (said,) = until(lambda: workspace.ephemerals)
    return said


def test_the_requester_cannot_decide_in_slack(engine, slack, workspace, card):
    approval, message = card
    assert slack.press("ada", message, "Approve").status_code == 200
    said = ephemeral(workspace)
    assert (said["user"], said["channel"]) == (USERS["ada"], "C0AAAA")
    assert said["text"] == "The requester of an approval cannot decide it."
    assert engine.state(approval) == "requested"


def test_an_unknown_account_gets_a_message_that_says_how_to_map_it(engine, slack, workspace, card):
    approval, message = card
    slack.press("U0STRANGER", message, "Approve")
    assert "stepwell slack map PERSON U0STRANGER" in ephemeral(workspace)["text"]
    assert engine.state(approval) == "requested"


def test_an_inactive_person_cannot_decide(engine, slack, workspace, card):
    approval, message = card
    engine.one("select fn_person_set(1, 'ben', p_is_active => false)")
    slack.press("ben", message, "Approve")
    assert ephemeral(workspace)["text"] == "Ben is not active any more."
    assert engine.state(approval) == "requested"


def test_an_approval_that_is_decided_cannot_be_decided_again(engine, slack, workspace, card):
    approval, message = card
    engine.one(deciding("reject", "ben", "no"), (approval,))
    slack.press("cleo", message, "Approve")
    assert "has been decided or has expired" in ephemeral(workspace)["text"]
    assert engine.state(approval) == "rejected"


def test_a_refusal_in_the_dialog_is_shown_in_the_dialog(engine, slack, workspace, card):
    approval, message = card
    slack.press("ben", message, "Reject")
    (view,) = until(lambda: workspace.views)
    engine.one(deciding("approve", "cleo"), (approval,))
    answer = slack.submit("ben", view, "too late")
    assert answer.json()["response_action"] == "errors"
    assert "has been decided or has expired" in answer.json()["errors"]["reason"]


def test_a_quorum_of_two_needs_two_persons_in_slack(engine, slack, workspace, notifier):
    approval = asked(engine, quorum=2)
    notifier.run_once()
    (message,) = workspace.messages()
    now = int(time.time())
    for second in (0, 1):
        slack.press("ben", message, "Approve", at=now - second)
    assert engine.state(approval) == "requested"
    slack.press("cleo", message, "Approve")
    assert engine.state(approval) == "approved"


def test_pressing_a_button_twice_counts_once(engine, slack, workspace, card):
    approval, message = card
    now = int(time.time())
    assert slack.press("ben", message, "Approve", at=now).status_code == 200
    assert slack.press("ben", message, "Approve", at=now - 1).status_code == 200
    assert engine.events(approval).count("approval.vote_recorded") == 1
    assert workspace.ephemerals == []


def test_a_replayed_callback_is_refused(engine, slack, workspace, notifier, card):
    _, message = card
    now = int(time.time())
    assert slack.press("ben", message, "Approve", at=now).status_code == 200
    again = slack.press("ben", message, "Approve", at=now)
    assert again.status_code == 409
    assert again.json()["detail"] == "the callback was accepted before"


UNSIGNED = [
    ({"secret": "another-secret"}, 401),
    ({"X_Slack_Signature": ""}, 401),
    ({"X_Slack_Signature": "v0=" + "0" * 64}, 401),
    ({"X_Slack_Signature": "é" * 10}, 401),
    ({"X_Slack_Request_Timestamp": "soon"}, 401),
    ({"X_Slack_Request_Timestamp": ""}, 401),
    ({"X_Slack_Request_Timestamp": "1700000000"}, 401),
    ({"at": int(time.time()) - 3600}, 403),
    ({"at": int(time.time()) + 3600}, 403),
]


@pytest.mark.requirement("RT-07")
def test_a_callback_without_a_valid_signature_and_time_changes_nothing(engine, slack, workspace, card):
    approval, message = card
    for how, status in UNSIGNED:
        sent = {name: value.encode() if isinstance(value, str) and not value.isascii() else value
                for name, value in how.items()}  # fmt: skip
        answer = slack.press("ben", message, "Approve", **sent)
        assert answer.status_code == status, how
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert engine.state(approval) == "requested"
    assert workspace.ephemerals == []


NOT_OURS = [
    ("not json", 422),
    ("[]", 422),
    ("[" * 100_000, 422),
    ({"type": "shortcut"}, 200),
    ({"type": "block_actions"}, 200),
    ({"type": "block_actions", "actions": [{"action_id": "of_another_app"}]}, 200),
    ({"type": "block_actions", "actions": [{"action_id": "stepwell_approve", "value": "x:y"}]}, 422),
    (
        {
            "type": "block_actions",
            "actions": [{"action_id": "stepwell_approve", "value": "1:9"}],
            "user": 7,
        },
        422,
    ),
    ({"type": "view_submission", "view": {"callback_id": "other"}}, 200),
    ({"type": "view_submission", "view": {"callback_id": "stepwell_reject"}}, 422),
]


def test_a_callback_that_is_not_ours_is_ignored_or_refused(engine, slack):
    for payload, status in NOT_OURS:
        assert slack.send(payload).status_code == status, str(payload)[:200]


def test_a_body_that_is_no_form_is_refused(engine, slack):
    assert slack.send_raw(b"\xff\xfe").status_code == 401
    assert slack.send_raw(b"{}").status_code == 422


def test_an_approval_of_another_tenant_is_not_changed(engine, slack, workspace, card):
    _, message = card
    for block in message["blocks"]:
        for button in block.get("elements", []):
            if "value" in button:
                button["value"] = button["value"].replace("1:", "2:", 1)
    slack.press("ben", message, "Approve")
    assert ephemeral(workspace)["text"] == "This approval belongs to another tenant."


def test_a_decision_counts_although_slack_fails_to_show_a_message(engine, slack, workspace, card, caplog):
    approval, message = card
    workspace.answers["chat.postEphemeral"] = Reply(500, "")
    assert slack.press("ada", message, "Approve").status_code == 200
    until(lambda: "did not reach Slack" in caplog.text)
    assert engine.state(approval) == "requested"
    assert slack.press("ben", message, "Approve").status_code == 200
    assert engine.state(approval) == "approved"


def test_without_settings_for_slack_the_callback_is_not_found(dsn, tmp_path):
    with serving(create_app(process_settings(dsn, tmp_path), as_process(dsn, "api"))) as client:
        answer: httpx.Response = client.post("/api/v1/slack/callback", content=b"payload={}")
    assert answer.status_code == 404
    assert answer.json()["detail"] == "Slack is not set up on this server"
