"""Many streams by plain sockets in one event loop: receives an address and requests, returns what each got.

A message that many streams get is read once, so that a thousand clients cost little.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a stream. `events` are the numbers of its events."""

    event: str
    data: dict[str, Any]
    events: tuple[int, ...]
    is_last: bool


class Messages:
    """Reads each distinct message once."""

    def __init__(self, last_type: str = "workflow.completed") -> None:
        self._last_type = last_type
        self._read: dict[bytes, Message | None] = {}

    def read(self, text: bytes) -> Message | None:
        """None for a comment."""
        if text not in self._read:
            fields = dict(line.split(b": ", 1) for line in text.split(b"\n") if b": " in line[1:])
            data = json.loads(fields[b"data"]) if b"data" in fields else None
            rows = [] if data is None else data.get("events", [])
            self._read[text] = None if data is None else Message(
                fields[b"event"].decode(), data, tuple(row[0] for row in rows),
                any(row[4] == self._last_type for row in rows),
            )  # fmt: skip
        return self._read[text]


class Stream(asyncio.Protocol):
    """One stream. HTTP/1.0, so that the body comes as it is."""

    def __init__(self, messages: Messages, path: str, token: str) -> None:
        self._messages = messages
        self._request = f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"
        self._waiting = bytearray()
        self._has_headers = False
        self.transport: asyncio.Transport | None = None
        self.head = b""
        self.got: list[Message] = []
        loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()

    @property
    def events(self) -> tuple[int, ...]:
        return tuple(number for message in self.got for number in message.events)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self._request.encode())

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        if not self._has_headers:
            head, found, rest = bytes(self._waiting).partition(b"\r\n\r\n")
            if not found:
                return
            self.head, self._waiting, self._has_headers = head, bytearray(rest), True
        *whole, rest = bytes(self._waiting).split(b"\n\n")
        self._waiting = bytearray(rest)
        for text in whole:
            self._take(self._messages.read(text))

    def _take(self, message: Message | None) -> None:
        if message is None:
            return
        self.got.append(message)
        if message.event == "open" and not self.opened.done():
            self.opened.set_result(None)
        if message.is_last or message.event == "end":
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()

    def _end(self) -> None:
        for future in (self.opened, self.ended):
            if not future.done():
                future.set_result(None)
        if self.transport is not None:
            self.transport.close()


class KeptStream(Stream):
    """A stream that is only received, and read when it has ended: what a page does is not measured."""

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        if not self.opened.done() and b"\nevent: open" in self._waiting:
            self.opened.set_result(None)

    @property
    def head_line(self) -> bytes:
        return bytes(self._waiting).partition(b"\r\n")[0]

    def read(self) -> None:
        waiting, self._waiting = bytes(self._waiting), bytearray()
        super().data_received(waiting)


async def open_streams(port: int, path: str, tokens: Sequence[str], count: int) -> list[Stream]:
    """So many streams, the tokens in turn; returns when all are open. Fifty connect at a time."""
    messages, loop, gate = Messages(), asyncio.get_running_loop(), asyncio.Semaphore(50)

    async def one(number: int) -> Stream:
        token = tokens[number % len(tokens)]
        async with gate:
            _, stream = await loop.create_connection(lambda: Stream(messages, path, token), "127.0.0.1", port)
            await stream.opened
        return stream

    return list(await asyncio.gather(*(one(number) for number in range(count))))


async def _follow(order: dict[str, Any]) -> None:
    """Opens the streams of the order, says so, and reads until its own input ends; then says what came."""
    loop, messages = asyncio.get_running_loop(), Messages(last_type="")
    streams = []
    for number, path in enumerate(order["paths"]):
        token = order["tokens"][number % len(order["tokens"])]
        _, stream = await loop.create_connection(
            lambda path=path, token=token: KeptStream(messages, path, token), "127.0.0.1", order["port"]
        )
        await stream.opened
        streams.append(stream)
    print(sum(b" 200 " in stream.head_line for stream in streams), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    # The last change is sent within a tick of the server.
    await asyncio.sleep(3)
    for stream in streams:
        stream.read()
    print(sum(len(stream.events) for stream in streams), flush=True)


if __name__ == "__main__":
    asyncio.run(_follow(json.loads(sys.argv[1])))
