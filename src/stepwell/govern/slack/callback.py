"""Handle the buttons in Slack: receives a signed callback, decides the approval as the mapped person.

`fn_approval_decide` makes the decision, as everywhere. If it refuses, only the person who pressed the button
sees the reason.
"""

from __future__ import annotations

import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qs

from slack_sdk.signature import SignatureVerifier

from stepwell.client import Client
from stepwell.connectors.secrets import opened_secrets
from stepwell.connectors.slack_api import SlackApi
from stepwell.errors import DatabaseFailure, InvalidInput, PermissionDenied, StepwellError
from stepwell.govern.slack import card
from stepwell.govern.slack.settings import SlackSettings
from stepwell.store.calls import slack

HEADER_LENGTH_LIMIT: Final = 200

_log = logging.getLogger(__name__)

Later = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Answered:
    """The response, and a call to Slack that follows later, because Slack waits only three seconds."""

    body: dict[str, Any] | None = None
    later: Later | None = None


@dataclass(frozen=True, slots=True)
class Press:
    """A pressed button, or the submitted dialog of a button."""

    tenant_id: int
    approval_id: int
    shown_digest: str
    decision: str
    slack_user_id: str
    channel: str
    reason: str | None = None
    trigger_id: str | None = None


class SlackCallback:
    """Has the settings and no other state."""

    def __init__(self, given: SlackSettings) -> None:
        self._settings = given
        self._api = SlackApi(api_url=given.api_url, limit_seconds=given.limit_seconds)

    def check_signature(self, body: bytes, timestamp: str, signature: str) -> int:
        """Return the time of the signature. Raises PermissionDenied if Slack did not sign the callback."""
        if self._settings.signing_secret is None:
            raise PermissionDenied(
                "callbacks of Slack are not enabled", hint="set STEPWELL_SLACK_SIGNING_SECRET"
            )
        if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
            raise PermissionDenied("the callback has no time", field="header.X-Slack-Request-Timestamp")
        with opened_secrets() as opened:
            verifier = SignatureVerifier(opened.open(self._settings.signing_secret).reveal())
            try:
                expected = verifier.generate_signature(timestamp=timestamp, body=body) or ""
            except UnicodeDecodeError:
                expected = ""
        is_right = expected and len(signature) <= HEADER_LENGTH_LIMIT
        if not is_right or not hmac.compare_digest(expected.encode(), signature.encode()):
            raise PermissionDenied("the signature is wrong", field="header.X-Slack-Signature")
        return int(timestamp)

    async def take(self, client: Client, body: bytes, signature: str, sent_epoch: int) -> Answered:
        """Refuse a repeated or old callback, then handle the button or dialog. Check the signature before."""
        await client.perform(slack.accept_callback(client.tenant_id, signature, sent_epoch))
        payload = _payload(body)
        match payload.get("type"):
            case "block_actions":
                return await self._pressed(client, payload)
            case "view_submission":
                return await self._sent(client, payload)
        return Answered()

    async def _pressed(self, client: Client, payload: Mapping[str, Any]) -> Answered:
        press = _button(payload)
        if press is None:
            return Answered()
        try:
            await self._check_person(client, press)
            if press.decision == "reject":
                return Answered(later=partial(self._ask_why, press))
            await self._decide(client, press)
        except StepwellError as error:
            return Answered(later=partial(self._tell, press, _refusal(error)))
        return Answered()

    async def _sent(self, client: Client, payload: Mapping[str, Any]) -> Answered:
        press = _dialog(payload)
        if press is None:
            return Answered()
        try:
            await self._check_person(client, press)
            await self._decide(client, press)
        except StepwellError as error:
            return Answered({"response_action": "errors", "errors": {card.REASON: _refusal(error)}})
        return Answered()

    async def _check_person(self, client: Client, press: Press) -> None:
        if press.tenant_id != client.tenant_id:
            raise PermissionDenied("this approval belongs to another tenant")
        found = await client.perform(slack.user(client.tenant_id, press.slack_user_id))
        if found is None:
            raise PermissionDenied(
                "your Slack account belongs to no person",
                hint=f"an operator can assign it with: stepwell slack map PERSON {press.slack_user_id}",
            )
        if not found.is_active:
            raise PermissionDenied(f"{found.person_name} is not active any more")

    async def _decide(self, client: Client, press: Press) -> None:
        decision = slack.decide(
            client.tenant_id,
            press.slack_user_id,
            press.approval_id,
            press.decision,
            press.shown_digest,
            press.reason,
        )
        await client.perform(decision)

    async def _ask_why(self, press: Press) -> None:
        await self._say(
            "views.open",
            trigger_id=press.trigger_id,
            view=card.reason_dialog(press.tenant_id, press.approval_id, press.shown_digest, press.channel),
        )

    async def _tell(self, press: Press, text: str) -> None:
        """Send a message that only the person who pressed the button sees."""
        await self._say("chat.postEphemeral", channel=press.channel, user=press.slack_user_id, text=text)

    async def _say(self, method: str, **arguments: Any) -> None:
        try:
            with opened_secrets() as opened:
                await self._api.call(opened.open(self._settings.token), method, **arguments)
        except StepwellError as error:
            # The decision is already made or refused, even if Slack cannot show it.
            _log.warning("an answer did not reach Slack: %s", error.sentence())


