"""Runs `stepwell up` as a user does: receives arguments, returns output, address, processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

from tests.support.commands import run_command

LIMIT_SECONDS = 180.0
COMMANDS = ("serve", "worker", "keeper")


class Running:
    """One process of `stepwell up` or `dev`. A thread reads its output, so a test can wait for a line."""

    def __init__(
        self,
        *arguments: str,
        command: str = "up",
        environment: dict[str, str] | None = None,
        python: Path | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            [str(python or sys.executable), "-m", "stepwell", command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=clean_environment(environment),
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._is_over = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, pattern: str, *, after: int = 0) -> re.Match[str]:
        """Waits for the first line that matches the pattern, behind the first `after` lines."""

        def found() -> re.Match[str] | None:
            return next((match for line in self.lines[after:] if (match := re.search(pattern, line))), None)

        with self._changed:
            self._changed.wait_for(lambda: found() or self._is_over, LIMIT_SECONDS)
            match = found()
        assert match is not None, f"{pattern!r} was not printed; the output is:\n{self.output}"
        return match

    def wait_ready(self) -> httpx.Client:
        url = self.wait_for(r"Address\s+(http://\S+)").group(1)
        self.wait_for("Ctrl-C stops everything")
        with httpx.Client(base_url=url, timeout=60) as door:
            if link := re.search(r"/sign-in#once=(\S+)", self.output):
                assert door.post("/api/v1/session/link", json={"link": link[1]}).status_code == 200
        return httpx.Client(base_url=url, timeout=60, cookies=door.cookies)

    def children(self) -> dict[str, psutil.Process]:
        """Supervised processes by the command they run."""
        found = {}
        for child in psutil.Process(self.process.pid).children():
            arguments = child.cmdline()
            if "stepwell.up.launch" in arguments:
                name = next(word for word in COMMANDS if word in arguments)
                found[name] = child
        return found

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait_end(self) -> int:
        code = self.process.wait(LIMIT_SECONDS)
        self._reader.join(LIMIT_SECONDS)
        return code


@contextmanager
def up(*arguments: str, command: str = "up", environment: dict[str, str] | None = None) -> Iterator[Running]:
    """Runs `stepwell up` inside the block and ends it however the test ended."""
    running = Running(*arguments, command=command, environment=environment)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.terminate()
            running.wait_end()


def clean_environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STEPWELL_")}
    return {**kept, "PYTHONUNBUFFERED": "1", **(extra or {})}


def run(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command until it ends by itself."""
    return run_command(arguments, environment=clean_environment(environment), limit_seconds=LIMIT_SECONDS)


def postmaster(data_dir: Path) -> psutil.Process | None:
    from stepwell.store.embedded.server import EmbeddedServer

    pid = EmbeddedServer(data_dir).postmaster_pid
    return None if pid is None else psutil.Process(pid)
