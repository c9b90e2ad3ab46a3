"""Bring how far handlers in processes are to their worker: receives words in a process, returns them here.

By datagrams, because a process may die at any moment: there is no lock that it could take with it, and a
message is whole or not there. One that does not fit is dropped: the next one says more.
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
# In the process: what is said more often is not sent.
PAUSE_SECONDS = 0.2


class ProcessProgress:
    """The worker's end. `sender` is given to each process."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._receiver, self.sender = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._receiver.setblocking(False)
        self._numbers = count(1)
        self._calls: dict[int, Reporter] = {}
        loop.add_reader(self._receiver, self._read)

    def begin(self, report: Reporter | None) -> int:
        """A call into a process begins; its words carry the number that this returns."""
        number = next(self._numbers)
        if report is not None:
            self._calls[number] = report
        return number

    def end(self, number: int) -> None:
        # What it said last may be on the way.
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
            # Full, or the worker is gone.
            return
