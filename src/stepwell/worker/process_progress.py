"""Send the progress of handlers in processes to their worker.

It uses datagrams, because a process may die at any time: they need no lock, and a message arrives completely
or not at all. A message that does not fit is dropped; the next one replaces it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Mapping
from itertools import count
from typing import Any

from stepwell import json_text
from stepwell.handler_progress import Progress
from stepwell.present_handler import PresentHandler

MESSAGE_BYTES = 4096
# Shortest time between two messages of a process; reports in between are not sent.
PAUSE_SECONDS = 0.2


class ProcessProgress:
    """The end in the worker. Each process gets `sender`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._receiver, self.sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._receiver.setblocking(False)
        self._numbers = count(1)
        self._calls: dict[int, PresentHandler] = {}
        loop.add_reader(self._receiver, self._read)

    def begin(self, handler: PresentHandler | None) -> int:
        """A call in a process begins; return the number for its messages."""
        number = next(self._numbers)
        if handler is not None:
            self._calls[number] = handler
        return number

    def end(self, number: int) -> None:
        # Its last message may not have been read yet.
        self._read()
        self._calls.pop(number, None)

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.remove_reader(self._receiver)
        self._receiver.close()
        self.sender.close()

    def _read(self) -> None:
        while True:
            try:
                message = self._receiver.recv(MESSAGE_BYTES)
            except (BlockingIOError, InterruptedError):
                return
            number, done, total, note = json.loads(message)
            if number in self._calls:
                self._calls[number].note_progress(Progress(done, total, note))


class ProcessHandler:
    """The end in the process, for one call. Without a sender its progress goes nowhere."""

    def __init__(self, log_fields: Mapping[str, Any], sender: socket.socket | None, number: int) -> None:
        self._log_fields = log_fields
        self._sender = sender
        self._number = number
        self._sent_at = float("-inf")

    def log_fields(self) -> Mapping[str, Any]:
        return self._log_fields

    def note_progress(self, said: Progress) -> None:
        now = time.monotonic()
        if self._sender is None or now - self._sent_at < PAUSE_SECONDS:
            return
        self._sent_at = now
        try:
            self._sender.send(
                json_text.encode([self._number, *said], "progress").encode(), socket.MSG_DONTWAIT
            )
        except OSError:
            # The buffer is full, or the worker has ended.
            return
