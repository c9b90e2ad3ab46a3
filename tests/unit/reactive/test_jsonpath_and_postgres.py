"""Paths evaluated in memory give the same result as PostgreSQL, or are refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from stepwell.reactive import jsonpath
from tests.support.databases import Databases
from tests.support.sample import sample

DOCUMENT = {
    "input": {
        "flag": True,
        "no": False,
        "n": 3,
        "half": 1.5,
        "word": "abc",
        "nothing": None,
        "a-b": 1,
        "list": [1, 2],
    },
    "steps": {
        "a": {"status": "completed", "output": {"items": [{"n": 1}, {"n": 2, "tag": "x"}, {}]}},
        "b": {"status": "failed", "output": None, "error": {"type": "ValueError"}},
    },
    "index": 2,
    "nested": [[1, 2], [3], "x", None, {"n": 5}],
}

PATHS = [
    "$.input.flag",
    "$.input.flag == true",
    "$.input.missing == true",
    "$.input.nothing == null",
    "$.input.nothing != 1",
    "$.input.nothing < 1",
    "$.input.n > 2 && $.input.n < 4",
    "$.input.word > 3",
    "$.input.word > 3 || $.input.flag == true",
    "$.input.word > 3 && $.input.no == true",
    "($.input.word > 3) is unknown",
    "!($.input.word > 3)",
    "!exists($.input.missing)",
    "exists($.steps.a.output.items[*].tag)",
    '$.steps.a.status == "completed"',
    '$."steps"."a"."status" <> "failed"',
    '$.input."a-b" == 1',
    '$.input.word starts with "ab"',
    '$.input.n starts with "3"',
    "$.steps.a.output.items",
    "$.steps.a.output.items[*]",
    "$.steps.a.output.items.n",
    "$.steps.a.output.items[0].n",
    "$.steps.a.output.items[last].n",
    "$.steps.a.output.items[1 to 2]",
    "$.steps.a.output.items[0, 2]",
    "$.steps.a.output.items[last - 1].tag",
    "$.steps.a.output.items[9]",
    "$.steps.a.output.items[*] ? (@.n > 1).tag",
    '$.steps.a.output.items ? (@.tag == "x" && exists(@.n))',
    "$.steps.a.output.items[*].n > 1",
    "$.steps.a.output.items.size()",
    "$.input.n.size()",
    "$.input.list.type()",
    "$.steps.*.status",
    "$.nested[*].n",
    "$.nested[*][0]",
    "$.nested.size()",
    "$.nested[*].type()",
    "$.nested == 3",
    "$.nested[*] == 3",
    "$.input == 3",
    "$.input.list == 2",
    "$.input.n + 1",
    "$.input.n * 2 == 6",
    "$.input.n - -1",
    "-$.input.list",
    "$.input.n / 2 == 1.5",
    "$.input.n % 2 == 1",
    "$.input.n / 0",
    "$.input.word + 1",
    "$.input.list + 1",
    "$.input.half.ceiling()",
    "$.input.half.floor() == 1",
    "(-$.input.half).abs()",
    '"12.5".double() > 12',
    "$.input.word.double()",
    "$.input.half == 1.5",
    "$.input.half == 15e-1",
    "lax $.input.flag",
    "true",
    "null",
    '"text"',
    "1.5",
    '"a\\u0062\\"c" == "ab\\"c"',
    "$.input.flag == true || $.input.no == true && $.input.no == true",
    "/* why */ $.input.n",
    "$ ? (@.index == 2).input.n",
    "$.input.list[$.index]",
    "$.input.list[$.input.word]",
]


@pytest.fixture(scope="module")
def db(databases: Databases) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(databases.server.admin_conninfo, autocommit=True) as connection:
        yield connection


def asked(db: psycopg.Connection[Any], path: str, document: Any) -> Any:
    """The values that PostgreSQL finds, comparable, or "error"."""
    try:
        rows = db.execute(
            "select found::text from jsonb_path_query(%s::jsonb, %s::jsonpath) as found",
            (json.dumps(document), path),
        ).fetchall()
    except psycopg.DataError:
        return "error"
    return [plain(json.loads(text, parse_float=Decimal)) for (text,) in rows]


def evaluated(path: str, document: Any) -> Any:
    try:
        return [plain(found) for found in jsonpath.query(path, document)]
    except jsonpath.PathError:
        return "error"


def plain(value: Any) -> Any:
    """Makes values comparable: numbers by value, whatever their type; booleans differ from numbers."""
    match value:
        case bool() | None | str():
            return (type(value).__name__, value)
        case list():
            return [plain(one) for one in value]
        case dict():
            return {key: plain(one) for key, one in value.items()}
        case _:
            return round(float(value), 9)


@pytest.mark.requirement("RX-10")
@pytest.mark.parametrize("path", PATHS)
def test_a_path_finds_what_postgres_finds(db: psycopg.Connection[Any], path: str):
    assert evaluated(path, DOCUMENT) == asked(db, path, DOCUMENT)


@pytest.mark.parametrize(
    "path",
    [
        "$.input.flag && true",
        "$.a == ",
        "$.a = 1",
        "$.a == 'x'",
        "$.a[",
        "!$.a",
        "$.a b",
        "",
        "exists $.a",
        "($.a",
    ],
)
def test_a_path_that_postgres_refuses_is_refused(db: psycopg.Connection[Any], path: str):
    with pytest.raises((psycopg.errors.SyntaxError, psycopg.errors.InvalidTextRepresentation)):
        db.execute("select %s::jsonpath", (path,))
    with pytest.raises(jsonpath.PathSyntaxError):
        jsonpath.query(path, DOCUMENT)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("strict $.a", "strict at 1 is evaluated by PostgreSQL only"),
        ('$.a like_regex "x"', "like_regex at 5 is evaluated by PostgreSQL only"),
        ("$.**.a", r"\.\*\* at 3 is evaluated by PostgreSQL only"),
        ("$.a.keyvalue()", r"\.keyvalue\(\) is evaluated by PostgreSQL only; accepted without a database"),
        ("$.a.datetime()", r"\.datetime\(\) is evaluated by PostgreSQL only"),
    ],
)
def test_a_path_that_only_postgres_can_evaluate_is_refused_with_the_reason(
    db: psycopg.Connection[Any], path: str, message: str
):
    db.execute("select %s::jsonpath", (path,))
    with pytest.raises(jsonpath.PathSyntaxError, match=message):
        jsonpath.query(path, DOCUMENT)


def test_match_requires_exactly_one_boolean():
    assert jsonpath.match("$.input.flag == true", DOCUMENT) is True
    for path, what in (("$.input.list[*]", "2 values"), ("$.input.x", "nothing"), ("$.input.word", "string")):
        with pytest.raises(jsonpath.PathError, match=f"the test gives {what}; accepted: one true or false"):
            jsonpath.match(path, DOCUMENT)


def documents() -> SearchStrategy[Any]:
    leaf = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "ab", "b"]))
    return st.recursive(
        leaf,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["a", "b", "c", "aa", "B", "é"]), inner, max_size=3)
        ),
        max_leaves=8,
    )


def paths() -> SearchStrategy[str]:
    steps = st.sampled_from(
        [".a", ".b", '."c"', "[*]", "[0]", "[last]", "[0 to 1]", ".*", ".size()", ".type()"]
    )
    roots = st.builds(lambda tail: "$" + "".join(tail), st.lists(steps, max_size=3))
    filtered = st.builds("{} ? (@.a == {})".format, roots, st.sampled_from(["1", '"a"', "true", "null"]))
    value = st.one_of(roots, filtered.map("({})".format), st.sampled_from(["1", '"a"', "true", "null", "0"]))
    compared = st.builds("{} {} {}".format, value, st.sampled_from(["==", "!=", "<", ">=", "<>"]), value)
    tested = compared | roots.map("exists({})".format) | roots.map('{} starts with "a"'.format)
    conditions = st.recursive(
        tested,
        lambda inner: (
            st.builds("({} && {})".format, inner, inner)
            | st.builds("({} || {})".format, inner, inner)
            | inner.map("!({})".format)
            | inner.map("({}) is unknown".format)
        ),
        max_leaves=3,
    )
    return st.one_of(roots, filtered, conditions, st.builds("{} + {}".format, roots, value))


@pytest.mark.requirement("RX-10")
@sample(150)
@given(path=paths(), document=documents())
@example(path="$.*", document={"aa": 1, "é": 2, "b": 3, "B": 4, "a": 5})
def test_any_path_over_any_document_finds_what_postgres_finds(
    db: psycopg.Connection[Any], path: str, document: Any
):
    assert evaluated(path, document) == asked(db, path, document)
