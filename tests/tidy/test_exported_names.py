"""The public API is fixed by a list: a name is added or removed together with this list and the changelog."""

from __future__ import annotations

from pathlib import Path

import stepwell
from stepwell import connectors
from tests.tidy.sources import read

COMMITTED = Path("tests/tidy/exported_names.txt")


def test_the_exported_names_equal_the_committed_list():
    committed = read(COMMITTED).split()
    assert committed == sorted(committed)
    assert sorted(stepwell.__all__) == committed


def test_dir_shows_what_is_exported_and_nothing_else():
    shown = {name for name in dir(stepwell) if not name.startswith("__")}
    assert shown == {name for name in stepwell.__all__ if not name.startswith("__")} | {
        "connectors",
        "testing",
    }
    assert {name for name in dir(connectors) if not name.startswith("__")} == {*connectors.__all__}
    assert all(hasattr(connectors, name) for name in connectors.__all__)


def test_every_exported_name_exists():
    missing = [name for name in stepwell.__all__ if not hasattr(stepwell, name)]
    assert not missing
