"""The page of a run: graph, list, timeline, step panel, live changes and the past, all of one real run."""

from __future__ import annotations

import re

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.sql.drive import Engine, human, operation

EDGES = [("fetch", "pack"), ("fetch", "sign"), ("pack", "ship"), ("sign", "ship"), ("ship", "bill")]


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


@pytest.fixture
def run(engine: Engine) -> int:
    """`fetch` is completed, `pack` is ready for a worker, `sign` waits for somebody of the office."""
    engine.publish(
        "order.process",
        operation("fetch"),
        operation("pack"),
        human("sign", role="office"),
        operation("ship"),
        operation("bill"),
        edges=EDGES,
    )
    started = engine.start("order.process", {"order": "A-1"}, "A-1")
    worker = engine.worker()
    engine.complete(worker, *engine.claim(worker, 1), output={"weight": 4})
    engine.db.commit()
    return started


def open_run(page: Page, run: int, query: str = "") -> None:
    page.goto(f"/runs/{run}{query}")
    expect(page.get_by_role("group", name="Graph of A-1")).to_be_visible()


def card(page: Page, name: str):  # type: ignore[no-untyped-def]
    return page.get_by_role("group", name="Graph of A-1").get_by_role("button", name=re.compile(f"^{name}, "))


@pytest.mark.requirement("UI-02", "UI-07")
def test_the_graph_shows_each_step_with_colour_icon_and_word(page: Page, run: int):
    open_run(page, run)
    expect(card(page, "fetch")).to_contain_text("Completed")
    expect(card(page, "pack")).to_contain_text("Ready")
    expect(card(page, "bill")).to_contain_text("Not started")
    for name in ("fetch", "pack", "sign", "ship", "bill"):
        assert card(page, name).locator("svg path").count() >= 1
        assert card(page, name).get_attribute("data-tl")
    expect(page.get_by_text("20 %")).to_be_visible()
    expect(page.get_by_text("1 of 5 mandatory steps")).to_be_visible()


@pytest.mark.requirement("UI-02")
def test_states_move_while_one_looks_and_the_selection_stays(page: Page, run: int, engine: Engine):
    open_run(page, run)
    expect(page.get_by_role("main").get_by_text("Live", exact=True)).to_be_visible()
    card(page, "ship").click()
    expect(page.get_by_role("complementary", name="Step ship")).to_be_visible()
    worker = engine.worker()
    engine.complete(worker, *engine.claim(worker, 1))
    engine.db.commit()
    expect(card(page, "pack")).to_contain_text("Completed")
    expect(page.get_by_role("complementary", name="Step ship")).to_be_visible()
    expect(card(page, "ship")).to_have_attribute("aria-pressed", "true")


def test_the_panel_gives_the_reason_and_has_an_address_for_each_section(page: Page, run: int):
    open_run(page, run)
    card(page, "fetch").click()
    panel = page.get_by_role("complementary", name="Step fetch")
    panel.get_by_role("button", name="Outputs").click()
    expect(panel.get_by_text("weight")).to_be_visible()
    expect(page).to_have_url(re.compile(r"step=1&open=outputs"))
    page.reload()
    expect(page.get_by_role("complementary", name="Step fetch").get_by_text("weight")).to_be_visible()
    card(page, "bill").click()
    expect(page.get_by_text("Why is it not running?")).to_be_visible()
    expect(
        page.get_by_role("complementary", name="Step bill").get_by_text("bill waits for ship")
    ).to_be_visible()


def test_the_keyboard_follows_the_lines_and_opens_a_step(page: Page, run: int):
    open_run(page, run)
    card(page, "fetch").focus()
    page.keyboard.press("ArrowRight")
    first = page.evaluate("document.activeElement.ariaLabel")
    assert first.split(",")[0] in ("pack", "sign")
    page.keyboard.press("ArrowRight")
    expect(card(page, "ship")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Step ship")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name="Step ship")).to_have_count(0)


@pytest.mark.requirement("UI-03")
def test_zoom_stays_between_25_and_200_percent_and_drops_text_below_50(page: Page, run: int):
    open_run(page, run)
    graph = page.get_by_role("group", name="Graph of A-1")
    for _ in range(14):
        page.get_by_role("button", name="Zoom out").click()
    expect(graph).to_have_attribute("data-zoom", "0.25")
    expect(graph).to_have_attribute("data-far", "true")
    for _ in range(20):
        page.get_by_role("button", name="Zoom in").click()
    expect(graph).to_have_attribute("data-zoom", "2.00")
    expect(graph).to_have_attribute("data-far", "false")


def test_search_marks_the_hit(page: Page, run: int):
    open_run(page, run)
    page.keyboard.press("/")
    page.keyboard.type("shi")
    expect(page.get_by_text("1/1")).to_be_visible()
    expect(card(page, "ship")).to_have_class(re.compile(r"\bhit\b"))


def test_the_list_and_the_timeline_show_the_same_steps(page: Page, run: int):
    page.goto(f"/runs/{run}?tab=list")
    for name in ("fetch", "pack", "sign", "ship", "bill"):
        expect(page.get_by_role("treeitem").filter(has_text=name).first).to_be_visible()
    page.get_by_role("tab", name="Timeline").click()
    expect(page.get_by_role("tree", name="Timeline").get_by_text("fetch").first).to_be_visible()


def test_the_past_is_read_only_and_in_the_address(page: Page, run: int, engine: Engine):
    first = engine.one("select min(event_id) from event_log where run_id = %s", (run,))
    open_run(page, run, f"?at={first}")
    expect(page.get_by_text("Read only.")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel…")).to_have_count(0)
    expect(card(page, "fetch")).not_to_contain_text("Completed")
    page.get_by_role("button", name="Back to live").click()
    expect(card(page, "fetch")).to_contain_text("Completed")
