"""A file has at most 400 lines and a function at most 70, so that each can be read at once."""

from __future__ import annotations

import ast

import pytest

from tests.tidy import limits, sql_source
from tests.tidy.sources import files, nodes, read

SOURCE_SUFFIXES = (".py", ".sql", ".ts", ".vue", ".css", ".sh", ".js")
GENERATED = {"schema.snapshot.sql", "openapi.d.ts"}


def file_lengths() -> dict[str, int]:
    return {
        str(path): len(read(path).splitlines())
        for path in files(*SOURCE_SUFFIXES)
        if path.name not in GENERATED
    }


def function_lengths() -> dict[str, int]:
    lengths = {}
    for path in files(".py"):
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lengths[f"{path}::{node.name}"] = (node.end_lineno or node.lineno) - node.lineno + 1
    for path in files(".sql", under="src"):
        for routine in sql_source.routines(read(path)):
            lengths[f"{path}::{routine.name}"] = routine.line_count
    return lengths


@pytest.mark.parametrize(
    ("lengths", "limit", "exceptions"),
    [
        pytest.param(file_lengths, limits.FILE_LINES, limits.LONG_FILES, id="files"),
        pytest.param(function_lengths, limits.FUNCTION_LINES, limits.LONG_FUNCTIONS, id="functions"),
    ],
)
def test_nothing_is_too_long_without_a_reason(lengths, limit, exceptions):
    too_long = {name: count for name, count in lengths().items() if count > limit}
    without_reason = {name: count for name, count in too_long.items() if name not in exceptions}
    assert not without_reason, f"over {limit} lines; split it, or give a reason in tests/tidy/limits.py"
    assert set(exceptions) <= set(too_long), "an exception in tests/tidy/limits.py is no longer needed"
    assert all(exceptions.values()), "an exception needs its reason"
