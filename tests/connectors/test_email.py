"""The mail connector: what is sent, and which answers mean refused, unavailable or unknown."""

from __future__ import annotations

import pytest

from stepwell.connectors.base import Connector, EffectRefused, EffectUnavailable, EffectUnknown
from stepwell.connectors.email import EmailConnector
from stepwell.connectors.secrets import SecretRef
from stepwell.errors import UsageError
from tests.api.serving import closed_port
from tests.connectors.smtp_server import smtp_server

LETTER = {"subject": "Đơn hàng A-1", "text": "Sẵn sàng.\n.dot\n"}


@pytest.fixture
def smtp():
    with smtp_server() as started:
        yield started


@pytest.fixture
def mail(smtp):
    return EmailConnector("mail", "127.0.0.1", port=smtp.port, security="none", sender="flow@example.com")


def test_a_mail_arrives_as_it_was_written(smtp, mail, perform):
    assert isinstance(mail, Connector)
    fields = {**LETTER, "html": "<p>Sẵn sàng</p>", "cc": ["bob@example.com"], "bcc": "eve@example.com"}
    effect = perform(mail, "send", "ada@example.com", fields)
    (letter,) = smtp.mails
    assert (letter["To"], letter["Cc"], letter["Bcc"]) == ("ada@example.com", "bob@example.com", None)
    assert letter["Subject"] == "Đơn hàng A-1"
    assert letter.get_body(("plain",)).get_content().splitlines() == ["Sẵn sàng.", ".dot"]
    assert smtp.recipients == [["ada@example.com", "bob@example.com", "eve@example.com"]]
    assert effect.external_id == letter["Message-ID"]
    assert effect.result["recipient_count"] == 3
    assert (mail.operations["send"].reversible, effect.reversal) == (False, None)


def test_a_line_with_a_single_dot_does_not_end_the_mail(smtp, mail, perform):
    perform(mail, "send", "ada@example.com", {"subject": "Dots", "text": "one\n.\n..two\nthree\n"})
    assert smtp.mails[0].get_content().splitlines() == ["one", ".", "..two", "three"]


def test_the_message_id_of_a_mail_is_computed_from_its_key(smtp, mail, perform):
    first = perform(mail, "send", "ada@example.com", LETTER, key="a")
    again = perform(mail, "send", "ada@example.com", LETTER, key="a")
    other = perform(mail, "send", "ada@example.com", LETTER, key="b")
    assert first.external_id == again.external_id != other.external_id
    assert first.external_id.endswith("@example.com>")


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ({"MAIL": "550 no such sender"}, EffectRefused),
        ({"RCPT": "550 no such user"}, EffectRefused),
        ({"RCPT": "450 busy"}, EffectUnavailable),
        ({"DATA": "451 later"}, EffectUnavailable),
        ({"DATA": "554 no"}, EffectRefused),
        ({"DATA": "CUT"}, EffectUnavailable),
        ({"EHLO": "CUT"}, EffectUnavailable),
        ({"END": "452 full"}, EffectUnavailable),
        ({"END": "554 spam"}, EffectRefused),
    ],
    ids=str,
)
def test_an_error_before_the_end_of_the_message_means_that_nothing_was_sent(
    smtp, mail, perform, answers, error
):
    smtp.answers = answers
    with pytest.raises(error):
        perform(mail, "send", "ada@example.com", LETTER)
    assert smtp.mails == []
    assert smtp.conversations == 1


def test_a_lost_answer_at_the_end_of_the_message_means_unknown(smtp, mail, perform, confirm):
    smtp.answers = {"END": "CUT"}
    with pytest.raises(EffectUnknown, match="the answer was lost"):
        perform(mail, "send", "ada@example.com", LETTER)
    assert len(smtp.mails) == 1
    with pytest.raises(EffectUnknown):
        confirm(mail, "send", "ada@example.com", LETTER)


def test_a_connection_cut_after_the_message_means_that_it_was_sent(smtp, mail, perform):
    smtp.answers = {"QUIT": "CUT"}
    assert perform(mail, "send", "ada@example.com", LETTER).result["answer"] == "queued as 42"


def test_an_unreachable_server_is_unavailable(perform):
    gone = EmailConnector("mail", "127.0.0.1", port=closed_port(), security="none", sender="a@example.com")
    with pytest.raises(EffectUnavailable):
        perform(gone, "send", "ada@example.com", LETTER)


def test_without_the_required_encryption_nothing_is_sent(smtp, perform):
    wants = EmailConnector("mail", "127.0.0.1", port=smtp.port, sender="a@example.com")
    with pytest.raises(EffectRefused, match="STARTTLS"):
        perform(wants, "send", "ada@example.com", LETTER)
    assert smtp.mails == []


def test_the_password_is_sent_and_not_shown_in_errors(smtp, perform, secret, monkeypatch):
    settings = {"port": smtp.port, "security": "none", "sender": "flow@example.com", "user": "flow"}
    known = EmailConnector("mail", "127.0.0.1", secret=SecretRef("env:PLANTED_TOKEN"), **settings)
    smtp.password = secret
    perform(known, "send", "ada@example.com", LETTER)
    assert len(smtp.mails) == 1
    smtp.password = "another"
    with pytest.raises(EffectRefused, match=r"535: no: \*\*\*"):
        perform(known, "send", "ada@example.com", LETTER)


@pytest.mark.parametrize(
    ("target", "fields"),
    [
        ("", LETTER),
        ("ada", LETTER),
        ("ada@example.com\r\nBcc: eve@example.com", LETTER),
        ("ada@example.com", {**LETTER, "subject": "a\r\nBcc: eve@example.com"}),
        ("ada@example.com", {"text": "no subject"}),
        ("ada@example.com", {**LETTER, "cc": 7}),
        ("ada@example.com", {**LETTER, "from": "boss@example.com"}),
        (",".join(f"p{n}@example.com" for n in range(51)), LETTER),
        ("ada@example.com", {**LETTER, "text": "x" * 6_000_000}),
    ],
    ids=range(9),
)
def test_an_invalid_mail_is_refused(smtp, mail, perform, target, fields):
    with pytest.raises(EffectRefused):
        perform(mail, "send", target, fields)
    assert smtp.mails == []


def test_a_password_without_encryption_is_refused(monkeypatch):
    with pytest.raises(UsageError, match="requires an encrypted connection"):
        EmailConnector("mail", "mail.example.com", sender="a@example.com", security="none", user="a",
                       secret=SecretRef("env:X"))  # fmt: skip
    with pytest.raises(UsageError, match="must both be given"):
        EmailConnector("mail", "mail.example.com", sender="a@example.com", user="a")
