"""The Slack connector: messages are posted, updated and deleted once, and each of these can be reversed."""

from __future__ import annotations

import pytest

from stepwell.connectors.base import Connector, EffectRefused, EffectUnavailable, EffectUnknown, Reversal
from stepwell.connectors.secrets import SecretRef
from stepwell.connectors.slack import SlackConnector
from tests.api.serving import closed_port
from tests.connectors.http_server import HANG, Reply
from tests.connectors.slack_server import Workspace

pytestmark = pytest.mark.requirement("RT-12")

BLOCKS = [{"type": "section", "text": {"type": "mrkdwn", "text": "*Xong*"}}]


@pytest.fixture
def secret(monkeypatch):
    monkeypatch.setenv("PLANTED_TOKEN", "xoxb-canary-7f3a")
    return "xoxb-canary-7f3a"


@pytest.fixture
def workspace(server, secret):
    made = Workspace(secret)
    server.answer = made.answer
    return made


@pytest.fixture
def slack(server, workspace):
    return SlackConnector(
        "slack", secret=SecretRef("env:PLANTED_TOKEN"), api_url=server.url + "/api/", limit_seconds=1
    )


def test_a_message_is_posted_and_deleted(workspace, slack, perform):
    assert isinstance(slack, Connector)
    effect = perform(slack, "post", "C0AAAA", {"text": "Xong", "blocks": BLOCKS})
    (message,) = workspace.messages()
    assert (message["text"], message["blocks"]) == ("Xong", BLOCKS)
    assert effect.external_id == f"C0AAAA/{message['ts']}"
    assert effect.reversal == Reversal("delete", effect.external_id, {})
    perform(slack, effect.reversal.operation, effect.reversal.target)
    assert workspace.messages() == []
    assert perform(slack, "delete", effect.external_id).result["already"] is True
    assert workspace.refusals == [f"message_not_found: {message['ts']}"]


def test_a_reversal_of_an_update_restores_the_prior_message(workspace, slack, perform):
    target = perform(slack, "post", "C0AAAA", {"text": "one", "blocks": BLOCKS}).external_id
    effect = perform(slack, "update", target, {"text": "two"}, key="second")
    assert workspace.messages()[0]["text"] == "two"
    assert "blocks" not in workspace.messages()[0]
    assert effect.prior == {"text": "one", "blocks": BLOCKS}
    perform(slack, "update", target, effect.reversal.fields, key="third")
    assert (workspace.messages()[0]["text"], workspace.messages()[0]["blocks"]) == ("one", BLOCKS)


def test_a_repeated_update_does_not_use_its_own_text_as_the_prior_text(workspace, slack, perform):
    target = perform(slack, "post", "C0AAAA", {"text": "one"}).external_id
    perform(slack, "update", target, {"text": "two"}, key="second")
    again = perform(slack, "update", target, {"text": "two"}, key="second")
    assert (again.result["already"], again.reversal) == (True, None)
    assert [method for method, _ in workspace.calls].count("chat.update") == 1


def test_a_lost_answer_to_a_post_is_settled_by_confirm(workspace, slack, perform, confirm):
    assert confirm(slack, "post", "C0AAAA", {"text": "one"}) is None
    workspace.cuts_after = {"chat.postMessage"}
    with pytest.raises(EffectUnknown):
        perform(slack, "post", "C0AAAA", {"text": "one"})
    assert len(workspace.messages()) == 1, "the client must not repeat the request by itself"
    for number in range(450):
        workspace.post({"channel": "C0AAAA", "text": str(number)})
    found = confirm(slack, "post", "C0AAAA", {"text": "one"})
    assert found.external_id == f"C0AAAA/{workspace.messages()[0]['ts']}"
    for number in range(600):
        workspace.post({"channel": "C0AAAA", "text": str(number)})
    with pytest.raises(EffectUnknown, match="newest 1000"):
        confirm(slack, "post", "C0AAAA", {"text": "one"})


def test_a_message_in_a_thread_is_found_there(workspace, slack, perform, confirm):
    parent = perform(slack, "post", "C0AAAA", {"text": "parent"}, key="parent").result["ts"]
    fields = {"text": "reply", "thread_ts": parent}
    assert confirm(slack, "post", "C0AAAA", fields) is None
    posted = perform(slack, "post", "C0AAAA", fields)
    assert confirm(slack, "post", "C0AAAA", fields).external_id == posted.external_id


def test_updates_and_deletes_are_confirmed(workspace, slack, perform, confirm):
    target = perform(slack, "post", "C0AAAA", {"text": "one"}).external_id
    assert confirm(slack, "update", target, {"text": "two"}, key="second") is None
    perform(slack, "update", target, {"text": "two"}, key="second")
    assert confirm(slack, "update", target, {"text": "two"}, key="second").result["already"] is True
    assert confirm(slack, "delete", target) is None
    perform(slack, "delete", target)
    assert confirm(slack, "delete", target).result == {"deleted": True}
    with pytest.raises(EffectUnknown, match="does not exist any more"):
        confirm(slack, "update", target, {"text": "two"}, key="second")


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(200, {"ok": False, "error": "not_in_channel"}), EffectRefused),
        (Reply(200, {"ok": False, "error": "ratelimited"}), EffectUnavailable),
        (Reply(429, {"ok": False, "error": "ratelimited"}, {"Retry-After": "9"}), EffectUnavailable),
        (Reply(200, {"ok": False, "error": "internal_error"}), EffectUnknown),
        (Reply(500, "oops"), EffectUnknown),
        (Reply(302, "", {"Location": "http://127.0.0.1/elsewhere"}), EffectRefused),
        (Reply(200, "x" * 5_000_000), EffectUnknown),
        (HANG, EffectUnknown),
    ],
    ids=["no", "rate", "429", "internal", "500", "redirect", "large", "hang"],
)
def test_the_answer_decides_between_refused_unavailable_and_unknown(workspace, slack, perform, reply, error):
    workspace.answers["chat.postMessage"] = reply
    with pytest.raises(error) as caught:
        perform(slack, "post", "C0AAAA", {"text": "one"})
    assert len(workspace.calls) == 1
    if reply.headers.get("Retry-After"):
        assert caught.value.retry_after_seconds == 9


def test_an_unreachable_server_is_unavailable(workspace, perform):
    gone = SlackConnector(
        "slack", secret=SecretRef("env:PLANTED_TOKEN"), api_url=f"http://127.0.0.1:{closed_port()}/api/"
    )
    with pytest.raises(EffectUnavailable, match="no connection"):
        perform(gone, "post", "C0AAAA", {"text": "one"})


@pytest.mark.parametrize(
    ("operation", "target", "fields"),
    [
        ("post", "general", {"text": "x"}),
        ("post", "C0AAAA", {}),
        ("post", "C0AAAA", {"text": "x", "channel": "C0BBBB"}),
        ("post", "C0AAAA", {"text": "x", "blocks": [{}] * 51}),
        ("update", "C0AAAA", {"text": "x"}),
        ("delete", "C0AAAA/../x", {}),
        ("fly", "C0AAAA", {}),
    ],
)
def test_an_invalid_action_is_refused(workspace, slack, perform, operation, target, fields):
    with pytest.raises(EffectRefused):
        perform(slack, operation, target, fields)
    assert not workspace.calls


def test_a_wrong_token_is_refused_and_not_shown(workspace, slack, perform):
    workspace.token = "another"
    with pytest.raises(EffectRefused, match="invalid_auth") as caught:
        perform(slack, "post", "C0AAAA", {"text": "one"})
    assert "7f3a" not in str(caught.value)
