"""The page about HTTP names every resource, and no page names a path that does not exist."""

from __future__ import annotations

import re

import pytest

from tests.api.routes import made
from tests.tidy.sources import ROOT

BASE = "/api/v1"
CALL = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) (?:/api/v1)?(/[a-z][\w{}/.-]*)")
# Outside the document.
ELSEWHERE = {"/openapi.json", "/metrics", "/healthz", "/readyz"}


def shape(path: str) -> str:
    """A path whose parameters have no names."""
    return re.sub(r"\{\w+\}", "{}", path).rstrip("/.")


def test_the_table_of_resources_is_complete():
    page = (ROOT / "docs/http.md").read_text(encoding="utf-8")
    table = page.partition("## The resources")[2].partition("\n## ")[0]
    named = set(re.findall(r"/([a-z][a-z-]*)", table))
    paths = {
        path.removeprefix(f"{BASE}/").split("/")[0]
        for path in made().openapi()["paths"]
        if path.startswith(BASE)
    }
    assert paths - named == set()


@pytest.mark.parametrize("name", ["http.md", "live.md", "console.md", "people.md", "evidence.md"])
def test_a_call_that_a_page_names_exists(name: str):
    documented = {
        (method.upper(), shape(path.removeprefix(BASE)))
        for path, methods in made().openapi()["paths"].items()
        for method in methods
    }
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    told = {(method, shape(path)) for method, path in CALL.findall(page) if path not in ELSEWHERE}
    assert told - documented == set()
