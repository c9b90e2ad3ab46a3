"""The HTTP connector: keys, reversals, confirmation, secrets, and the meaning of each answer."""

from __future__ import annotations

import pytest

from stepwell.connectors.base import (
    Connector,
    EffectRefused,
    EffectUnavailable,
    EffectUnknown,
    OperationSpec,
    Reversal,
)
from stepwell.connectors.http import (
    HttpConfirm,
    HttpConnector,
    HttpHeader,
    HttpInverse,
    HttpLimits,
    HttpOperation,
)
from stepwell.connectors.secrets import SecretRef
from stepwell.errors import UsageError
from tests.api.serving import closed_port
from tests.connectors.http_server import CUT, HANG, Reply

pytestmark = pytest.mark.requirement("RT-12")

SHORT = HttpLimits(connect_seconds=5, read_seconds=0.2, total_seconds=30)
TICKETS = {
    "open_ticket": HttpOperation(
        "POST",
        honours_key=True,
        confirm=HttpConfirm("/tickets?key={key}", found="items.0"),
        inverse=HttpInverse("close_ticket", "/tickets/{result.id}", {"reason": "undo {key}"}),
    ),
    "close_ticket": HttpOperation("DELETE"),
    "set": HttpOperation("PATCH", keeps_prior=True),
}


@pytest.fixture
def tickets(server):
    return HttpConnector(
        "tickets", server.url + "/v2", operations=TICKETS, limits=SHORT, keeps_encoded_slash=True
    )


def test_the_http_connector_declares_its_operations(tickets):
    assert isinstance(tickets, Connector)
    assert tickets.operations["open_ticket"] == OperationSpec(True, True, True, True)
    assert tickets.operations["get"] == OperationSpec(False, True, False, False)
    assert tickets.operations["post"] == OperationSpec(True, False, False, False)


def test_a_write_sends_its_key_and_declares_its_reversal(server, tickets, perform):
    server.answer = lambda _: Reply(201, {"id": "a/7", "state": "open"})
    effect = perform(tickets, "open_ticket", "/tickets", {"title": "Bể"})
    (seen,) = server.seen
    assert (seen.method, seen.path, seen.json) == ("POST", "/v2/tickets", {"title": "Bể"})
    assert seen.headers["idempotency-key"] == "run-7:notify:1"
    assert effect.result == {"status": 201, "body": {"id": "a/7", "state": "open"}}
    assert effect.external_id == "a/7"
    assert effect.reversal == Reversal("close_ticket", "/tickets/a%2F7", {"reason": "undo run-7:notify:1"})
    perform(tickets, effect.reversal.operation, effect.reversal.target)
    assert (server.seen[-1].method, server.seen[-1].path) == ("DELETE", "/v2/tickets/a%2F7")


def test_a_reversal_restores_the_prior_values(server, tickets, perform):
    kept = {"name": "old", "size": 3, "other": True}

    def answer(seen):
        if seen.method == "PATCH":
            kept.update(seen.json)
        return Reply(body=dict(kept))

    server.answer = answer
    effect = perform(tickets, "set", "/tickets/7", {"name": "new", "size": 4})
    assert effect.prior == {"name": "old", "size": 3}
    back = effect.reversal
    assert perform(tickets, back.operation, back.target, back.fields).result["body"]["name"] == "old"
    assert kept == {"name": "old", "size": 3, "other": True}


def test_a_repeated_write_does_not_use_its_own_values_as_prior_values(server, tickets, perform):
    server.answer = lambda _: Reply(body={"name": "new"})
    assert perform(tickets, "set", "/tickets/7", {"name": "new"}).reversal is None


def test_an_effect_without_the_value_for_its_reversal_is_not_reversible(server, tickets, perform):
    server.answer = lambda _: Reply(201, {"state": "open"})
    effect = perform(tickets, "open_ticket", "/tickets", {"title": "x"})
    assert effect.reversal is None
    assert effect.result["irreversible"] == "{result.id} has no value"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Reply(400, {"error": "bad"}), EffectRefused),
        (Reply(401), EffectRefused),
        (Reply(404), EffectRefused),
        (Reply(409), EffectRefused),
        (Reply(422, {"error": "title"}), EffectRefused),
        (Reply(501), EffectRefused),
        (Reply(408), EffectUnavailable),
        (Reply(429), EffectUnavailable),
        (Reply(503, headers={"Retry-After": "7"}), EffectUnavailable),
        (Reply(500), EffectUnknown),
        (Reply(502), EffectUnknown),
        (Reply(503), EffectUnknown),
        (Reply(504), EffectUnknown),
        (HANG, EffectUnknown),
        (CUT, EffectUnknown),
    ],
    ids=lambda value: getattr(value, "__name__", str(getattr(value, "status", value))),
)
def test_the_answer_decides_between_refused_unavailable_and_unknown(server, tickets, perform, reply, error):
    server.answer = lambda _: reply
    with pytest.raises(error):
        perform(tickets, "post", "/tickets", {"title": "x"})
    assert len(server.seen) == 1, "the request was sent twice"


@pytest.mark.parametrize("reply", [Reply(500), Reply(503), HANG, CUT], ids=["500", "503", "hang", "cut"])
def test_a_failed_read_can_be_repeated(server, tickets, perform, reply):
    server.answer = lambda _: reply
    with pytest.raises(EffectUnavailable):
        perform(tickets, "get", "/tickets/7")


