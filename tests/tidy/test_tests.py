"""Tests wait for events, never for a fixed time."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

from tests.tidy.sources import files, nodes

# The only module that may sleep: it checks again and again for an event, with a pause between two checks.
POLLING = Path("tests/support/wait.py")
SLEEPERS = {("time", "sleep"), ("asyncio", "sleep"), ("anyio", "sleep"), ("trio", "sleep")}


def sleeps(tree: Sequence[ast.AST]) -> list[int]:
    """Lines that pause for a fixed time; sleep(0) only yields and is no wait."""
    imported = {
        alias.asname or alias.name
        for node in tree
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (node.module, alias.name) in SLEEPERS
    }
    lines = []
    for node in tree:
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if (module, name) in SLEEPERS:
                pass
            case ast.Name(id=name) if name in imported:
                pass
            case _:
                continue
        if not (node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0):
            lines.append(node.lineno)
    return lines


def test_no_test_sleeps():
    found = [
        f"{path}:{line}"
        for path in files(".py", under="tests")
        if path != POLLING
        for line in sleeps(nodes(path))
    ]
    assert not found, f"await the event instead, with {POLLING}"


def test_the_rule_finds_each_way_to_sleep():
    source = "import time, asyncio\nfrom time import sleep as nap\ntime.sleep(1)\nasyncio.sleep(0)\nnap(2)\n"
    assert sleeps(list(ast.walk(ast.parse(source)))) == [3, 5]


def test_a_question_about_sessions_is_about_those_of_the_own_database():
    """All tests of a run share one server: a test that counts or ends sessions of others disturbs them."""
    asked = [
        f"{path}:{node.lineno}"
        for path in files(".py", under="tests")
        if path.name != "test_tests.py"
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "pg_stat_activity" in node.value
        if not re.search(r"datname|\bpid = %s|where \{\}", node.value)
    ]
    assert not asked, "add: datname = current_database()"