def _refusal(error: StepwellError) -> str:
    """A sentence for the person. A database failure is raised again; then Slack itself shows an error."""
    if isinstance(error, DatabaseFailure):
        raise error
    text = error.sentence()
    return text[:1].upper() + text[1:]


def _payload(body: bytes) -> dict[str, Any]:
    try:
        texts = parse_qs(body.decode(), max_num_fields=20).get("payload", [])
        found = json.loads(texts[0]) if texts else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput("payload is not accepted; accepted: a form with a JSON object", field="payload")
    return found


def _button(payload: Mapping[str, Any]) -> Press | None:
    actions = payload.get("actions")
    pressed = actions[0] if isinstance(actions, list) and actions else None
    decisions = {card.APPROVE: "approve", card.REJECT: "reject"}
    if not isinstance(pressed, dict) or pressed.get("action_id") not in decisions:
        return None
    # A message of an earlier release has no digest; then the database refuses it with the reason.
    tenant_id, approval_id, shown_digest, *_ = (*str(pressed.get("value", "")).split(":"), "", "")
    return Press(
        _number(tenant_id),
        _number(approval_id),
        shown_digest,
        decisions[pressed["action_id"]],
        _id(payload, "user"),
        _id(payload, "channel"),
        trigger_id=str(payload.get("trigger_id", "")),
    )


def _dialog(payload: Mapping[str, Any]) -> Press | None:
    view = payload.get("view")
    if not isinstance(view, dict) or view.get("callback_id") != card.REJECT:
        return None
    try:
        place = json.loads(view.get("private_metadata") or "")
        reason = view["state"]["values"][card.REASON][card.REASON]["value"]
        channel = place["channel"]
        numbers = str(place["tenant_id"]), str(place["approval_id"])
        shown_digest = str(place["shown_digest"])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput("payload.view is not our dialog", field="payload.view") from error
    text = reason.strip()[: card.REASON_LENGTH_LIMIT] if isinstance(reason, str) else None
    return Press(
        _number(numbers[0]), _number(numbers[1]), shown_digest, "reject", _id(payload, "user"), str(channel),
        text or None,
    )  # fmt: skip


def _id(payload: Mapping[str, Any], name: str) -> str:
    found = payload.get(name)
    text = found.get("id") if isinstance(found, dict) else None
    if not isinstance(text, str) or not 1 <= len(text) <= 40:
        raise InvalidInput(f"payload.{name}: an object with an id is required", field=f"payload.{name}")
    return text


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise InvalidInput("payload.actions is not our button", field="payload.actions")
    return int(text)
