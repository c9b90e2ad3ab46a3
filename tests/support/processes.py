"""Runs real processes: receives arguments, returns their output and exit code."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.support.commands import run_command

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT_SECONDS = 100.0


def environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The environment without settings for Stepwell and PostgreSQL; a change of None removes a variable."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("STEPWELL_", "PG"))}
    # The last path is for an interpreter outside our environment, see python_for_others.
    env["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT / "src"), str(ROOT), str(Path(psycopg.__file__).parent.parent)]
    )
    env["NO_COLOR"] = "1"
    for name, value in (changes or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def stepwell(
    *arguments: str | Path,
    env: Mapping[str, str | None] | None = None,
    prefix: Sequence[str] = (),
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs the command line as a user does. `prefix` comes before the command, such as `setpriv …`."""
    if not prefix:
        return run_command(arguments, environment=environment(env), cwd=cwd, limit_seconds=LIMIT_SECONDS)
    command = [*prefix, sys.executable, "-m", "stepwell", *map(str, arguments)]
    return subprocess.run(
        command,
        env=environment(env),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def python_for_others() -> str | None:
    """An interpreter of the same version that any account may run on our files, or None."""
    for path in (
        Path(sys.executable).resolve(),
        Path(shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin:/usr/local/bin") or "/"),
    ):
        if path.is_file() and all(_may_be_entered(folder) for folder in (*path.parents, *ROOT.parents, ROOT)):
            return str(path)
    return None


def _may_be_entered(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)


class Talker:
    """A process that reads and writes lines: a test waits for its next line, not for time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    @property
    def pid(self) -> int:
        return self.process.pid

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the process ended with {self.process.wait(LIMIT_SECONDS)}"
        return line.rstrip("\n")

    def ask(self, line: str) -> str:
        self.say(line)
        return self.hear()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(LIMIT_SECONDS)


@contextmanager
def talker(
    module: str, *arguments: str | Path, env: Mapping[str, str | None] | None = None, uid: int | None = None
) -> Iterator[Talker]:
    """Runs `python -m module …` inside the block; kills it at the end if it still runs."""
    python = sys.executable if uid is None else python_for_others()
    assert python is not None
    process = subprocess.Popen(
        [python, "-m", module, *map(str, arguments)],
        env=environment(env),
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        user=uid,
        group=uid,
        extra_groups=None if uid is None else [],
    )
    with process:
        try:
            yield Talker(process)
        finally:
            if process.poll() is None:
                process.kill()
