"""Every page of the console in every theme with all rules of axe; in Vietnamese, dark themes for contrast.

One server for all; a theme is set on the page, not loaded.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.support.databases import Databases
from tests.tidy.sources import read
from tests.ui.looks import ALL_RULES, CONTRAST, THEMES, clean
from tests.ui.signing import sign_in
from tests.ui.world import World, world

ROUTE = re.compile(r'path: "([^"]+)"')
# Route → what is opened there, and what is visible when it is ready. Several pages have several views.
PAGES: dict[str, list[tuple[str, str]]] = {
    "/governance/problems": [("/governance/problems", "main .card, main .empty")],
    "/governance/timeline": [("/governance/timeline?run={run}", "main .card")],
    "/inbox": [("/inbox", "main .card")],
    "/runs": [("/runs", ".field .line"), ("/runs?state=cancelled", ".empty")],
    "/runs/:id(\\\\d{1,15})": [
        ("/runs/{run}", ".node"),
        ("/runs/{run}?step=1&open=receipts", "aside section, aside details"),
        ("/runs/{run}?tab=list", ".row"),
        ("/runs/{run}?tab=timeline", ".row"),
    ],
    "/workflows": [("/workflows", "tbody tr")],
    "/workflows/:id": [("/workflows/order.flow?compare=1", "[data-change]")],
    "/graphs": [("/graphs", "tbody tr"), ("/graphs?status=cancelled", ".empty")],
    "/approvals": [("/approvals", "tbody tr")],
    "/approvals/:id(\\\\d+)": [("/approvals/{approval}", "main form")],
    "/governance/dead-letters": [("/governance/dead-letters", "aside .cause, aside .empty")],
    "/governance/lag": [("/governance/lag", "main .card")],
    "/workers": [("/workers", "aside .executor")],
    "/evidence": [("/evidence", "main input")],
    "/sign-in": [("/sign-in", "form")],
    "/": [("/", "main .card")],
    "/settings": [("/settings", "main .card")],
    "/settings/people": [("/settings/people", "main .card")],
    "/settings/people/:name": [("/settings/people/mai", "main .card")],
    "/settings/tokens": [("/settings/tokens", "main .card, main .empty")],
    "/settings/sessions": [("/settings/sessions", "main .card")],
    "/:rest(.*)*": [("/nowhere", "h1")],
}
# Keys of translations: on a page, one would be a text that nobody translated.
KEY_LIKE = re.compile(r"\b[a-zA-Z]+(?:\.[a-zA-Z]+)+\b")
# A folder for pictures of all pages, for people who want to look at them.
PICTURES = os.environ.get("PICTURES_FOLDER")
_THEME = "theme => { document.documentElement.dataset.theme = theme; }"


@pytest.fixture(scope="module")
def place(databases: Databases, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(databases, template, Path(tmp_path_factory.mktemp("data"))) as made:
        yield made


@pytest.fixture(scope="module", params=["en-GB", "vi-VN"])
def context(request: pytest.FixtureRequest, browser: Browser, place: World) -> Iterator[BrowserContext]:
    made = browser.new_context(
        base_url=place.base_url, locale=request.param, viewport={"width": 1440, "height": 900}
    )
    sign_in(made, place.dsn, place.base_url, "ben", "admin", "office")
    yield made
    made.close()


def picture(page: Page, path: str, look: str) -> None:
    if PICTURES:
        language = page.evaluate("document.documentElement.lang")
        name = re.sub(r"\W+", "-", path).strip("-") or "health"
        page.screenshot(path=Path(PICTURES) / f"page-{name}-{look}-{language}.png")


@cache
def translation_keys() -> set[str]:
    def flat(node: Any, path: str) -> Iterator[str]:
        if isinstance(node, dict):
            for name, part in node.items():
                yield from flat(part, f"{path}.{name}" if path else name)
        elif "." in path:
            yield path

    files = Path("ui/src/locales").glob("en*.json")
    return {key for file in files for key in flat(json.loads(file.read_text()), "")}


def test_every_route_is_listed():
    assert set(ROUTE.findall(read(Path("ui/src/router.ts")))) == set(PAGES)


@pytest.mark.parametrize("route", PAGES)
def test_axe_finds_nothing_with_any_rule_in_any_theme(page: Page, place: World, route: str):
    for path, ready in PAGES[route]:
        page.goto(path.format(run=place.run, approval=place.approval))
        expect(page.locator(ready).first).to_be_visible()
        # Themes differ in colours: in Vietnamese the other themes are checked for contrast only.
        is_english = page.evaluate("document.documentElement.lang") == "en"
        for theme in THEMES:
            page.evaluate(_THEME, theme)
            clean(page, ALL_RULES if is_english or theme == THEMES[0] else CONTRAST)
            picture(page, path, theme)
        assert translation_keys() & set(KEY_LIKE.findall(page.locator("body").inner_text())) == set()
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off"
        picture(page, path, "phone")
        page.set_viewport_size({"width": 1440, "height": 900})
