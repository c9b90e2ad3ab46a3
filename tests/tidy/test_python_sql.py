"""SQL is in src/stepwell/sql only: Python calls functions and reads views, and only in store/calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.tidy.sources import files, nodes

CALLS = Path("src/stepwell/store/calls")
STATEMENT = re.compile(
    r"insert into |update \w+(\.|\s+set )|delete from |create (table|function|view) |with \w+ as "
    r"|select .*\bfrom ",
    re.IGNORECASE | re.DOTALL,
)
# Keywords that a plain call does not need; a statement with one of them belongs into a view or a function.
QUERY = re.compile(
    r"\bjoin\b|\bunion\b|\bcase\b|\bover\b|\bgroup by\b|\(\s*select\b|\bfrom\b.*\bfrom\b"
    r"|\b(with|insert|update|delete)\b",
    re.IGNORECASE | re.DOTALL,
)


def texts(tree: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Every text with its line; each value that an f-string inserts counts as one word."""
    parts = {id(part) for node in tree if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in tree:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values),
            )


def statements(tree: Sequence[ast.AST]) -> list[tuple[int, str]]:
    return [(line, text) for line, text in texts(tree) if STATEMENT.match(text.strip())]


def test_only_the_modules_in_store_calls_hold_statements():
    found = [
        f"{path}:{line}"
        for path in files(".py", under="src/stepwell")
        if not path.is_relative_to(CALLS)
        for line, _ in statements(nodes(path))
    ]
    assert not found, "SQL belongs into src/stepwell/sql, its call into src/stepwell/store/calls"


def test_a_call_names_one_function_or_view():
    found = {
        str(path): [line for line, text in statements(nodes(path)) if QUERY.search(text.strip())]
        for path in files(".py", under=str(CALLS))
    }
    querying = {path: lines for path, lines in found.items() if lines}
    assert not querying, "make it a view or a function"


def test_the_rules_see_each_form():
    source = (
        'a = "select x from stepwell.v_a as a where a.b = %s order by a.c limit 1"\n'
        'b = f"select {columns} from stepwell.fn_a(%s) as a"\n'
        'c = "select 1"\n'
        'd = "a sentence that says: select one from these"\n'
        'e = "select x from a inner join b on true"\n'
        'f = "select (select y from b) from a"\n'
        'g = f"insert into stepwell.{name} values (%s)"\n'
        'h = "with a as (delete from b) select x from a"\n'
        'i = "update stepwell.a set b = 1"\n'
        'j = "select case when x then y end from a"\n'
    )
    tree = list(ast.walk(ast.parse(source)))
    assert [line for line, _ in statements(tree)] == [1, 2, 5, 6, 7, 8, 9, 10]
    assert [line for line, text in statements(tree) if QUERY.search(text)] == [5, 6, 7, 8, 9, 10]
