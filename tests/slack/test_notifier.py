"""Each approval gets one card that follows it to its end, also if an answer of Slack is lost."""

from __future__ import annotations

import threading

import pytest

from stepwell.govern.slack.notifier import SlackNotifier, notifying
from tests.connectors.http_server import Reply
from tests.slack.conftest import asked, words
from tests.support.deciding import deciding
from tests.support.roles import as_process
from tests.support.wait import until


def test_the_card_of_an_approval_shows_what_a_person_needs_to_decide(engine, workspace, notifier):
    asked(engine, reason="<!channel> the amount is *wrong* & late", quorum=2)
    assert notifier.run_once() == 1
    (message,) = workspace.messages()
    shown = words(message)
    for text in ("Approval needed", "*ada* asks to *reopen* *sign-off* of order.check, run", "low", "0 of 2"):
        assert text in shown
    assert "&lt;!channel&gt; the amount is *wrong* &amp; late" in shown
    assert [one["text"]["text"] for one in message["blocks"][-1]["elements"]] == ["Approve", "Reject…"]
    assert message["text"].startswith("⏳ Approval needed: *ada* asks")
    assert workspace.refusals == []
    assert notifier.run_once() == 0
    assert len(workspace.messages()) == 1


def test_the_card_shows_a_decision_that_was_made_outside_slack(engine, workspace, notifier):
    approval = asked(engine, quorum=2)
    notifier.run_once()
    engine.one(deciding("approve", "ben", "fine"), (approval,))
    notifier.run_once()
    (message,) = workspace.messages()
    assert "1 of 2" in words(message)
    assert "*ben* approved: fine" in words(message)
    assert message["blocks"][-1]["type"] == "actions"
    engine.one(deciding("reject", "cleo", "too late"), (approval,))
    notifier.run_once()
    (message,) = workspace.messages()
    assert "Rejected" in words(message)
    assert "*cleo* rejected: too late" in words(message)
    assert "actions" not in [block["type"] for block in message["blocks"]]
    assert notifier.run_once() == 0
    assert engine.one("select is_final from slack_card") is True


@pytest.mark.parametrize(("end", "head"), [("expired", "Expired"), ("cancelled", "Withdrawn")])
def test_the_card_shows_an_expiry_or_withdrawal(engine, workspace, notifier, clock, end, head):
    approval = asked(engine, expires_seconds=60)
    notifier.run_once()
    if end == "expired":
        clock.advance(seconds=61)
        engine.timers()
    else:
        engine.one("select fn_approval_withdraw(1, %s, 'ada')", (approval,))
    assert notifier.run_once() == 1
    (message,) = workspace.messages()
    assert head in words(message)
    assert "actions" not in [block["type"] for block in message["blocks"]]


def test_a_card_whose_answer_was_lost_is_not_posted_twice(engine, workspace, notifier, clock):
    asked(engine)
    workspace.cuts_after = {"chat.postMessage"}
    assert notifier.run_once() == 0
    assert "answer was lost" in engine.one("select last_error from slack_card")
    clock.advance(seconds=10)
    assert notifier.run_once() == 1
    assert len(workspace.messages()) == 1
    assert engine.one("select message_ts from slack_card") == workspace.messages()[0]["ts"]


def test_a_card_of_a_notifier_that_died_is_not_posted_twice(engine, workspace, notifier, clock):
    approval = asked(engine)
    notifier.run_once()
    # Stands for a notifier that died after the post and before it stored the message.
    engine.db.execute("update slack_card set message_ts = null, face = null, try_count = 1")
    engine.one(deciding("approve", "ben"), (approval,))
    assert notifier.run_once() == 1
    (message,) = workspace.messages()
    assert "Approved" in words(message)


def test_if_slack_cannot_be_searched_a_card_is_posted_again(engine, workspace, notifier, clock):
    asked(engine)
    workspace.cuts_after = {"chat.postMessage"}
    notifier.run_once()
    workspace.answers["conversations.history"] = Reply(200, {"ok": False, "error": "missing_scope"})
    clock.advance(seconds=10)
    assert notifier.run_once() == 1
    assert len(workspace.messages()) == 2


def test_an_approval_decided_while_slack_was_unavailable_is_not_posted(engine, workspace, notifier, clock):
    approval = asked(engine)
    workspace.answers["chat.postMessage"] = Reply(
        429, {"ok": False, "error": "ratelimited"}, {"Retry-After": "30"}
    )
    assert notifier.run_once() == 0
    assert engine.one("select extract(epoch from next_try_at - noted_at)::int from slack_card") == 31
    engine.one(deciding("approve", "ben"), (approval,))
    workspace.answers.clear()
    clock.advance(seconds=60)
    notifier.run_once()
    assert workspace.messages() == []
    assert engine.one("select is_final from slack_card") is True


def test_an_error_for_a_wrong_channel_is_stored_and_tried_again(engine, workspace, notifier, clock, caplog):
    asked(engine)
    workspace.channels = {"C0BBBB": {}}
    assert notifier.run_once() == 0
    assert "channel_not_found: check the channel's id" in engine.one("select last_error from slack_card")
    assert "is not shown in Slack" in caplog.text
    workspace.channels = {"C0AAAA": {}}
    clock.advance(seconds=10)
    assert notifier.run_once() == 1


def test_a_deleted_card_is_not_updated_any_more(engine, workspace, notifier, clock):
    approval = asked(engine)
    notifier.run_once()
    workspace.channels["C0AAAA"].clear()
    engine.one(deciding("approve", "ben"), (approval,))
    notifier.run_once()
    clock.advance(seconds=3600)
    assert notifier.run_once() == 0
    assert engine.one("select is_final from slack_card") is True


def test_two_notifiers_post_one_card(engine, workspace, settings, dsn):
    for _ in range(5):
        asked(engine)
    gate = threading.Barrier(2)
    counts = []

    def look() -> None:
        gate.wait(10)
        counts.append(SlackNotifier(as_process(dsn, "slack"), settings).run_once())

    both = [threading.Thread(target=look) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join(60)
    assert sum(counts) == 5
    assert len(workspace.messages()) == 5


def test_without_a_signing_secret_a_card_has_no_buttons(engine, workspace, settings, dsn):
    from dataclasses import replace

    asked(engine)
    SlackNotifier(as_process(dsn, "slack"), replace(settings, signing_secret=None)).run_once()
    assert "actions" not in [block["type"] for block in workspace.messages()[0]["blocks"]]


def test_the_notifier_thread_posts_and_stops(engine, workspace, settings, dsn, monkeypatch):
    for name, value in (
        ("STEPWELL_SLACK_TOKEN", settings.token.reference),
        ("STEPWELL_SLACK_CHANNEL", settings.channel),
        ("STEPWELL_SLACK_API_URL", settings.api_url),
    ):
        monkeypatch.setenv(name, value)
    with notifying(as_process(dsn, "slack")):
        asked(engine)
        until(workspace.messages)
    assert "slack-notifier" not in [thread.name for thread in threading.enumerate()]


def test_without_settings_for_slack_no_notifier_runs(dsn, monkeypatch):
    monkeypatch.delenv("STEPWELL_SLACK_TOKEN", raising=False)
    monkeypatch.delenv("STEPWELL_SLACK_CHANNEL", raising=False)
    with notifying(dsn) as notifier:
        assert notifier is None
