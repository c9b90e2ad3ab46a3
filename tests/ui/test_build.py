"""The build of the web console: skipped when nothing changed, and a failed one keeps the old files."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest

import hatch_build
from stepwell.api.ui import UI_DIST

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "ui" / "package-lock.json"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "ui"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.ts").write_text("one")
    (folder / "package-lock.json").write_text("{}")
    return folder


def test_a_build_of_unchanged_sources_is_skipped():
    hatch_build.build_ui(ROOT)
    assert hatch_build.build_ui(ROOT) is False


def test_the_fingerprint_depends_on_contents_and_names_but_not_on_times(sources: Path):
    first = hatch_build.fingerprint(sources)
    (sources / "src" / "main.ts").touch()
    assert hatch_build.fingerprint(sources) == first
    (sources / "src" / "main.ts").write_text("two")
    second = hatch_build.fingerprint(sources)
    (sources / "src" / "main.ts").rename(sources / "src" / "other.ts")
    assert len({first, second, hatch_build.fingerprint(sources)}) == 3


def test_the_fingerprint_ignores_installed_packages(sources: Path):
    before = hatch_build.fingerprint(sources)
    shutil.copytree(sources / "src", sources / "node_modules" / "package")
    assert hatch_build.fingerprint(sources) == before


def test_a_failed_build_keeps_the_old_one(tmp_path: Path):
    """npm refuses the lock file: the build ends with one sentence, and the old web console is kept."""
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "package-lock.json").write_text("{}")
    old = tmp_path / "src" / "stepwell" / "ui_dist" / "index.html"
    old.parent.mkdir(parents=True)
    old.write_text("old")
    with pytest.raises(SystemExit, match="could not be built"):
        hatch_build.build_ui(tmp_path)
    assert old.read_text() == "old"


def test_the_lock_file_names_no_registry():
    text = LOCK.read_text()
    assert "registry" not in text
    assert not [place for place, package in json.loads(text)["packages"].items() if "resolved" in package]


def test_the_lock_file_has_the_packages_of_other_platforms():
    """npm leaves out packages of other platforms if the registry has none; our lock file must be complete."""
    places = json.loads(LOCK.read_text())["packages"]
    for platform in ("darwin-arm64", "darwin-x64", "linux-arm64-gnu", "linux-x64-gnu", "win32-x64-msvc"):
        assert f"node_modules/@rolldown/binding-{platform}" in places
        assert f"node_modules/lightningcss-{platform}" in places


def test_what_the_page_of_a_run_loads_first_has_at_most_200_kilobytes():
    page = (UI_DIST / "index.html").read_text()
    first = {UI_DIST / name for name in re.findall(r'(?:src|href)="/([^"]+)"', page)}
    run = set((UI_DIST / "assets").glob("RunPage-*"))
    assert {path.suffix for path in run} == {".js", ".css"}
    assert any(path.name.startswith("index-") for path in first)
    assert sum(len(gzip.compress(path.read_bytes())) for path in first | run) <= 200_000
