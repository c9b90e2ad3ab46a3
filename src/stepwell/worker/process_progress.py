"""Send the progress of handlers in processes to their worker.

It uses datagrams, because a process may die at any time: they need no lock, and a message arrives completely
or not at all. A message that does not fit is dropped; the next one replaces it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from itertools import count

from stepwell import json_text
from stepwell.handler_progress import Progress, Reporter

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
        self._calls: dict[int, Reporter] = {}
        loop.add_reader(self._receiver, self._read)

    def begin(self, report: Reporter | None) -> int:
        """A call in a process begins; return the number for its messages."""
        number = next(self._numbers)
        if report is not None:
            self._calls[number] = report
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
                self._calls[number](Progress(done, total, note))


class ProcessReporter:
    """The end in the process, for one call."""

    def __init__(self, sender: socket.socket, number: int) -> None:
        self._sender = sender
        self._number = number
        self._sent_at = float("-inf")

    def __call__(self, said: Progress) -> None:
        now = time.monotonic()
        if now - self._sent_at < PAUSE_SECONDS:
            return
        self._sent_at = now
        try:
            self._sender.send(
                json_text.encode([self._number, *said], "progress").encode(), socket.MSG_DONTWAIT
            )
        except OSError:
            # The buffer is full, or the worker has ended.
            return
