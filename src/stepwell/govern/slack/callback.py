"""Take what people press in Slack: receives a signed callback, decides the approval as the mapped person.

There is no second way to decide: the word goes to `fn_approval_decide`, and what that refuses is told to
whoever pressed, and to nobody else.
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
from stepwell.store.calls import people, slack

HEADER_LENGTH_LIMIT: Final = 200

_log = logging.getLogger(__name__)

Later = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Answered:
    """What goes back at once, and what is said to Slack afterwards: it waits three seconds and no longer."""

    body: dict[str, Any] | None = None
    later: Later | None = None


@dataclass(frozen=True, slots=True)
class Press:
    """Somebody pressed a button, or sent the dialog of one."""

    tenant_id: int
    approval_id: int
    decision: str
    slack_user_id: str
    channel: str
    reason: str | None = None
    trigger_id: str | None = None


class SlackCallback:
    """Bound to one set of settings; holds no state."""

    def __init__(self, given: SlackSettings) -> None:
        self._settings = given
        self._api = SlackApi(api_url=given.api_url, limit_seconds=given.limit_seconds)

    def check_signature(self, body: bytes, timestamp: str, signature: str) -> int:
        """The time it was signed at. Raises PermissionDenied for anything Slack did not sign."""
        if self._settings.signing_secret is None:
            raise PermissionDenied(
                "callbacks of Slack are not accepted here", hint="set STEPWELL_SLACK_SIGNING_SECRET"
            )
        if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
            raise PermissionDenied("the callback carries no time", field="header.X-Slack-Request-Timestamp")
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
        """After the signature: once and fresh, then what was pressed."""
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
            person = await self._person(client, press)
            if press.decision == "reject":
                return Answered(later=partial(self._ask_why, press))
            await self._decide(client, press, person)
        except StepwellError as error:
            return Answered(later=partial(self._tell, press, _refusal(error)))
        return Answered()

    async def _sent(self, client: Client, payload: Mapping[str, Any]) -> Answered:
        press = _dialog(payload)
        if press is None:
            return Answered()
        try:
            await self._decide(client, press, await self._person(client, press))
        except StepwellError as error:
            return Answered({"response_action": "errors", "errors": {card.REASON: _refusal(error)}})
        return Answered()

    async def _person(self, client: Client, press: Press) -> str:
        if press.tenant_id != client.tenant_id:
            raise PermissionDenied("this approval belongs to somebody else")
        found = await client.perform(slack.user(client.tenant_id, press.slack_user_id))
        if found is None:
            raise PermissionDenied(
                "nobody here knows who you are",
                hint=f"somebody with access can say so with: stepwell slack map PERSON {press.slack_user_id}",
            )
        if not found.is_active:
            raise PermissionDenied(f"{found.person_name} does not take part any longer")
        return found.person_name

    async def _decide(self, client: Client, press: Press, person: str) -> None:
        await client.perform(
            people.decide_approval(
                client.tenant_id, press.approval_id, press.decision, f"slack:{person}", press.reason
            )
        )

    async def _ask_why(self, press: Press) -> None:
        await self._say(
            "views.open",
            trigger_id=press.trigger_id,
            view=card.reason_dialog(press.tenant_id, press.approval_id, press.channel),
        )

    async def _tell(self, press: Press, text: str) -> None:
        """Seen by whoever pressed, and by nobody else."""
        await self._say("chat.postEphemeral", channel=press.channel, user=press.slack_user_id, text=text)

    async def _say(self, method: str, **arguments: Any) -> None:
        try:
            with opened_secrets() as opened:
                await self._api.call(opened.open(self._settings.token), method, **arguments)
        except StepwellError as error:
            # The decision stands, or was refused, whether or not Slack shows it.
            _log.warning("an answer did not reach Slack: %s", error.sentence())


def _refusal(error: StepwellError) -> str:
    """A sentence for whoever pressed. A failure of the database is no refusal: Slack itself tells of it."""
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
        raise InvalidInput("payload: a form with a JSON object in it is accepted", field="payload")
    return found


def _button(payload: Mapping[str, Any]) -> Press | None:
    actions = payload.get("actions")
    pressed = actions[0] if isinstance(actions, list) and actions else None
    decisions = {card.APPROVE: "approve", card.REJECT: "reject"}
    if not isinstance(pressed, dict) or pressed.get("action_id") not in decisions:
        return None
    tenant_id, _, approval_id = str(pressed.get("value", "")).partition(":")
    return Press(
        _number(tenant_id),
        _number(approval_id),
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
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput("payload.view: not the dialog that was sent", field="payload.view") from error
    text = reason.strip()[: card.REASON_LENGTH_LIMIT] if isinstance(reason, str) else None
    return Press(
        _number(numbers[0]), _number(numbers[1]), "reject", _id(payload, "user"), str(channel), text or None
    )


def _id(payload: Mapping[str, Any], name: str) -> str:
    found = payload.get(name)
    text = found.get("id") if isinstance(found, dict) else None
    if not isinstance(text, str) or not 1 <= len(text) <= 40:
        raise InvalidInput(f"payload.{name}: an object with an id is required", field=f"payload.{name}")
    return text


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise InvalidInput("payload: not a button of ours", field="payload.actions")
    return int(text)
