"""The names in the first table of GLOSSARY.md exist: in the schema, in Python and on the command line."""

from __future__ import annotations

import re

import pytest

from stepwell.cli.commands import COMMANDS
from tests.tidy.sources import ROOT

SQL = ROOT / "src/stepwell/sql"
NAME = re.compile(r"`([^`]+)`")
WORD = re.compile(r"[a-z_]+[a-z0-9_]*")


def rows() -> list[list[str]]:
    """The cells of each row: thing, name, Python, SQL, CLI, API and UI."""
    text = (ROOT / "GLOSSARY.md").read_text(encoding="utf-8")
    table = text.partition("## One name for each thing")[2].partition("\n## ")[0]
    found = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in found[2:]]


def words_of(*patterns: str) -> set[str]:
    """Every word of these files."""
    return {
        word
        for pattern in patterns
        for path in (ROOT / "src/stepwell").glob(pattern)
        for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))
    }


@pytest.fixture(scope="module")
def sql_words() -> set[str]:
    return words_of("sql/schema.snapshot.sql", "sql/routines/*/*.sql")


@pytest.fixture(scope="module")
def python_words() -> set[str]:
    return words_of("**/*.py")


def test_every_row_has_all_columns_and_no_thing_has_two_rows():
    assert len(rows()) > 30
    assert {len(row) for row in rows()} == {6}
    names = [row[1].partition(";")[0] for row in rows()]
    assert sorted(names) == sorted(set(names))


def test_the_sql_names_exist(sql_words):
    given = {word for row in rows() for name in NAME.findall(row[3]) for word in WORD.findall(name)}
    # `retry_…` stands for several columns.
    assert {word for word in given if not word.endswith("_")} - sql_words == set()


def test_the_python_names_exist(python_words):
    given = {word for row in rows() for name in NAME.findall(row[2]) for word in re.findall(r"\w+", name)}
    assert given - python_words == set()


def test_the_commands_and_options_exist():
    reference = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    settings = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    for row in rows():
        for name in NAME.findall(row[4]):
            if name.startswith("STEPWELL_"):
                assert name in settings
            elif name.startswith("--"):
                assert name in reference
            elif name.endswith(":") or name in ("if", "else"):
                continue  # a word of YAML
            elif name not in ("approve", "reject"):
                assert name.partition(" ")[0] in COMMANDS, name
                assert f"stepwell {name}" in reference, name
