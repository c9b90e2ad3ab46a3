"""Random SQL/JSON paths over {input: …}, and random documents: harmless, failing and costly ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

__all__ = ["documents", "paths"]

KEYS = ("a", "b", "c", "when")
SCALARS = st.sampled_from(
    [0, 1, -3.5, 1e300, True, None, "", "a", "a" * 60, "2026-01-01", "2026-01-01T10:00:00Z", "10:00:00", "12"]
)
LITERALS = st.sampled_from(
    ['"a"', "1", "-2", "1.5", "true", "null", '""', '"2026-01-01T00:00:00Z".datetime()']
)
ACCESSORS = st.sampled_from(
    [
        ".a",
        ".b",
        ".c",
        '."when"',
        "[*]",
        "[0]",
        "[last]",
        "[0 to 1]",
        "[0, 0]",
        "[last - 1]",
        "[$.input.a]",
        ".*",
        ".**",
    ]
)
METHODS = st.sampled_from(
    [
        ".datetime()",
        ".date()",
        ".timestamp_tz()",
        ".size()",
        ".type()",
        ".double()",
        ".abs()",
        ".keyvalue()",
        ".number()",
    ]
)
PATTERNS = st.sampled_from(["^a+$", "^((a+)\\\\2)+$", "(?=a)a*b", "(a{1,30}){1,40}", "(a|b)*c", "a{3}"])
COMPARISONS = st.sampled_from(["==", "!=", "<", ">=", "<>"])


@st.composite
def chains(draw: st.DrawFn, root: str, depth: int) -> str:
    text = root if root == "@" else "$.input"
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.integers(0, 9))
        if kind < 6:
            text += draw(ACCESSORS)
        elif kind < 8:
            text += draw(METHODS)
        elif depth > 0:
            text += f" ? ({draw(predicates('@', depth - 1))})"
    return text


@st.composite
def operands(draw: st.DrawFn, root: str, depth: int) -> str:
    kind = draw(st.integers(0, 9))
    if kind < 3:
        return draw(LITERALS)
    chain = draw(chains("$" if kind == 9 else root, depth))
    if kind == 8:
        return f"({chain} {draw(st.sampled_from('+-*/%'))} {draw(LITERALS.filter(str.isdigit))})"
    return f"-{chain}" if kind == 7 else chain


@st.composite
def predicates(draw: st.DrawFn, root: str, depth: int) -> str:
    kind = draw(st.integers(0, 9))
    if kind < 5:
        return f"{draw(operands(root, depth))} {draw(COMPARISONS)} {draw(operands(root, depth))}"
    chain = draw(chains(root, depth))
    if kind == 5:
        return f'{chain} like_regex "{draw(PATTERNS)}"'
    if kind == 6:
        return f'{chain} starts with "a"'
    if kind == 7:
        return f"exists ({chain})"
    if kind == 8:
        return f"!({draw(predicates(root, depth))})" if depth > 0 else f"exists ({chain})"
    joined = draw(st.sampled_from(["&&", "||"]))
    return f"({chain} == 1) {joined} {draw(operands(root, 0))} < 3"


def paths() -> st.SearchStrategy[str]:
    whole = st.one_of(predicates("$", 3), chains("$", 3), operands("$", 2))
    return st.builds(lambda mode, path: mode + path, st.sampled_from(["", "", "", "strict "]), whole)


def documents() -> st.SearchStrategy[dict[str, Any]]:
    """Small documents, and some with lists of thousands of values."""
    lists = st.integers(100, 4_000).map(lambda count: list(range(count)))
    values = st.recursive(
        SCALARS | lists,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
        max_leaves=12,
    )
    return st.dictionaries(st.sampled_from(KEYS), values, max_size=4)
