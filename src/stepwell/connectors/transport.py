"""Send one HTTP request: receives method, address and body, returns an answer of limited size, or raises one
of the three errors of a connector. Each connection is used once, because a kept connection may be broken.
"""

from __future__ import annotations

import asyncio
import json
import math
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Final

import httpx

from stepwell import logs
from stepwell.connectors.base import EffectRefused, EffectUnavailable, EffectUnknown

TEXT_LIMIT: Final = 500
RETRY_AFTER_MAX_SECONDS: Final = 3600.0
# The server did not process the request.
NOT_TAKEN: Final = frozenset({408, 425, 429})
# The server does not support the request, so it did nothing.
NOT_KNOWN: Final = frozenset({501, 505})
# The server may have done what a write asked for, and names a page to look at.
SEE_OTHER: Final = frozenset({302, 303})

logs.quiet_http_clients()


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Limits of one request. `follows_redirects` is only for reads; a write is never redirected."""

    connect_seconds: float = 5.0
    read_seconds: float = 30.0
    total_seconds: float = 60.0
    answer_bytes: int = 1024 * 1024
    follows_redirects: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer. `body` is parsed JSON if the content type is JSON, else text; None if it was too large."""

    status: int
    headers: Mapping[str, str]
    body: Any
    is_truncated: bool = False

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


async def exchange(
    method: str,
    url: str,
    *,
    writes: bool,
    limits: HttpLimits,
    headers: Mapping[str, str] | None = None,
    body: Any = None,
    accepts: frozenset[int] = frozenset(),
    proxy: str | None = None,
) -> Answer:
    """Send one request. A status that is neither 2xx nor in `accepts` raises one of the three errors."""
    answer = await _send(method, url, writes, limits, headers or {}, body, proxy)
    if answer.is_success or answer.status in accepts:
        if answer.is_truncated and not writes:
            raise EffectRefused(f"{method}: the answer is larger than {limits.answer_bytes} bytes")
        return answer
    raise _meaning(method, answer, writes)


async def _send(
    method: str,
    url: str,
    writes: bool,
    limits: HttpLimits,
    headers: Mapping[str, str],
    body: Any,
    proxy: str | None,
) -> Answer:
    # A read can be repeated if its answer is lost; a write has then an unknown effect.
    lost = EffectUnknown if writes else EffectUnavailable
    timeout = httpx.Timeout(limits.read_seconds, connect=limits.connect_seconds)
    try:
        async with (
            asyncio.timeout(limits.total_seconds),
            httpx.AsyncClient(
                timeout=timeout,
                verify=_tls(),
                proxy=proxy,
                # The environment could set a proxy or a .netrc with other passwords.
                trust_env=False,
                follow_redirects=limits.follows_redirects and not writes,
                max_redirects=3,
            ) as client,
            client.stream(method, url, headers=_headers(headers), content=_content(body)) as response,
        ):
            return await _read(response, limits.answer_bytes)
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as error:
        raise EffectUnavailable(f"{method}: no connection: {_reason(error)}") from None
    except (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.LocalProtocolError) as error:
        raise EffectRefused(f"{method}: the request cannot be sent: {_reason(error)}") from None
    except httpx.TooManyRedirects:
        raise EffectRefused(f"{method}: too many redirects") from None
    except (httpx.HTTPError, httpx.StreamError, TimeoutError) as error:
        raise lost(f"{method}: sent, but the answer was lost: {_reason(error)}") from None


async def _read(response: httpx.Response, limit: int) -> Answer:
    found = bytearray()
    is_truncated = False
    async for chunk in response.aiter_bytes():
        found += chunk
        if len(found) > limit:
            is_truncated = True
            break
    return Answer(
        response.status_code,
        {name.lower(): value for name, value in response.headers.items()},
        None if is_truncated else _decoded(bytes(found), response.headers.get("content-type", "")),
        is_truncated,
    )


def _decoded(found: bytes, content_type: str) -> Any:
    if not found:
        return None
    if "json" in content_type:
        try:
            return json.loads(found)
        except ValueError:
            pass
    return found.decode(errors="replace")


def _meaning(method: str, answer: Answer, writes: bool) -> EffectRefused | EffectUnavailable | EffectUnknown:
    said = f"{method} was answered with {answer.status}{_excerpt(answer.body)}"
    status = answer.status
    retry_after = retry_after_seconds(answer.headers)
    if status in NOT_TAKEN or (status == 503 and "retry-after" in answer.headers):
        return EffectUnavailable(said, retry_after_seconds=retry_after)
    if writes and status in SEE_OTHER:
        return EffectUnknown(f"{said}; redirects are not followed", hint="configure the final address")
    if status < 500 or status in NOT_KNOWN:
        if 300 <= status < 400:
            return EffectRefused(f"{said}; redirects are not followed", hint="configure the final address")
        return EffectRefused(said)
    # A gateway or the server failed during the request, so the effect is unknown.
    if writes:
        return EffectUnknown(said)
    return EffectUnavailable(said, retry_after_seconds=retry_after)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """The seconds of Retry-After; a date is compared with the `Date` header, not with our clock."""
    given = headers.get("retry-after", "").strip()
    if not given:
        return None
    try:
        seconds = float(given)
    except ValueError:
        try:
            until = parsedate_to_datetime(given)
            seconds = (until - parsedate_to_datetime(headers["date"])).total_seconds()
        except (KeyError, TypeError, ValueError):
            return None
    return min(max(seconds, 0.0), RETRY_AFTER_MAX_SECONDS) if math.isfinite(seconds) else None


def _excerpt(body: Any) -> str:
    if body is None:
        return ""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    text = " ".join(text.split())
    return f": {text[:TEXT_LIMIT]}" if text else ""


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:TEXT_LIMIT] or type(error).__name__


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    # Without compression, because a small compressed answer could exceed the limit before it is counted.
    return {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "stepwell", **given}


def _content(body: Any) -> bytes | None:
    return None if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


@cache
def _tls() -> ssl.SSLContext:
    """Created once, because it takes longer than most requests."""
    return ssl.create_default_context()
