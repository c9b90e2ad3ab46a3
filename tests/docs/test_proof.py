"""The page about the seal says of every table whether verification compares it."""

from __future__ import annotations

import re

from tests.govern.tamper import TABLES
from tests.tidy.sources import ROOT

SNAPSHOT = ROOT / "src/stepwell/sql/schema.snapshot.sql"
PAGE = ROOT / "docs/audit.md"


def listed() -> list[str]:
    """The tables that the page lists as not compared."""
    text = PAGE.read_text(encoding="utf-8").split("## What the seal does not cover")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", text.split("| tables | why not |")[1], re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`(\w+)`", row)]


def test_every_table_is_attacked_or_listed_with_its_reason():
    found = re.findall(r"^create table stepwell\.(\w+) ", SNAPSHOT.read_text(encoding="utf-8"), re.MULTILINE)
    tables = {name for name in found if not re.search(r"_\d{4}_\d{2}$", name)}
    assert sorted({*listed()}) == sorted(listed())
    assert tables - {*TABLES} - {*listed()} == set(), "cover these tables, or list them in docs/audit.md"
    assert {*listed()} - (tables - {*TABLES}) == set(), "these are no tables, or are attacked"
