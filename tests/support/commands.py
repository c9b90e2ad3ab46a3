"""Runs commands of Stepwell as processes that need not load it again: receives arguments, returns the output.

See loaded_command.py. Each test process starts one server of commands when it runs its first command.
"""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support import run

_starting = threading.Lock()
_numbers = itertools.count(1)


class _Server:
    """The process of loaded_command.py; it ends when its input is closed, so it ends with this process."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.place = str(run.folder() / f"commands-{os.getpid()}-{next(_numbers)}")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.loaded_command", self.place],
            cwd=run.ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", "the server of commands did not start"


_server: _Server | None = None


def run_command(
    arguments: Sequence[str | Path],
    *,
    environment: Mapping[str, str],
    cwd: Path | None = None,
    limit_seconds: float,
    program: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """`python -m stepwell …`, or `python PROGRAM …`, as subprocess.run would run it."""
    global _server
    with _starting:
        if _server is None:
            _server = _Server(environment)
    given = [str(argument) for argument in arguments]
    request = {
        "arguments": given,
        "environment": dict(environment),
        "folder": str(cwd or Path.cwd()),
        "program": None if program is None else str(program),
    }
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking,
    ):
        asking.settimeout(limit_seconds)
        asking.connect(_server.place)
        socket.send_fds(asking, [json.dumps(request).encode()], [out.fileno(), err.fileno()])
        code = asking.recv(16)
        assert code, "the server of commands gave no answer"
        written = []
        for stream in (out, err):
            stream.seek(0)
            written.append(stream.read().decode())
    return subprocess.CompletedProcess(["stepwell", *given], int(code), *written)
