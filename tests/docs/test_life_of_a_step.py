"""The page about the life of a step names existing functions, each with the file that holds it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from tests.tidy.sources import ROOT, read
from tests.tidy.sql_calls import FOLDER, graph

PAGE = Path("docs/life-of-a-step.md")
# `room/file.sql`: `function`, `function`
PLACE = re.compile(r"`([a-z]+/[a-z_]+\.sql)`((?::\s)?(?:`[a-z_]+`(?:,\s)?)*)")


def places() -> list[tuple[str, str]]:
    """(file, function) of every place that the page names; an empty function if it names only the file."""
    found = []
    for file, names in PLACE.findall(read(PAGE)):
        found += [(file, name) for name in re.findall(r"`([a-z_]+)`", names)] or [(file, "")]
    return found


def rows() -> list[str]:
    """The rows of the tables, without their headings."""
    lines = read(PAGE).splitlines()
    return [line for line, after in pairwise(lines) if line.startswith("| ") and not after.startswith("|---")]


def test_every_named_file_exists():
    missing = {file for file, _ in places() if not (ROOT / FOLDER / file).is_file()}
    assert not missing


def test_every_named_function_is_in_the_named_file():
    homes = graph().homes
    assert len(places()) > 100
    wrong = [(file, name) for file, name in places() if name and homes.get(name) != file]
    assert not wrong


def test_every_function_named_in_the_text_or_the_diagram_exists():
    named = set(re.findall(r"\b(?:_[a-z]+_[a-z_]+|fn_[a-z_]+)\b", read(PAGE)))
    assert not named - set(graph().homes)


def test_every_row_names_its_file():
    found = rows()
    assert len(found) > 50
    assert not [row for row in found if ".sql`" not in row]


def test_every_kind_of_step_has_a_row():
    """Each kind of step in advance/steps.sql has its own row."""
    text = read(PAGE).split("## The kinds of steps")[1].split("\n## ")[0]
    kinds = {"operation", "conditional", "map", "wait", "sub-workflow", "human"}
    assert kinds <= {row.split("|")[1].strip() for row in text.splitlines() if row.startswith("| ")}
