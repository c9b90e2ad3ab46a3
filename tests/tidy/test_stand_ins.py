"""Tests use the real parts: this file lists each test that replaces a function of ours, with the reason."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tests.tidy.sources import files, nodes

# File that replaces a function of ours → why the real function cannot be used.
REPLACED: dict[str, str] = {
    "tests/govern/test_no_bundle_tampering_is_silent.py": "calls the real function once for each file",
    "tests/model/test_differential.py": "plants a fault in one of two engines: the comparison must find it",
    "tests/model/test_the_oracle_of_document_002.py": "plants a fault in an engine: the oracle must find it",
    "tests/worker/test_a_waiter_is_notified.py": "removes the polling call: only the notification is left",
    "tests/worker/test_connections.py": "calls the real function, then loses its answer or spoils one report",
}


def replacements(tree: Sequence[ast.AST]) -> list[int]:
    """Lines that replace something other than a number; a limit or a pause may change."""
    return [
        node.lineno
        for node in tree
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "setattr"
        and not (node.args and _is_number(node.args[-1]))
    ]


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.Tuple):
        return all(_is_number(part) for part in value.elts)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def mocks(tree: Sequence[ast.AST]) -> list[int]:
    """Lines that import a library of mocks."""
    return [
        node.lineno
        for node in tree
        if (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1] == "mock")
        or (
            isinstance(node, ast.Import | ast.ImportFrom)
            and any(alias.name.split(".")[-1] == "mock" for alias in node.names)
        )
    ]


def test_every_replaced_function_has_a_reason():
    found = {str(path): lines for path in files(".py", under="tests") if (lines := replacements(nodes(path)))}
    unlisted = {path: lines for path, lines in found.items() if path not in REPLACED}
    assert not unlisted, "use the real part, or give the reason in tests/tidy/test_stand_ins.py"
    assert set(REPLACED) <= set(found), "a reason in tests/tidy/test_stand_ins.py is no longer needed"


def test_no_test_imports_mocks():
    found = [f"{path}:{line}" for path in files(".py", under="tests") for line in mocks(nodes(path))]
    assert not found, "use the real part"


def test_the_rules_see_each_form():
    source = (
        "from unittest.mock import Mock\nfrom unittest import mock\nimport unittest.mock as m\n"
        "monkeypatch.setattr(module, 'LIMIT', 1)\nmonkeypatch.setattr('module.PAUSES', (0.0, 1))\n"
        "monkeypatch.setattr(module, 'call', other)\nmonkeypatch.setattr(*planted)\n"
        "monkeypatch.setattr(module.Client, 'ask', None)\n"
    )
    tree = list(ast.walk(ast.parse(source)))
    assert mocks(tree) == [1, 2, 3]
    assert replacements(tree) == [6, 7, 8]
