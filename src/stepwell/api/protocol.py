"""HTTP/1.1 with deadlines: a request that is sent slowly is cut, so that it takes no place from others.

uvicorn limits only the time between two requests of a connection. Without more, a thousand requests that are
half sent stop the server.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from stepwell.api.catalogue import KINDS, MEDIA_TYPE, urn
from stepwell.api.problems import Problem

# From the connection, or the first byte of a later request, to the end of the headers; then to the last byte.
HEADERS_SECONDS: Final = 10.0
BODY_SECONDS: Final = 60.0
# A connection takes so many bytes that its client has not read; then what sends them waits.
UNSENT_BYTES_LIMIT: Final = 16 * 1024
# So long a client may read nothing while something waits for it.
UNREAD_SECONDS = 30.0
# So many connections may be sending headers; a further one ends the oldest of them.
UNFINISHED_LIMIT: Final = 500

_UNREADABLE: Final = (
    Problem(
        type=urn("invalid_request"),
        title=KINDS["invalid_request"].title,
        status=400,
        detail="this is no request of HTTP/1.1, or its headers are too long",
        hint="send HTTP/1.1, with headers that are shorter than 32 kB together",
        field="header",
    )
    .model_dump_json(exclude_none=True)
    .encode()
)


class BoundedProtocol(H11Protocol):
    """One connection. `_unfinished` has all of this process that are sending headers, the oldest first."""

    _unfinished: ClassVar[dict[BoundedProtocol, None]] = {}

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._awaited: str | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=UNSENT_BYTES_LIMIT)
        self._await("headers", HEADERS_SECONDS)
        self._unfinished[self] = None
        if len(self._unfinished) > UNFINISHED_LIMIT:
            next(iter(self._unfinished)).cut()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        state = self.conn.their_state
        if state is h11.IDLE:
            # Part of the headers. A further part does not move the deadline.
            self._await("headers", HEADERS_SECONDS)
            self._unfinished.setdefault(self)
            return
        self._unfinished.pop(self, None)
        if state is h11.SEND_BODY:
            self._await("body", BODY_SECONDS)
        else:
            self._await(None, 0)

    def send_400_response(self, msg: str) -> None:
        """What cannot be read as HTTP is refused with a problem too, and the connection ends."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            headers = [("Content-Type", MEDIA_TYPE), ("Content-Length", str(len(_UNREADABLE)))]
            answer = h11.Response(status_code=400, headers=[*headers, ("Connection", "close")])
            for event in (answer, h11.Data(data=_UNREADABLE), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        # What sends waits from now on, and would wait for ever for a client that does not read.
        self._unread = self.loop.call_later(UNREAD_SECONDS, self.cut)

    def resume_writing(self) -> None:
        self._reads_again()
        super().resume_writing()

    def _reads_again(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._unfinished.pop(self, None)
        self._reads_again()
        self._await(None, 0)
        super().connection_lost(exc)

    def cut(self) -> None:
        """End the connection; a request that has begun gets no answer."""
        self._unfinished.pop(self, None)
        self._await(None, 0)
        if not self.transport.is_closing():
            self.transport.abort()

    def _await(self, what: str | None, seconds: float) -> None:
        if what is not None and what == self._awaited:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._awaited = what
        self._deadline = None if what is None else self.loop.call_later(seconds, self.cut)
