"""Write to Slack: receives a channel, or a message as `channel/ts`, returns the message and its reversal.

Slack does not find repeats. The metadata of a message contain the key of the action, so that `confirm` finds
it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from stepwell.connectors.base import (
    Action,
    Effect,
    EffectRefused,
    EffectUnknown,
    OperationSpec,
    Reversal,
    no_such_operation,
)
from stepwell.connectors.secrets import OpenedSecrets, SecretRef, opened_secrets
from stepwell.connectors.slack_api import API_URL, SlackApi, SlackRefused

TEXT_LIMIT: Final = 40_000
BLOCKS_LIMIT: Final = 50
# `confirm` searches in so many messages on so many pages.
SEARCH_PAGE: Final = 200
SEARCH_PAGES: Final = 5
EVENT_TYPE: Final = "stepwell_action"
CONTENT_FIELDS: Final = ("text", "blocks")
FIELD_TYPES: Final = {"text": "string", "blocks": "array", "thread_ts": "string"}
_CHANNEL: Final = re.compile(r"[A-Z][A-Z0-9]{1,30}")
_MESSAGE: Final = re.compile(r"([A-Z][A-Z0-9]{1,30})/([0-9]{1,12}\.[0-9]{1,8})")


class SlackConnector:
    """One workspace. Operations:

    post    target channel id; fields {"text": ..., "blocks": [...], "thread_ts": ...}
    update  target channel/ts; fields {"text": ..., "blocks": [...]}
    delete  target channel/ts
    """

    def __init__(
        self, name: str, *, secret: SecretRef, api_url: str = API_URL, limit_seconds: float = 10.0
    ) -> None:
        self._name = name
        self._secret = secret
        self._api = SlackApi(api_url=api_url, limit_seconds=limit_seconds)

    @property
    def name(self) -> str:
        return self._name

    @property
    def operations(self) -> Mapping[str, OperationSpec]:
        return {
            "post": OperationSpec(
                writes=True, idempotent=False, reversible=True, confirmable=True, fields=FIELD_TYPES
            ),
            "update": OperationSpec(
                writes=True, idempotent=True, reversible=True, confirmable=True, fields=FIELD_TYPES
            ),
            "delete": OperationSpec(writes=True, idempotent=True, reversible=False, confirmable=True),
        }

    def canonical(self, operation: str, target: str) -> str:
        """The id of a channel, or `channel/ts`; each has one form, and every other is refused."""
        if operation == "post":
            return _channel(target)
        return "/".join(_place(target))

    def effect_form(self, operation: str, target: str, fields: Mapping[str, Any]) -> str:
        """`slack:post:{channel}:{thread_ts}`, `slack:update:{channel}:{ts}`."""
        thread = fields.get("thread_ts") or ""
        return f"slack:post:{target}:{thread}" if operation == "post" else f"slack:{operation}:{target}"

    async def perform(self, action: Action) -> Effect:
        with opened_secrets() as opened:
            match action.operation:
                case "post":
                    effect = await self._post(action, opened)
                case "update":
                    effect = await self._update(action, opened)
                case "delete":
                    effect = await self._delete(action, opened)
                case other:
                    raise no_such_operation(self._name, other, self.operations)
            return opened.clean(effect)

    async def confirm(self, action: Action) -> Effect | None:
        with opened_secrets() as opened:
            match action.operation:
                case "post":
                    return opened.clean(await self._find(action, opened))
                case "update":
                    message = await self._message(action.target, opened)
                    if message is None:
                        raise EffectUnknown(
                            f"{action.target} does not exist any more, so its update cannot be confirmed"
                        )
                    is_ours = _key_of(message) == _key(action)
                    return _applied(action.target) if is_ours else None
                case "delete":
                    gone = await self._message(action.target, opened) is None
                    return Effect({"deleted": True}, action.target) if gone else None
        raise EffectUnknown(f"{self._name}.{action.operation} cannot be confirmed")

    async def _post(self, action: Action, opened: OpenedSecrets) -> Effect:
        channel = _channel(action.target)
        thread_ts = action.fields.get("thread_ts")
        answer = await self._call(
            "chat.postMessage", opened, channel=channel, metadata=message_metadata(action),
            thread_ts=thread_ts, unfurl_links=False, **_content(action),
        )  # fmt: skip
        return _posted(str(answer.get("channel") or action.target), str(answer.get("ts")), thread_ts)

    async def _update(self, action: Action, opened: OpenedSecrets) -> Effect:
        channel, ts = _place(action.target)
        before = await self._message(action.target, opened)
        if before is None:
            raise SlackRefused("chat.update", "message_not_found")
        if _key_of(before) == _key(action):
            return _applied(action.target)
        given = _content(action)
        # An update without blocks would keep the old blocks together with the new text.
        await self._call(
            "chat.update", opened, channel=channel, ts=ts, metadata=message_metadata(action),
            **{"blocks": [], **given},
        )  # fmt: skip
        prior = {name: before[name] for name in CONTENT_FIELDS if before.get(name)}
        reversal = Reversal("update", action.target, prior) if prior else None
        return Effect({"channel": channel, "ts": ts}, action.target, prior, reversal)

    async def _delete(self, action: Action, opened: OpenedSecrets) -> Effect:
        channel, ts = _place(action.target)
        try:
            await self._call("chat.delete", opened, channel=channel, ts=ts)
        except SlackRefused as error:
            if error.error != "message_not_found":
                raise
            return Effect({"deleted": True, "already": True}, action.target)
        return Effect({"deleted": True}, action.target)

    async def _find(self, action: Action, opened: OpenedSecrets) -> Effect | None:
        """The message with this key among the newest messages of its channel or thread."""
        wanted = _key(action)
        thread_ts = action.fields.get("thread_ts")
        method = "conversations.history" if thread_ts is None else "conversations.replies"
        cursor = None
        for _ in range(SEARCH_PAGES):
            answer = await self._ask(
                method, opened, channel=action.target, ts=thread_ts, limit=SEARCH_PAGE,
                include_all_metadata=True, cursor=cursor,
            )  # fmt: skip
            for message in answer.get("messages", []):
                if _key_of(message) == wanted:
                    return _posted(action.target, str(message.get("ts")), thread_ts)
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or None
            if cursor is None:
                return None
        raise EffectUnknown(
            f"the message is not among the newest {SEARCH_PAGE * SEARCH_PAGES} messages of {action.target}",
            hint="search by hand",
        )

    async def _message(self, target: str, opened: OpenedSecrets) -> dict[str, Any] | None:
        """One message of a channel or a thread; None if it does not exist any more."""
        channel, ts = _place(target)
        try:
            answer = await self._ask(
                "conversations.replies", opened, channel=channel, ts=ts, oldest=ts, latest=ts, inclusive=True,
                limit=1, include_all_metadata=True,
            )  # fmt: skip
        except SlackRefused as error:
            if error.error in ("thread_not_found", "message_not_found"):
                return None
            raise
        found = [message for message in answer.get("messages", []) if message.get("ts") == ts]
        return found[0] if found else None

    async def _call(self, method: str, opened: OpenedSecrets, **arguments: Any) -> dict[str, Any]:
        return await self._api.call(opened.open(self._secret), method, writes=True, **arguments)

    async def _ask(self, method: str, opened: OpenedSecrets, **arguments: Any) -> dict[str, Any]:
        return await self._api.call(opened.open(self._secret), method, writes=False, **arguments)


def _posted(channel: str, ts: str, thread_ts: str | None) -> Effect:
    target = f"{channel}/{ts}"
    result = {"channel": channel, "ts": ts}
    if thread_ts is not None:
        result["thread_ts"] = thread_ts
    return Effect(result, target, None, Reversal("delete", target, {}))


def _applied(target: str) -> Effect:
    """The effect of an earlier attempt; the text before it is not known any more."""
    channel, ts = _place(target)
    return Effect({"channel": channel, "ts": ts, "already": True}, target)


def _key(action: Action) -> str:
    return hashlib.sha256(f"{action.tenant_id}\0{action.idempotency_key}".encode()).hexdigest()


def message_metadata(action: Action) -> dict[str, Any]:
    """The metadata by which `confirm` finds the message of an action."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": _key(action)}}


