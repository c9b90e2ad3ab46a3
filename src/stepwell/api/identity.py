"""Who makes a request: receives its headers, returns the token and how it came, or raises a problem.

A program sends `Authorization: Bearer …`. A browser sends the cookie of its session; a page of another site
can make a browser send it too, so a write with a cookie also needs the right origin and a CSRF token.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from starlette.requests import Request

from stepwell.api.problems import ProblemError

COOKIE: Final = "stepwell_session"
CSRF_HEADER: Final = "X-CSRF-Token"
TOKEN_LENGTH_LIMIT = 200
# A browser keeps one session for each tenant that its person has signed in to.
TENANTS_LIMIT = 8
_TENANT_PREFIX: Final = "stepwell_in."
_TENANT_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class Identity:
    """A token that nobody has checked yet. `channel` is how the log names the way it came."""

    token: str
    channel: Literal["api", "web"]

    @property
    def digest(self) -> str:
        """The name of the token in this process, without the token."""
        return hashlib.sha256(self.token.encode()).hexdigest()


def identify(request: Request) -> Identity:
    """Raises `not_signed_in`, or `origin_refused` for a write that another site may have made."""
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and _is_token(given.strip()):
        return Identity(given.strip(), "api")
    cookie = request.cookies.get(COOKIE, "")
    if "Authorization" not in request.headers and _is_token(cookie):
        if request.method not in ("GET", "HEAD"):
            check_origin(request)
            _check_csrf(request, cookie)
        return Identity(cookie, "web")
    raise ProblemError(
        "not_signed_in",
        "the request has no token",
        hint="sign in, or send 'Authorization: Bearer <token>'",
        field="header.Authorization",
    )


def check_origin(request: Request) -> None:
    """A browser tells from which site the page is that makes a write."""
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    is_same = origin is None or _host_of(origin) == request.headers.get("Host", "").lower()
    if not is_same or (site is not None and site not in ("same-origin", "none")):
        raise ProblemError(
            "origin_refused", "the request comes from a page of another site", field="header.Origin"
        )


def _host_of(origin: str) -> str | None:
    """Host and port of an origin; None for a text that is no address."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def csrf_token(session: str) -> str:
    """What a page of ours sends with each write: only who reads the answers of this server knows it."""
    return hmac.new(session.encode(), b"stepwell csrf", hashlib.sha256).hexdigest()


def tenant_cookie(tenant: str) -> str:
    return f"{_TENANT_PREFIX}{tenant}"


def tenant_sessions(cookies: Mapping[str, str]) -> dict[str, str]:
    """Tenant → the session that the browser has there. A name here proves nothing: the token is checked."""
    return {
        name: token
        for cookie, token in cookies.items()
        if cookie.startswith(_TENANT_PREFIX)
        and _TENANT_NAME.fullmatch(name := cookie.removeprefix(_TENANT_PREFIX))
        and _is_token(token)
    }


def _check_csrf(request: Request, session: str) -> None:
    given = request.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(given.encode(), csrf_token(session).encode()):
        raise ProblemError(
            "origin_refused",
            f"{CSRF_HEADER} is missing or wrong",
            hint="send csrf_token of GET /api/v1/session",
            field=f"header.{CSRF_HEADER}",
        )


def _is_token(text: str) -> bool:
    return 0 < len(text) <= TOKEN_LENGTH_LIMIT and text.isascii() and text.isprintable()
