"""A target has one canonical form: policy judges it, the connector sends it, and every other is refused."""

from __future__ import annotations

import asyncio
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.connectors.address import path_below, plain_target, service_address
from stepwell.connectors.base import Action, EffectRefused
from stepwell.connectors.email import EmailConnector
from stepwell.connectors.http import HttpConnector
from stepwell.connectors.model import ModelConnector, ModelPrice
from stepwell.connectors.secrets import SecretRef
from stepwell.connectors.servicenow import ServiceNowConnector
from stepwell.connectors.slack import SlackConnector
from stepwell.errors import UsageError
from tests.connectors.conftest import KEY
from tests.connectors.http_server import Reply
from tests.support.sample import sample

# Pieces of which targets are made that have fooled a comparison of texts before.
PIECES = st.sampled_from([
    "/", "//", "admin", "Admin", "orders", "..", ".", "%2e", "%2F", "%2f", "%5c", "\\", ";", "%3B",
    "%61", "%41", "%c0%ae", "%25", "%2561", "%00", "%0d%0a", "%20", " ", "?", "&", "=", "#", "@", "%40", ":",
    "~", "%7E", "+",
    "%EF%BC%8E", "%E2%80%8B", "%C3%A9", "é", "a.b", "x.", "[", "|", "%zz", "http:", "user@host",
])  # fmt: skip
TARGETS = st.lists(PIECES, max_size=8).map("".join)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("admin/x", "/admin/x"),
        ("/%61dmin/x", "/admin/x"),
        ("/orders/7%7E", "/orders/7~"),
        ("/users/a%40b", "/users/a@b"),
        ("/caf%c3%a9", "/caf%C3%A9"),
        ("/orders?x=%61%2f&y=[1]", "/orders?x=a%2F&y=[1]"),
        ("/orders?", "/orders"),
        ("/orders/", "/orders/"),
        ("/Admin", "/Admin"),
        ("", "/"),
    ],
)
def test_a_target_of_http_has_one_form(written, canonical):
    assert path_below(written) == canonical


@pytest.mark.parametrize(
    "target",
    [
        "/orders/..%2fadmin", "/orders/..;/admin", "/orders/..%3b/admin", "/orders/%2e%2e/admin", "/./admin",
        "/orders/../admin", "//admin", "/a//b", "/a\\b", "/a%5cb", "/a%2Fb", "/admin;x", "/admin.",
        "/admin%3Bx", "/admin%3bx/y", "/%3Bx",
        "/%25%36%31dmin",
        "/admin%20", "/%20admin", "/%2561dmin", "/%c0%ae%c0%ae/x", "/%EF%BC%8E%EF%BC%8E/x", "/%E2%80%8Badmin",
        "/adm%C4%B1n", "/%C5%BFecret", "/%E2%84%AAey", "/ad%C2%ADmin", "/%EF%BC%A1dmin",
        "/a%00", "/a%0d%0ab",
        "/a#b", "/a b", "/é", "/%zz", "/a%", "https://host/x", "//user@host/x", "/" + "a" * 2001,
    ],
)  # fmt: skip
def test_what_servers_read_in_two_ways_is_refused(target):
    with pytest.raises(EffectRefused, match="target"):
        path_below(target)


def test_an_encoded_slash_is_part_of_a_name_where_the_settings_say_so():
    assert path_below("/projects/a%2fb", keeps_encoded_slash=True) == "/projects/a%2Fb"
    with pytest.raises(EffectRefused):
        path_below("/projects/..%2fb", keeps_encoded_slash=True)


@given(TARGETS)
def test_a_canonical_form_is_its_own_canonical_form(target):
    try:
        canonical = path_below(target)
    except EffectRefused:
        return
    assert path_below(canonical) == canonical
    path = canonical.partition("?")[0]
    assert unquote(path) == unquote(path_below(target).partition("?")[0])
    assert not {"..", ".", ""} & set(unquote(path).split("/")[1:-1])


@sample(40)
@given(TARGETS)
def test_what_is_sent_is_what_was_judged(server, target):
    connector = HttpConnector("shop", server.url)
    server.answer = lambda _: Reply(200, {})
    server.seen.clear()
    try:
        judged = connector.canonical("post", target)
    except EffectRefused:
        return
    asyncio.run(connector.perform(Action(1, "shop", "post", judged, {}, KEY)))
    assert [seen.raw for seen in server.seen] == [judged]


def test_a_connector_sends_no_other_form(server):
    connector = HttpConnector("shop", server.url)
    with pytest.raises(EffectRefused, match="not in its canonical form"):
        asyncio.run(connector.perform(Action(1, "shop", "post", "/%61dmin", {}, KEY)))
    assert server.seen == []


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://Shop.Example.com:443/api/", "https://shop.example.com/api"),
        ("http://shop.example.com.:80", "http://shop.example.com"),
        ("https://bücher.example:8443", "https://xn--bcher-kva.example:8443"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
    ],
)
def test_the_address_of_a_service_has_one_form(url, address):
    assert service_address(url, "base_url", "https://host") == address


@pytest.mark.parametrize(
    "url",
    [
        "https://user:pw@host", "https://host\\@other", "https://host%2eother", "https://host/../x",
        "https://host/a/%2e%2e/x", "https://host/a?b", "https://host#f", "ftp://host", "https:///x",
    ],
)  # fmt: skip
def test_an_address_that_can_be_read_in_two_ways_is_refused(url):
    with pytest.raises(UsageError, match="base_url"):
        service_address(url, "base_url", "https://host")


SECRET = SecretRef("env:NOT_READ")
SYS_ID = "0123456789abcdef" * 2
SLACK = SlackConnector("s", secret=SECRET)
NOW = ServiceNowConnector("n", "https://x.example", secret=SECRET)
MODEL = ModelConnector("m", "https://x.example", prices={"small": ModelPrice(1, 1)})
MAIL = EmailConnector("e", "h", sender="a@x.org")


@pytest.mark.parametrize(
    ("connector", "operation", "written", "canonical"),
    [
        (SLACK, "post", "C0123", "C0123"),
        (SLACK, "update", "C0123/17.001", "C0123/17.001"),
        (SLACK, "post", "#general", None),
        (SLACK, "post", "c0123", None),
        (SLACK, "delete", "C0123", None),
        (NOW, "create", "incident", "incident"),
        (NOW, "create", "Incident", None),
        (NOW, "create", "incident/../sys_user", None),
        (NOW, "update", f"incident/{SYS_ID}", f"incident/{SYS_ID}"),
        (NOW, "update", f"incident/{SYS_ID.upper()}", None),
        (MODEL, "chat", "small", "small"),
        (MODEL, "chat", "Small", None),
        (MAIL, "send", " b@X.org,a@x.org,b@x.ORG", "a@x.org, b@x.org"),
        (MAIL, "send", "b@x.org.", None),
    ],
)  # fmt: skip
def test_every_connector_has_one_form_of_a_target(connector, operation, written, canonical):
    if canonical is None:
        with pytest.raises(EffectRefused):
            connector.canonical(operation, written)
        return
    assert connector.canonical(operation, written) == canonical
    assert connector.canonical(operation, canonical) == canonical


def test_a_plain_name_has_no_spaces_around_it_and_no_invisible_letters():
    assert plain_target(" cafe\u0301 ") == "caf\u00e9"
    for name in ("a\u200bb", "a\nb", "\u202ea"):
        with pytest.raises(EffectRefused):
            plain_target(name)
