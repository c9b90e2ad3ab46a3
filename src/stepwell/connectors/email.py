"""Send mail over SMTP: receives a recipient, a subject and a text, returns the id of the message.

The id is made from the key of the action, so that mail programs recognise a repeat. The SMTP dialogue is done
step by step: before the whole message is sent, a failure means no effect; after it, only the answer shows it.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import smtplib
import ssl
from collections.abc import Callable, Mapping
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from enum import StrEnum
from typing import Any, Final

from stepwell.connectors.base import (
    Action,
    Effect,
    EffectRefused,
    EffectUnavailable,
    EffectUnknown,
    OperationSpec,
    check_canonical,
    no_such_operation,
)
from stepwell.connectors.secrets import Secret, SecretRef, opened_secrets
from stepwell.errors import UsageError

RECIPIENTS_LIMIT: Final = 50
MESSAGE_BYTES_LIMIT: Final = 5 * 1024 * 1024
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
ACCEPTED_FIELDS: Final = frozenset({"subject", "text", "html", "cc", "bcc", "reply_to"})
FIELD_TYPES: Final = {"subject": "string", "text": "string", "html": "string"}
_ADDRESS: Final = re.compile(r"[^\s<>,;:\"@]{1,64}@[A-Za-z0-9.-]{0,254}[A-Za-z0-9]", re.ASCII)


class SmtpSecurity(StrEnum):
    NONE = "none"
    STARTTLS = "starttls"
    TLS = "tls"


class EmailConnector:
    """One SMTP server. Operation `send`: the target is the recipient; it cannot be reversed."""

    def __init__(
        self,
        name: str,
        host: str,
        *,
        sender: str,
        port: int = 587,
        security: SmtpSecurity | str = SmtpSecurity.STARTTLS,
        user: str | None = None,
        secret: SecretRef | None = None,
        step_seconds: float = 30.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`step_seconds` limits each step of the dialogue; `tls` is for a server with its own root."""
        if (user is None) != (secret is None):
            raise UsageError("user and secret must both be given", field="secret")
        if not _ADDRESS.fullmatch(sender):
            raise UsageError("sender is not an address", hint="write name@example.com", field="sender")
        if user is not None and security == SmtpSecurity.NONE and host not in LOOPBACK:
            raise UsageError(
                "a password requires an encrypted connection", hint="use starttls or tls", field="security"
            )
        self._name = name
        self._place = (host, port)
        self._sender = sender
        self._security = SmtpSecurity(security)
        self._user = user
        self._secret = secret
        self._step_seconds = step_seconds
        self._tls = tls

    @property
    def name(self) -> str:
        return self._name

    @property
    def operations(self) -> Mapping[str, OperationSpec]:
        return {
            "send": OperationSpec(
                writes=True, idempotent=False, reversible=False, confirmable=False, fields=FIELD_TYPES
            )
        }

    def canonical(self, operation: str, target: str) -> str:
        """The recipients, each once and in order, their domains in lower case."""
        return ", ".join(_addresses(target, "target"))

    async def perform(self, action: Action) -> Effect:
        check_canonical(self, action)
        message, recipients = self._composed(action)
        with opened_secrets() as opened:
            secret = None if self._secret is None else opened.open(self._secret, user=self._user)
            answer = await asyncio.to_thread(self._send, message, recipients, secret)
            result = {
                "message_id": message["Message-ID"],
                "recipient_count": len(recipients),
                "answer": answer,
            }
            return opened.clean(Effect(result, message["Message-ID"]))

    async def confirm(self, action: Action) -> Effect | None:
        raise EffectUnknown(
            f"{self._name}.{action.operation} cannot be confirmed",
            hint="a mail server cannot tell which messages it accepted",
        )

    def _composed(self, action: Action) -> tuple[EmailMessage, list[str]]:
        if action.operation != "send":
            raise no_such_operation(self._name, action.operation, self.operations)
        given = action.fields
        unknown = sorted(set(given) - ACCEPTED_FIELDS)
        if unknown:
            raise EffectRefused(
                f"{unknown[0]}: not accepted", hint=f"accepted are {', '.join(sorted(ACCEPTED_FIELDS))}"
            )
        to, cc = _addresses(action.target, "target"), _addresses(given.get("cc"), "cc")
        bcc = _addresses(given.get("bcc"), "bcc")
        recipients = list(dict.fromkeys([*to, *cc, *bcc]))
        if not to or len(recipients) > RECIPIENTS_LIMIT:
            raise EffectRefused(
                f"target has {len(recipients)} recipients; accepted: 1 to {RECIPIENTS_LIMIT}", field="target"
            )
        message = EmailMessage(policy=SMTP)
        message["From"] = Address(addr_spec=self._sender)
        message["To"] = ", ".join(to)
        if cc:
            message["Cc"] = ", ".join(cc)
        if reply_to := _addresses(given.get("reply_to"), "reply_to"):
            message["Reply-To"] = ", ".join(reply_to)
        message["Subject"] = _line(given.get("subject"), "subject")
        message["Message-ID"] = self._message_id(action)
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(_text(given.get("text", ""), "text"))
        if "html" in given:
            message.add_alternative(_text(given["html"], "html"), subtype="html")
        return message, recipients

    def _message_id(self, action: Action) -> str:
        digest = hashlib.sha256(f"{action.tenant_id}\0{action.idempotency_key}".encode()).hexdigest()[:40]
        return f"<{digest}@{self._sender.partition('@')[2]}>"

    def _send(self, message: EmailMessage, recipients: list[str], secret: Secret | None) -> str:
        content = re.sub(rb"(?m)^\.", b"..", message.as_bytes())
        if len(content) > MESSAGE_BYTES_LIMIT:
            raise EffectRefused(f"the message is larger than {MESSAGE_BYTES_LIMIT} bytes")
        smtp = self._before_sending(lambda: self._opened(secret))
        try:
            self._before_sending(lambda: self._addressed(smtp, recipients))
            answer = _hand_over(smtp, content)
        except BaseException:
            smtp.close()
            raise
        _say_goodbye(smtp)
        return answer

    def _opened(self, secret: Secret | None) -> smtplib.SMTP:
        host, port = self._place
        tls = self._tls or ssl.create_default_context()
        smtp: smtplib.SMTP
        if self._security is SmtpSecurity.TLS:
            smtp = smtplib.SMTP_SSL(host, port, timeout=self._step_seconds, context=tls)
        else:
            smtp = smtplib.SMTP(host, port, timeout=self._step_seconds)
        try:
            smtp.ehlo_or_helo_if_needed()
            if self._security is SmtpSecurity.STARTTLS:
                smtp.starttls(context=tls)
                smtp.ehlo()
            if self._user is not None and secret is not None:
                smtp.login(self._user, secret.reveal())
        except BaseException:
            smtp.close()
            raise
        return smtp

    def _addressed(self, smtp: smtplib.SMTP, recipients: list[str]) -> None:
        _expect(smtp.mail(self._sender), (250,))
        for recipient in recipients:
            # One refused recipient refuses the whole action: it is not sent to a part of the recipients.
            _expect(smtp.rcpt(recipient), (250, 251))
        _expect(smtp.docmd("DATA"), (354,))

    def _before_sending(self, step: Callable[[], Any]) -> Any:
        """Run a step before the message is sent: a failure here means no effect."""
        try:
            return step()
        except smtplib.SMTPNotSupportedError as error:
            raise EffectRefused(f"the mail server cannot do this: {error}") from None
        except smtplib.SMTPResponseException as error:
            raise _refusal(error.smtp_code, error.smtp_error) from None
        except ssl.SSLCertVerificationError as error:
            raise EffectRefused(
                f"the mail server's certificate is not trusted: {error.verify_message}"
            ) from None
        except (OSError, smtplib.SMTPException) as error:
            # smtplib.SMTPException is an OSError too; both mean that the connection was lost.
            raise EffectUnavailable(f"the mail server cannot be reached: {_reason(error)}") from None


