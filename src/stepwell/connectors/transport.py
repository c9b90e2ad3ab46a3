"""Send one HTTP request and say what became of it: receives method, address and body, returns an answer of
bounded size, or one of a connector's three errors. A connection is used once: a kept one may die unseen.
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
# The request did not arrive in full, or came too early: it was not looked at.
NOT_TAKEN: Final = frozenset({408, 425, 429})
# What a server does not know how to do it has not done.
NOT_KNOWN: Final = frozenset({501, 505})

logs.quiet_http_clients()


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Bounds of one request. `follows_redirects` counts for reads only: a write is never sent elsewhere."""

    connect_seconds: float = 5.0
    read_seconds: float = 30.0
    total_seconds: float = 60.0
    answer_bytes: int = 1024 * 1024
    follows_redirects: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `body` is JSON where the server says so, else text; None when it was too large."""

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
    """One request. Any status but 2xx and those of `accepts` is raised as what it means for the effect."""
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
    # The lost answer to a question can be asked for again; that to a write leaves its effect open.
    lost = EffectUnknown if writes else EffectUnavailable
    timeout = httpx.Timeout(limits.read_seconds, connect=limits.connect_seconds)
    try:
        async with (
            asyncio.timeout(limits.total_seconds),
            httpx.AsyncClient(
                timeout=timeout,
                verify=_tls(),
                proxy=proxy,
                # The environment could name a proxy or a .netrc with passwords of its own.
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
    if status < 500 or status in NOT_KNOWN:
        if 300 <= status < 400:
            return EffectRefused(f"{said}; redirects are not followed", hint="configure the final address")
        return EffectRefused(said)
    # It failed on the way: a gateway that gave up, or a server that broke off. How far it had come is open.
    if writes:
        return EffectUnknown(said)
    return EffectUnavailable(said, retry_after_seconds=retry_after)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Seconds, or a date, which counts from the server's own `Date`: its clock, not ours."""
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
    # Unpacked, a small answer could be larger than any limit before it is counted.
    return {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "stepwell", **given}


def _content(body: Any) -> bytes | None:
    return None if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


@cache
def _tls() -> ssl.SSLContext:
    """Read once: it takes longer than most requests."""
    return ssl.create_default_context()
