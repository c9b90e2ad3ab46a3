"""Every module says what it does, and no module is a drawer for leftovers."""

from __future__ import annotations

import ast

import pytest

from tests.tidy.sources import files, syntax

FORBIDDEN_STEMS = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "base"}
DOCSTRING_LINES = 5
# errors.py draws the tree of exceptions in its docstring, as the style asks.
LONGER_DOCSTRING = {"src/stepwell/errors.py", "src/stepwell/__init__.py"}
# The contract of all connectors; the name says what each of them stands on.
NAMED_ANYWAY = {"src/stepwell/connectors/base.py"}
MODULES = [*files(".py", under="src"), *files(".py", under="scripts"), *files(".py", under="bench")]


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_opens_with_one_to_five_lines_on_what_it_does(path):
    docstring = ast.get_docstring(syntax(path))
    assert docstring, f"{path} has no docstring: name its verb, what it receives, what it returns"
    if str(path) not in LONGER_DOCSTRING:
        count = len([line for line in docstring.splitlines() if line.strip()])
        assert count <= DOCSTRING_LINES, f"{path}: {count} lines of docstring; at most {DOCSTRING_LINES}"


def test_no_module_is_named_after_nothing():
    named = {str(path) for path in files(".py", ".sql", ".ts", ".vue") if path.stem in FORBIDDEN_STEMS}
    vague = sorted(named - NAMED_ANYWAY)
    assert not vague, "name a module after the verb it serves"
