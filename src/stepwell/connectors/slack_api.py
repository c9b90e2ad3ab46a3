"""Call one method of Slack's Web API: receives its arguments and a token, returns the answer or raises one of
the three errors. It uses `slack_sdk` without repeats, without redirects and with a limit for large answers.
"""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from email.message import Message
from http.client import HTTPException
from typing import IO, Any, Final

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from stepwell.connectors.base import EffectRefused, EffectUnavailable, EffectUnknown
from stepwell.connectors.secrets import Secret
from stepwell.connectors.transport import retry_after_seconds

API_URL: Final = "https://slack.com/api/"
ANSWER_BYTES_LIMIT: Final = 4 * 1024 * 1024
TEXT_LIMIT: Final = 500
# Errors of Slack that mean: nothing was done, try again later.
TRANSIENT: Final = frozenset({"ratelimited", "rate_limited", "service_unavailable", "team_added_to_org"})
# Errors of Slack that leave open whether it was done.
OPEN: Final = frozenset({"fatal_error", "internal_error", "request_timeout"})


class SlackRefused(EffectRefused):
    """Slack refused; `error` is its reason, such as channel_not_found."""

    def __init__(self, method: str, error: str) -> None:
        # The name of a secret before a colon hides the word behind it.
        said = f"{error} is its answer" if error.endswith("auth") else error
        super().__init__(f"slack {method}: {said}", hint=HINTS.get(error))
        self.error = error


HINTS: Final = {
    "channel_not_found": "check the channel's id, and that the app was invited to it",
    "not_in_channel": "invite the app to the channel",
    "invalid_auth": "check the token",
    "missing_scope": "give the app the scopes of docs/connectors.md and install it again",
    "message_not_found": "the message was deleted, or the app did not write it",
}


class SlackApi:
    """Every call is one request. With `writes`, a lost answer means that the effect is unknown."""

    def __init__(self, *, api_url: str = API_URL, limit_seconds: float = 10.0) -> None:
        self._api_url = api_url
        self._limit_seconds = limit_seconds

    async def call(
        self, token: Secret, method: str, *, writes: bool = True, **arguments: Any
    ) -> dict[str, Any]:
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            # The client limits each wait for a byte; this limits the whole call.
            async with asyncio.timeout(self._limit_seconds * 3):
                return await asyncio.to_thread(self._call, token, method, writes, given)
        except TimeoutError:
            lost = EffectUnknown if writes else EffectUnavailable
            raise lost(f"slack {method}: the answer takes too long") from None

    def _call(self, token: Secret, method: str, writes: bool, given: dict[str, Any]) -> dict[str, Any]:
        lost = EffectUnknown if writes else EffectUnavailable
        client = _BoundedClient(
            token=token.reveal(),
            base_url=self._api_url,
            timeout=max(1, round(self._limit_seconds)),
            # The handlers of the SDK would send a message again if its answer was lost.
            retry_handlers=[],
        )
        try:
            # Methods that read do not accept JSON.
            answer = client.api_call(method, json=given) if writes else client.api_call(method, params=given)
        except SlackApiError as error:
            raise _meaning(method, error, writes) from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, OSError) and not _was_sent(error.reason):
                raise EffectUnavailable(f"slack {method}: no connection: {_text(error.reason)}") from None
            raise lost(f"slack {method}: the answer was lost: {_text(error.reason)}") from None
        except (OSError, HTTPException, SlackClientError, ValueError) as error:
            raise lost(f"slack {method}: the answer was lost: {_text(error)}") from None
        found = answer.data
        if not isinstance(found, dict):
            raise lost(f"slack {method}: the answer is not a JSON object")
        return found


def _meaning(
    method: str, error: SlackApiError, writes: bool
) -> EffectRefused | EffectUnavailable | EffectUnknown:
    response = error.response
    word = _text(response.get("error", "no reason given"))
    headers = {name.lower(): str(value) for name, value in response.headers.items()}
    said = f"slack {method}: {word}"
    if response.status_code == 429 or word in TRANSIENT:
        return EffectUnavailable(said, retry_after_seconds=retry_after_seconds(headers))
    if response.status_code >= 500 or word in OPEN:
        return EffectUnknown(said) if writes else EffectUnavailable(said)
    return SlackRefused(method, word)


def _was_sent(reason: object) -> bool:
    """True for a lost connection or a time-out, which may come after the request was sent."""
    return isinstance(reason, (ConnectionResetError, BrokenPipeError, TimeoutError))


def _text(value: object) -> str:
    return " ".join(str(value).split())[:TEXT_LIMIT] or type(value).__name__


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which would send the token to another host."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


class _BoundedClient(WebClient):
    """Overrides the method of the SDK that opens connections, to add limits."""

    def _perform_urllib_http_request_internal(self, url: str, req: urllib.request.Request) -> dict[str, Any]:
        proxies = {"http": self.proxy, "https": self.proxy} if self.proxy else {}
        opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies), _NoRedirect())
        with opener.open(req, timeout=self.timeout) as response:
            body = response.read(ANSWER_BYTES_LIMIT + 1)
            if len(body) > ANSWER_BYTES_LIMIT:
                raise ValueError(f"it is larger than {ANSWER_BYTES_LIMIT} bytes")
            charset = response.headers.get_content_charset() or "utf-8"
            return {"status": response.status, "headers": response.headers, "body": body.decode(charset)}
