"""The page of sentences names tests, functions and views that exist, and each of its rows names a test."""

from __future__ import annotations

import re

from tests.tidy.sources import ROOT, files, read

PAGE = (ROOT / "docs/sentences.md").read_text(encoding="utf-8")
ROWS = [
    line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| sen", "| wha"))
]
NAMED = set(re.findall(r"`([a-z_]+)`", PAGE))


def test_every_test_on_the_page_exists():
    found = {
        name for path in files(".py", under="tests") for name in re.findall(r"def (test_\w+)\(", read(path))
    }
    assert set(re.findall(r"`(test_\w+)`", PAGE)) - found == set()


def test_every_function_on_the_page_exists():
    routines = "\n".join(path.read_text() for path in (ROOT / "src/stepwell/sql/routines").rglob("*.sql"))
    functions = {name for name in NAMED if name.startswith(("fn_", "_"))}
    assert len(functions) > 30
    assert {name for name in functions if f"stepwell.{name}(" not in routines} == set()


def test_every_row_names_a_test():
    assert len(ROWS) > 120
    bare = [row for row in ROWS if "`test_" not in row]
    # Nothing can prove that an id is no uuid.
    assert len(bare) == 1, bare
    assert "uuid" in bare[0]
