"""The changelog has its form, and the version is written in one place."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import stepwell
from tests.tidy.sources import read

KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_changelog_has_its_form():
    text = read(Path("CHANGELOG.md"))
    assert re.search(r"^## \[Unreleased\]$", text, re.MULTILINE)
    for heading in re.findall(r"^## (.+)$", text, re.MULTILINE):
        assert re.fullmatch(r"\[Unreleased\]|\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", heading)
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= KINDS


def test_the_version_is_written_only_in_the_package():
    settings = tomllib.loads(read(Path("pyproject.toml")))
    assert "version" not in settings["project"]
    assert settings["project"]["dynamic"] == ["version"]
    (place,) = settings["tool"]["hatch"]["version"].values()
    assert f'__version__ = "{stepwell.__version__}"' in read(Path(place))


def test_the_licence_is_complete():
    licence = read(Path("LICENSE"))
    assert licence.lstrip().startswith("Apache License")
    assert "END OF TERMS AND CONDITIONS" in licence