def _hand_over(smtp: smtplib.SMTP, content: bytes) -> str:
    try:
        smtp.send(content + (b"" if content.endswith(b"\r\n") else b"\r\n") + b".\r\n")
        code, said = smtp.getreply()
    except (OSError, smtplib.SMTPException) as error:
        raise EffectUnknown(f"the mail was sent, but the answer was lost: {_reason(error)}") from None
    _expect((code, said), (250,))
    return _said(said)


def _expect(answer: tuple[int, bytes], accepted: tuple[int, ...]) -> None:
    if answer[0] not in accepted:
        raise _refusal(*answer)


def _refusal(code: int, said: bytes | str) -> EffectRefused | EffectUnavailable:
    text = f"the mail server answered {code}: {_said(said)}"
    return EffectUnavailable(text) if 400 <= code < 500 else EffectRefused(text)


def _say_goodbye(smtp: smtplib.SMTP) -> None:
    """Close the session. The mail is already accepted, so errors here do not matter."""
    try:
        smtp.quit()
    except (OSError, smtplib.SMTPException):
        smtp.close()


def _said(text: bytes | str) -> str:
    shown = text.decode(errors="replace") if isinstance(text, bytes) else text
    return " ".join(shown.split())[:500]


def _reason(error: BaseException) -> str:
    return _said(str(error)) or type(error).__name__


def _addresses(given: Any, field: str) -> list[str]:
    if given is None:
        return []
    found = []
    for part in given.split(",") if isinstance(given, str) else given if isinstance(given, list) else [None]:
        address = part.strip() if isinstance(part, str) else ""
        if not _ADDRESS.fullmatch(address):
            raise EffectRefused(
                f"{field} is not an address", hint="write name@example.com, several with commas", field=field
            )
        name, _, domain = address.partition("@")
        found.append(f"{name}@{domain.lower()}")
    return sorted(set(found))


def _line(given: Any, field: str) -> str:
    text = _text(given, field)
    if not text or len(text) > 500 or any(ord(letter) < 32 for letter in text):
        raise EffectRefused(
            f"{field} is not accepted; accepted: one line of 1 to 500 characters", field=field
        )
    return text


def _text(given: Any, field: str) -> str:
    if not isinstance(given, str):
        raise EffectRefused(f"{field} is not a text", field=field)
    if len(given) > MESSAGE_BYTES_LIMIT:
        raise EffectRefused(f"{field} is longer than {MESSAGE_BYTES_LIMIT} characters", field=field)
    return given
