"""Every module has a docstring that says what it does, and no module has a name that says nothing."""

from __future__ import annotations

import ast

import pytest

from tests.tidy.sources import files, syntax

FORBIDDEN_STEMS = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "base"}
DOCSTRING_LINES = 5
# The docstring of errors.py shows the tree of exceptions; that of the package is its manual.
LONGER_DOCSTRING = {"src/stepwell/errors.py", "src/stepwell/__init__.py"}
# The contract of all connectors: they all derive from it, so here the name says what the module is.
ALLOWED_NAMES = {"src/stepwell/connectors/base.py"}
MODULES = [*files(".py", under="src"), *files(".py", under="scripts"), *files(".py", under="bench")]


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_the_docstring_of_a_module_has_one_to_five_lines(path):
    docstring = ast.get_docstring(syntax(path))
    assert docstring, f"{path} has no docstring: name its verb, what it receives, what it returns"
    if str(path) not in LONGER_DOCSTRING:
        count = len([line for line in docstring.splitlines() if line.strip()])
        assert count <= DOCSTRING_LINES, f"{path}: {count} lines of docstring; at most {DOCSTRING_LINES}"


def test_the_name_of_a_module_says_what_it_does():
    named = {str(path) for path in files(".py", ".sql", ".ts", ".vue") if path.stem in FORBIDDEN_STEMS}
    vague = sorted(named - ALLOWED_NAMES)
    assert not vague, "name a module after the verb it serves"
