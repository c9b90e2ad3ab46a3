"""What a command that only reads costs: how often it connects, and what it loads. Never how long it takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from stepwell.store.embedded.server import EmbeddedServer
from tests.support.processes import environment
from tests.support.roles import api

# What such a command has no use for: servers, validation, YAML, the checks of definitions, pools.
FORBIDDEN = {
    "fastapi", "httpx", "jsonschema", "psycopg_pool", "pydantic", "pydantic_core", "ruamel", "starlette",
    "stepwell.define.check", "stepwell.define.template", "stepwell.define.yaml", "stepwell.machines.model",
    "uvicorn",
}  # fmt: skip

# Modules of stepwell, and all modules, that `runs list` may load.
OWN_LIMIT = 42
MODULE_LIMIT = 455

# Runs a command; then prints how often a connection was begun, and the modules that are loaded.
PROGRAM = """
import json, sys
from psycopg import generators
begun, connect = [], generators.connect
generators.connect = lambda *given, **named: begun.append(1) or connect(*given, **named)
from stepwell.cli.main import run
try:
    run(sys.argv[1:])
except SystemExit as end:
    code = end.code
print()
print(json.dumps([code, len(begun), sorted(sys.modules)]))
"""

COMMANDS = [
    ("runs", "list"), ("runs", "show", "1"), ("inbox", "--all"), ("jobs", "list"), ("workflows", "list"),
    ("schedule", "list"), ("user", "list"),
]  # fmt: skip


def cost(*arguments: str, **settings: str) -> tuple[int, int, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True, text=True, check=False, env=environment(settings),
    )  # fmt: skip
    assert done.stdout, done.stderr
    code, connects, modules = json.loads(done.stdout.splitlines()[-1])
    return code, connects, set(modules)


@pytest.fixture
def run_1(dsn: str) -> str:
    """A database with one run of one step."""
    yaml = "workflow: one\nsteps: [first]\n"
    program = [sys.executable, "-m", "stepwell"]
    there = environment({"STEPWELL_DATABASE_URL": api(dsn)})
    subprocess.run(
        [*program, "publish", "/dev/stdin"], input=yaml, text=True, check=True, env=there,
        capture_output=True,
    )  # fmt: skip
    subprocess.run([*program, "start", "one"], check=True, env=there, capture_output=True)
    return dsn


def test_a_command_that_reads_connects_once_and_loads_little(run_1: str):
    for arguments in COMMANDS:
        code, connects, modules = cost(*arguments, STEPWELL_DATABASE_URL=run_1)
        assert (code, connects) == (0, 1), arguments
        loaded = {name for name in modules if name in FORBIDDEN or name.partition(".")[0] in FORBIDDEN}
        assert loaded == set(), arguments


def test_a_running_embedded_server_is_used_without_asking_it_first(data_dir: Path):
    with EmbeddedServer(data_dir) as server:
        code, _, _ = cost("db", "migrate", STEPWELL_DATA_DIR=str(data_dir))
        assert code == 0
        code, connects, modules = cost("runs", "list", STEPWELL_DATA_DIR=str(data_dir))
        assert (code, connects) == (0, 1)
        assert "psutil" not in modules
        assert server.postmaster_pid is not None


def test_an_address_where_nobody_answers_is_told_at_once():
    done = subprocess.run(
        [sys.executable, "-m", "stepwell", "runs", "list"],
        capture_output=True, text=True, check=False,
        env=environment({"STEPWELL_DATABASE_URL": "host=127.0.0.1 port=1 dbname=x"}),
    )  # fmt: skip
    assert done.returncode == 1
    assert "the database cannot be reached" in done.stderr


def test_the_number_of_modules_is_bounded(run_1: str):
    """Each module costs about half a millisecond; what is not needed is imported where it is used."""
    code, _, modules = cost("runs", "list", STEPWELL_DATABASE_URL=run_1)
    assert code == 0
    own = {name for name in modules if name.partition(".")[0] == "stepwell"}
    assert len(own) <= OWN_LIMIT, sorted(own)
    assert len(modules) <= MODULE_LIMIT, sorted(modules)
