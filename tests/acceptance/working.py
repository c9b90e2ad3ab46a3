"""Runs `stepwell worker` in another process: receives a database, returns a process to kill or stop."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from tests.support.processes import environment
from tests.support.roles import process_environment
from tests.support.wait import until, until_row

APP = Path(__file__).with_name("stoppable_app.py")
LIMIT_SECONDS = 60.0


class WorkerProcess:
    """One process of `stepwell worker` or `keeper`; its output goes to a file that the test can read."""

    def __init__(self, dsn: str, log: Path, *options: str, command: str = "worker") -> None:
        self.log = log
        with log.open("a") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "stepwell", command, *options],
                env=environment(
                    {**process_environment(dsn, command), "EFFECTS_URL": dsn, "PYTHONUNBUFFERED": "1"}
                ),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_for(self, text: str) -> None:
        def said() -> bool:
            assert self.process.poll() is None or text in self.output, self.output
            return text in self.output

        until(said, limit_seconds=LIMIT_SECONDS, what=f"{text!r} in {self.log}")

    @property
    def output(self) -> str:
        return self.log.read_text()

    def kill(self) -> None:
        """Kills the worker and all processes it started, as the kernel does when there is no memory left."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LIMIT_SECONDS)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT_SECONDS)


@contextlib.contextmanager
def worker(dsn: str, log: Path, *options: str, app: str = str(APP)) -> Iterator[WorkerProcess]:
    started = WorkerProcess(dsn, log, "--app", app, *options)
    try:
        started.wait_for("Ctrl-C stops")
        yield started
    finally:
        started.kill()


@contextlib.contextmanager
def closed_gate(dsn: str, name: str) -> Iterator[psycopg.Connection[Any]]:
    """No handler passes the gate while the block runs."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(hashtext(%s))", (name,))
        yield connection


def until_at_gate(connection: psycopg.Connection[Any]) -> None:
    until_row(
        connection,
        "select count(*) > 0 from pg_locks where locktype = 'advisory' and not granted"
        " and database = (select oid from pg_database where datname = current_database())",
    )
