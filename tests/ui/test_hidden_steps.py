"""A step that a role does not see is nowhere in the console; who sees it finds it everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.databases import Databases
from tests.ui.signing import sign_in
from tests.ui.world import World, world

HIDDEN = ("Inspect the parcel", "inspect")


@pytest.fixture(scope="module")
def place(databases: Databases, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(databases, template, Path(tmp_path_factory.mktemp("data"))) as made:
        db = made.engine.db
        db.execute("select fn_step_permission_set(1, 'order.flow', 'inspect', '{finance}')")
        db.execute("select fn_content_permission_set(1, 'guide', '{finance}')")
        yield made


def opened(browser: Browser, place: World, name: str, *roles: str) -> Page:
    context = browser.new_context(base_url=place.base_url, viewport={"width": 1440, "height": 900})
    sign_in(context, place.dsn, place.base_url, name, *roles)
    return context.new_page()


@pytest.fixture
def outsider(browser: Browser, place: World) -> Iterator[Page]:
    page = opened(browser, place, "outsider", "operator")
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    page.context.close()
    assert faults == []


@pytest.fixture
def insider(browser: Browser, place: World) -> Iterator[Page]:
    page = opened(browser, place, "insider", "finance", "operator")
    yield page
    page.context.close()


PAGES = {
    "/runs/{run}": ".node",
    "/runs/{run}?tab=list": ".row",
    "/runs/{run}?tab=timeline": ".row",
    "/workflows/order.flow": ".node",
}


@pytest.mark.requirement("UI-16")
@pytest.mark.parametrize("path", PAGES)
def test_a_hidden_step_is_on_no_page(outsider: Page, insider: Page, place: World, path: str):
    for page, is_shown in ((insider, True), (outsider, False)):
        page.goto(path.format(run=place.run))
        expect(page.locator(PAGES[path]).first).to_be_visible()
        expect(page.get_by_text("Charge the card").first).to_be_visible()
        if is_shown:
            expect(page.get_by_text(HIDDEN[0]).first).to_be_visible()
        else:
            expect(page.get_by_text(HIDDEN[0])).to_have_count(0)
            assert all(text not in page.content() for text in HIDDEN[:1])


def test_the_search_of_a_run_does_not_find_it(outsider: Page, insider: Page, place: World):
    for page, hits in ((insider, 1), (outsider, 0)):
        page.goto(f"/runs/{place.run}")
        expect(page.locator(".node").first).to_be_visible()
        page.get_by_role("searchbox").first.fill("Inspect")
        expect(page.locator(".node.hit, .node[data-hit]")).to_have_count(hits)


def test_its_panel_does_not_exist(outsider: Page, insider: Page, place: World):
    number = place.engine.unit(place.run, "inspect") & 0xFFFFF
    insider.goto(f"/runs/{place.run}?step={number}&open=content")
    expect(insider.get_by_text("Look at it").first).to_be_visible()
    outsider.goto(f"/runs/{place.run}?step={number}&open=content")
    expect(outsider.locator(".node").first).to_be_visible()
    assert "Look at it" not in outsider.content()
    assert HIDDEN[0] not in outsider.content()


def test_a_change_of_it_does_not_reach_the_page(outsider: Page, place: World):
    """The next step appears live; of the hidden one nothing does."""
    engine = place.engine
    run = engine.start("order.flow", {"order": "B-1", "abroad": False}, "B-1")
    outsider.goto(f"/runs/{run}")
    expect(outsider.locator(".node").first).to_be_visible()
    worker = engine.worker()
    engine.complete(worker, *engine.claim(worker), output={"items": [1]})
    engine.drain(worker)
    expect(outsider.locator(".node", has_text="Bill it")).to_contain_text("Completed")
    assert HIDDEN[0] not in outsider.content()
