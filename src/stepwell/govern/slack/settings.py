"""Read the settings for Slack: receives the environment, returns settings with references to secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from stepwell.connectors.secrets import SecretRef
from stepwell.connectors.slack_api import API_URL
from stepwell.errors import UsageError

_CHANNEL = re.compile(r"[A-Z][A-Z0-9]{1,30}")


@dataclass(frozen=True, slots=True)
class SlackSettings:
    """One workspace is for one tenant. Without a signing secret the cards have no buttons."""

    token: SecretRef
    channel: str
    signing_secret: SecretRef | None = None
    tenant: str = "default"
    api_url: str = API_URL
    limit_seconds: float = 10.0


def load(environ: Mapping[str, str] | None = None) -> SlackSettings | None:
    """The settings; None if neither a token nor a channel is set."""
    env = os.environ if environ is None else environ
    token, channel = env.get("STEPWELL_SLACK_TOKEN"), env.get("STEPWELL_SLACK_CHANNEL")
    if not token and not channel:
        return None
    if not token or not channel:
        raise UsageError(
            "STEPWELL_SLACK_TOKEN and STEPWELL_SLACK_CHANNEL must both be set",
            hint="write STEPWELL_SLACK_TOKEN=env:NAME and STEPWELL_SLACK_CHANNEL=C0123456789",
            field="STEPWELL_SLACK_TOKEN" if not token else "STEPWELL_SLACK_CHANNEL",
        )
    if not _CHANNEL.fullmatch(channel):
        raise UsageError(
            f"STEPWELL_SLACK_CHANNEL is {channel[:50]!r}",
            hint="accepted is the id of a channel, such as C0123456789, not its name",
            field="STEPWELL_SLACK_CHANNEL",
        )
    signing = env.get("STEPWELL_SLACK_SIGNING_SECRET") or None
    return SlackSettings(
        token=_reference(token, "STEPWELL_SLACK_TOKEN"),
        channel=channel,
        signing_secret=None if signing is None else _reference(signing, "STEPWELL_SLACK_SIGNING_SECRET"),
        tenant=env.get("STEPWELL_SLACK_TENANT") or "default",
        api_url=_url(env.get("STEPWELL_SLACK_API_URL") or API_URL),
    )


def _reference(text: str, name: str) -> SecretRef:
    try:
        return SecretRef(text)
    except UsageError as error:
        # The message does not contain the value: it may be the secret itself.
        raise UsageError(f"{name} is not a reference", hint=error.hint, field=name) from None


def _url(text: str) -> str:
    parts = urlsplit(text)
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if not parts.hostname or parts.scheme not in (("https", "http") if is_local else ("https",)):
        raise UsageError(
            "STEPWELL_SLACK_API_URL is not accepted",
            hint=f"write an https address, such as {API_URL}",
            field="STEPWELL_SLACK_API_URL",
        )
    return text if text.endswith("/") else f"{text}/"
