"""A command of tests/support/commands.py gives what a new process of `python -m stepwell` gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import run_command
from tests.support.processes import LIMIT_SECONDS, environment, stepwell
from tests.support.roles import api

BROKEN = "raise SystemExit('the app is closed')\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("runs", "list", "--json"),
        ("runs", "show", "7"),
        ("no-such-command",),
        ("simulate", "--app", "broken.py", "w"),
    ],
    ids=" ".join,
)
def test_outputs_and_exit_code_are_those_of_a_new_process(
    dsn: str, tmp_path: Path, arguments: tuple[str, ...]
):
    (tmp_path / "broken.py").write_text(BROKEN)
    given = {"STEPWELL_DATABASE_URL": api(dsn), "COLUMNS": "100"}
    new = subprocess.run(
        [sys.executable, "-m", "stepwell", *arguments],
        cwd=tmp_path,
        env=environment(given),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    loaded = stepwell(*arguments, env=given, cwd=tmp_path)
    assert new.stdout + new.stderr
    assert (loaded.returncode, loaded.stdout, loaded.stderr) == (new.returncode, new.stdout, new.stderr)


def test_a_program_runs_as_the_main_module_and_its_error_is_the_exit_code(tmp_path: Path):
    (tmp_path / "beside.py").write_text("word = 'found'\n")
    program = tmp_path / "program.py"
    program.write_text("import beside\nprint(__name__, beside.word)\nraise KeyError('lost')\n")
    done = run_command(
        (), environment=environment(), cwd=tmp_path, limit_seconds=LIMIT_SECONDS, program=program
    )
    assert (done.returncode, done.stdout) == (1, "__main__ found\n")
    assert "KeyError: 'lost'" in done.stderr