def _key_of(message: Mapping[str, Any]) -> str | None:
    metadata = message.get("metadata") or {}
    if metadata.get("event_type") != EVENT_TYPE:
        return None
    key = (metadata.get("event_payload") or {}).get("key")
    return key if isinstance(key, str) else None


def _content(action: Action) -> dict[str, Any]:
    unknown = sorted(set(action.fields) - {*CONTENT_FIELDS, "thread_ts"})
    if unknown:
        raise EffectRefused(f"{unknown[0]}: not accepted", hint="accepted are text, blocks and thread_ts")
    text, blocks = action.fields.get("text"), action.fields.get("blocks")
    if not isinstance(text, str) or not 1 <= len(text) <= TEXT_LIMIT:
        raise EffectRefused(f"text is not accepted; accepted: 1 to {TEXT_LIMIT} characters", field="text")
    if blocks is not None and (not isinstance(blocks, list) or len(blocks) > BLOCKS_LIMIT):
        raise EffectRefused(
            f"blocks is not accepted; accepted: a list of at most {BLOCKS_LIMIT}", field="blocks"
        )
    return {"text": text} if not blocks else {"text": text, "blocks": blocks}


def _channel(target: str) -> str:
    if not _CHANNEL.fullmatch(target):
        raise EffectRefused(
            "target is not accepted; accepted: the id of a channel, such as C0123456789", field="target"
        )
    return target


def _place(target: str) -> tuple[str, str]:
    match = _MESSAGE.fullmatch(target)
    if match is None:
        raise EffectRefused("target is not accepted; accepted: channel/ts of a message", field="target")
    return match[1], match[2]
