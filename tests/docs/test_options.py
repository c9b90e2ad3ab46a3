"""The documented options and defaults equal those of the code."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from stepwell.define import Human, Retry
from tests.tidy.sources import read


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Human)])
def test_every_option_of_a_human_step_is_documented(name):
    section = read(Path("docs/people.md")).split("## Options of a human step")[1].split("\n## ")[0]
    assert f"| `{name}` |" in section


def test_the_documented_defaults_of_a_retry_equal_the_code():
    line = next(
        line for line in read(Path("docs/workflows.md")).splitlines() if line.startswith("| `retry` |")
    )
    defaults = Retry()
    assert f"`max_attempts` ({defaults.max_attempts})" in line
    assert f"`initial` ({defaults.initial}s)" in line
    assert f"`max` ({int(defaults.max) // 60}m)" in line
    assert f"`multiplier` ({defaults.multiplier})" in line


def test_the_documented_default_of_attempts_equals_the_schema():
    snapshot = read(Path("src/stepwell/sql/schema.snapshot.sql"))
    table = snapshot.split("create table stepwell.operation (")[1].split(");")[0]
    found = re.search(r"max_attempts smallint default (\d+)", table)
    assert found is not None
    assert int(found[1]) == Retry().max_attempts
    said = "an operation without `retry` has the same"
    assert said in read(Path("docs/workflows.md"))
