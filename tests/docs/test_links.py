"""Every link within the project has a target."""

from __future__ import annotations

import os.path
from pathlib import Path

import pytest

from tests.docs.documents import anchors, documents, links
from tests.tidy.sources import ROOT, files


@pytest.mark.parametrize("path", documents(), ids=str)
def test_every_link_has_a_target(path):
    broken = []
    for target in links(path):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        page = Path(os.path.normpath(path.parent / name)) if name else path
        if not (ROOT / page).exists() or (anchor and anchor not in anchors(page)):
            broken.append(target)
    assert not broken


def test_the_index_of_decisions_links_every_decision():
    decisions = {path.name for path in files(".md", under="docs/decisions")} - {"README.md"}
    assert links(Path("docs/decisions/README.md")) >= decisions


def test_the_documentation_index_links_every_page():
    pages = {path.name for path in files(".md", under="docs") if path.parent == Path("docs")} - {"index.md"}
    assert links(Path("docs/index.md")) >= pages
