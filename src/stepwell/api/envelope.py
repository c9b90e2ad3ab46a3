"""Wrap every request: add an id and limits to the request, and security headers to the response.

It is plain ASGI around all other parts, so that every failure has an id, headers and a problem document.
"""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepwell.api import odd_text, problems
from stepwell.errors import InvalidInput

BODY_BYTES_LIMIT: Final = 4 * 1024 * 1024
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
# W3C Trace Context: version, trace id, id of the caller's span, flags.
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_SECURITY_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Envelope:
    """With `allowed_hosts` None every Host header is accepted. A server on loopback must give its names:

    otherwise the name of another site could resolve to 127.0.0.1, and its page could read data (DNS
    rebinding).
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        allowed_hosts: Collection[str] | None = None,
        body_bytes_limit: int = BODY_BYTES_LIMIT,
    ) -> None:
        self.app = app
        self.allowed_hosts = allowed_hosts
        self.body_bytes_limit = body_bytes_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given_id = headers.get("X-Request-ID", "")
        request_id = given_id if _REQUEST_ID.fullmatch(given_id) else uuid.uuid4().hex
        scope["stepwell.request_id"] = request_id
        trace_id, flags = _trace(headers.get("traceparent", ""))
        scope["stepwell.trace_id"] = trace_id
        traceparent = f"00-{trace_id}-{secrets.token_hex(8)}-{flags}"
        is_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                answer = MutableHeaders(scope=message)
                answer["X-Request-ID"] = request_id
                answer["traceparent"] = traceparent
                for name, value in _SECURITY_HEADERS.items():
                    answer.setdefault(name, value)
                if scope["path"].startswith("/api/"):
                    answer.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            refusal = self._refuse(Request(scope), headers)
            if refusal is not None:
                await refusal(scope, receive, send_with_headers)
            else:
                await self.app(scope, self._limited(receive), send_with_headers)
        except ClientDisconnect:
            # Whoever cuts a body is no fault of the server, and must not fill its log.
            response = problems.respond(
                Request(scope), "invalid_request", detail="the body was not sent to its end", field="body"
            )
            await response(scope, receive, send_with_headers)
        except Exception as error:
            if is_started:
                raise
            response = problems.unexpected(Request(scope), error)
            await response(scope, receive, send_with_headers)

    def _refuse(self, request: Request, headers: Headers) -> ASGIApp | None:
        if self.allowed_hosts is not None and _host_name(headers.get("Host", "")) not in self.allowed_hosts:
            return problems.respond(
                request,
                "misdirected_request",
                detail="this server does not accept the host of the Host header",
                hint=f"accepted: {', '.join(sorted(self.allowed_hosts))}",
                field="header.Host",
            )
        length = headers.get("Content-Length", "0")
        if length.isdigit() and int(length) > self.body_bytes_limit:
            return problems.respond(request, "content_too_large", detail=self._too_large(), field="body")
        if request.scope["path"].startswith("/api/"):
            try:
                odd_text.check_address(request.scope.get("raw_path", b""), request.scope["query_string"])
            except InvalidInput as error:
                return problems.respond(
                    request, "invalid_input", detail=error.message, hint=error.hint, field=error.field
                )
        return None

    def _limited(self, receive: Receive) -> Receive:
        """Count the bytes of a body while it arrives, also without a Content-Length."""
        received_bytes = 0

        async def receive_counted() -> Message:
            nonlocal received_bytes
            message = await receive()
            if message["type"] == "http.request":
                received_bytes += len(message.get("body", b""))
                if received_bytes > self.body_bytes_limit:
                    raise HTTPException(413, self._too_large())
            return message

        return receive_counted

    def _too_large(self) -> str:
        return f"the body is larger than {self.body_bytes_limit} bytes"


def _trace(given: str) -> tuple[str, str]:
    """The trace of the caller, or a new one."""
    found = _TRACEPARENT.fullmatch(given)
    if found is None or not int(found[1], 16) or not int(found[2], 16):
        return secrets.token_hex(16), "00"
    return found[1], found[3]


def _host_name(host: str) -> str:
    """The host without the port; an IPv6 address keeps its brackets."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()
