"""The requirements, the tests that name them, and the list of those still open."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from tests.tidy.sources import files, nodes, read

KNOWN = Path("tests/requirements.toml")
OPEN = Path("tests/requirements_open.txt")
ID = re.compile(r"[A-Z]{2}-\d{2}")


def known_ids() -> set[str]:
    return set(tomllib.loads(read(KNOWN)))


def parse_open(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def open_ids() -> list[str]:
    return parse_open(read(OPEN))


def marked_ids() -> dict[str, list[str]]:
    """Requirement id → the places whose `pytest.mark.requirement(...)` names it."""
    marked: dict[str, list[str]] = {}
    for path in files(".py", under="tests"):
        if path.is_relative_to("tests/tidy"):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.requirement"):
                for argument in node.args:
                    if isinstance(argument, ast.Constant):
                        marked.setdefault(str(argument.value), []).append(f"{path}:{node.lineno}")
    return marked
