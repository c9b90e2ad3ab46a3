"""A command loads no module that it does not use; the help loads no slow module."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Modules that are slow to load and that only some commands need.
SLOW = {
    "asyncio", "fastapi", "fsspec", "httpx", "jsonschema", "psutil", "psycopg", "pydantic", "pydantic_core",
    "rich", "ruamel", "slack_sdk", "ssl", "starlette", "uvicorn",
}  # fmt: skip

PRINT_MODULES = '\nprint("loaded", *sorted({name.partition(".")[0] for name in sys.modules}))'
RUN = """
import sys
from stepwell.cli.main import run
try:
    run(sys.argv[1:])
except SystemExit:
    pass
"""
IMPORT_ALL = """
import importlib, sys
from stepwell.cli.commands import COMMANDS
for entry in COMMANDS.values():
    importlib.import_module(entry.module)
"""


def loaded_by(program: str, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", program + PRINT_MODULES, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stdout.splitlines()[-1]
    assert last.startswith("loaded "), done.stdout + done.stderr
    return set(last.split()[1:])


@pytest.mark.parametrize("arguments", [("--help",), ("rusn",), ("runs", "list", "--help")], ids=" ".join)
def test_the_help_and_a_misspelt_command_load_no_slow_module(arguments):
    assert loaded_by(RUN, *arguments) & SLOW == set()


def test_no_command_loads_a_server_or_validation_before_it_runs():
    assert loaded_by(IMPORT_ALL) & {"fastapi", "pydantic", "starlette", "uvicorn"} == set()