def test_deleting_a_missing_object_counts_as_deleted(server, tickets, perform):
    server.answer = lambda _: Reply(404, {"error": "no such ticket"})
    assert perform(tickets, "close_ticket", "/tickets/7").result["already"] is True


def test_a_service_that_still_works_on_the_request_means_unknown(server, perform):
    server.answer = lambda _: Reply(409, {"error": "request in progress"})
    operations = {"pay": HttpOperation("POST", honours_key=True, busy_status=409)}
    with pytest.raises(EffectUnknown, match="still handles an earlier request"):
        perform(HttpConnector("bank", server.url, operations=operations), "pay", "/payments", {"amount": 1})


def test_the_time_of_retry_after_is_passed(server, tickets, perform):
    server.answer = lambda _: Reply(429, headers={"Retry-After": "7"})
    with pytest.raises(EffectUnavailable) as caught:
        perform(tickets, "post", "/tickets")
    assert caught.value.retry_after_seconds == 7
    dates = {"Date": "Wed, 21 Oct 2026 07:28:00 GMT", "Retry-After": "Wed, 21 Oct 2026 07:30:00 GMT"}
    server.answer = lambda _: Reply(503, headers=dates)
    with pytest.raises(EffectUnavailable) as caught:
        perform(tickets, "post", "/tickets")
    assert caught.value.retry_after_seconds == 120
    server.answer = lambda _: Reply(503, headers={"Retry-After": "soon"})
    with pytest.raises(EffectUnavailable) as caught:
        perform(tickets, "post", "/tickets")
    assert caught.value.retry_after_seconds is None


def test_an_unreachable_server_is_unavailable(perform):
    connector = HttpConnector("gone", f"http://127.0.0.1:{closed_port()}")
    with pytest.raises(EffectUnavailable, match="no connection"):
        perform(connector, "post", "/x")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (301, EffectRefused), (307, EffectRefused), (308, EffectRefused),
        # Many services answer so after they did what a form asked for.
        (302, EffectUnknown), (303, EffectUnknown),
    ],
)  # fmt: skip
def test_a_redirect_is_not_followed(server, tickets, perform, status: int, error: type[Exception]):
    server.answer = lambda _: Reply(status, headers={"Location": server.url + "/elsewhere"})
    with pytest.raises(error, match="redirects are not followed"):
        perform(tickets, "post", "/tickets")
    with pytest.raises(EffectRefused, match="redirects are not followed"):
        perform(tickets, "get", "/tickets")
    assert [seen.path for seen in server.seen] == ["/v2/tickets"] * 2


def test_a_write_with_an_answer_that_is_too_large_still_counts(server, perform):
    server.answer = lambda _: Reply(200, "x" * 5000)
    connector = HttpConnector("big", server.url, limits=HttpLimits(answer_bytes=1000))
    assert perform(connector, "post", "/x").result == {"status": 200, "body": None, "is_truncated": True}
    with pytest.raises(EffectRefused, match="larger than 1000 bytes"):
        perform(connector, "get", "/x")


def test_confirm_finds_out_whether_the_write_was_done(server, tickets, confirm):
    server.answer = lambda _: Reply(200, {"items": [{"id": 9}]})
    found = confirm(tickets, "open_ticket", "/tickets")
    assert server.seen[0].query == {"key": ["run-7:notify:1"]}
    assert found is not None
    assert found.reversal is not None
    assert found.reversal.target == "/tickets/9"
    server.answer = lambda _: Reply(200, {"items": []})
    assert confirm(tickets, "open_ticket", "/tickets") is None
    server.answer = lambda _: Reply(404)
    assert confirm(tickets, "open_ticket", "/tickets") is None
    server.answer = lambda _: Reply(500)
    with pytest.raises(EffectUnavailable):
        confirm(tickets, "open_ticket", "/tickets")
    with pytest.raises(EffectUnknown, match="cannot be confirmed"):
        confirm(tickets, "post", "/tickets")


@pytest.mark.parametrize(
    "target",
    [
        "//other.example/x",
        "/../x",
        "/a/%2e%2e/x",
        "/a#b",
        "/a b",
        "/a\\b",
        "/ü",
        "/" + "a" * 2001,
        "http://other.example/x",
    ],
)
def test_a_target_outside_the_address_is_refused(server, tickets, perform, target):
    with pytest.raises(EffectRefused, match="target"):
        perform(tickets, "get", target)
    assert not server.seen


def test_secret_headers_are_sent_and_removed_from_the_result(server, perform, secret):
    server.answer = lambda seen: Reply(200, {"echo": seen.headers["authorization"], secret: [secret]})
    connector = HttpConnector(
        "crm",
        server.url,
        headers={"Authorization": HttpHeader(SecretRef("env:PLANTED_TOKEN"), prefix="Bearer ")},
    )
    effect = perform(connector, "post", "/x", {"a": 1})
    assert server.seen[0].headers["authorization"] == f"Bearer {secret}"
    assert effect.result["body"] == {"echo": "Bearer ***", "***": ["***"]}


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host",
        "https://",
        "https://user:pw@host",
        "https://host?x=1",
        "https://host#x",
        "https://host\\x",
        "https://h ost",
        "host",
    ],
)
def test_an_invalid_address_is_refused(url):
    with pytest.raises(UsageError):
        HttpConnector("x", url)


def test_an_unknown_operation_is_refused(tickets, perform):
    with pytest.raises(EffectRefused, match="no operation 'fly'"):
        perform(tickets, "fly", "/x")
