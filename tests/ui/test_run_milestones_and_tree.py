"""Milestones, the list as a tree, a window of the timeline, search by the label of content.

One server, one browser and one run for all tests of this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

import stepwell as sw
from stepwell.api.app import create_app
from stepwell.api.envelope import LOOPBACK_NAMES
from stepwell.config import Settings
from stepwell.define import freeze
from tests.api.serving import serving
from tests.sql.drive import Engine
from tests.support.clock import Clock
from tests.support.databases import Databases
from tests.support.roles import as_process
from tests.ui.looks import clean
from tests.ui.signing import sign_in

FLOW = sw.Workflow(
    "order.flow",
    sw.Sequential(
        sw.Operation("charge", title="Charge", milestone="Paid"),
        sw.Map("$.steps.charge.output.items", sw.Operation("pack"), id="boxes", title="Pack boxes"),
        sw.Conditional(
            "$.input.abroad == true",
            then=sw.Human("customs", role="office", title="Customs papers", content="manual.customs"),
            otherwise=sw.Operation("label", title="Print the label"),
        ),
        sw.Operation("ship", title="Ship", milestone="On its way"),
    ),
)


@pytest.fixture(scope="module")
def place(
    databases: Databases, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    with databases.fresh(template) as dsn:
        address = as_process(dsn, "api")
        settings = Settings(database_url=address, data_dir=Path(tmp_path_factory.mktemp("data")))
        with serving(create_app(settings, address, allowed_hosts=LOOPBACK_NAMES)) as client:
            yield dsn, str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def run(place: tuple[str, str]) -> int:
    """Three past runs, and one that waits for papers: one milestone is reached, one is expected."""
    options = "-csearch_path=stepwell,public"
    with psycopg.connect(place[0], autocommit=True, options=options) as db:
        engine = Engine(db)
        db.execute("select fn_person_set(1, 'ada', array['office'])")
        labels = '{"en": "Letter of origin", "vi": "Giấy chứng nhận xuất xứ"}'
        db.execute("select fn_content_write(1, 'manual.customs', '# Papers', 'ada', %s::jsonb)", (labels,))
        db.execute("select fn_workflow_publish(1, %s, 'ada')", (freeze(FLOW).canonical.decode(),))
        worker = engine.worker()

        def go_on(key: str, *, abroad: bool) -> int:
            started = engine.start("order.flow", {"abroad": abroad}, key)
            engine.complete(worker, *engine.claim(worker, 1), output={"items": [1, 2, 3]})
            return started

        with closing(Clock(place[0])) as clock:
            for at in range(3):
                go_on(f"past-{at}", abroad=False)
                while leases := engine.claim(worker):
                    clock.advance(minutes=1)
                    engine.complete(worker, *leases)
        started = go_on("F-1", abroad=True)
        engine.drain(worker)
        return started


@pytest.fixture
def context(browser: Browser, place: tuple[str, str]) -> Iterator[BrowserContext]:
    made = browser.new_context(base_url=place[1], locale="en-GB", viewport={"width": 1440, "height": 900})
    sign_in(made, place[0], place[1], "ben", "operator")
    yield made
    made.close()


@pytest.mark.requirement("UI-17")
def test_milestones_are_on_the_definition_the_run_and_the_timeline(page: Page, run: int):
    page.goto("/workflows/order.flow")
    graph = page.get_by_role("group", name="Graph of order.flow")
    expect(graph.get_by_role("button", name="Charge, Paid")).to_contain_text("Paid")
    listed = page.get_by_role("region", name="Milestones").get_by_role("listitem")
    expect(listed).to_have_text([re.compile("Paid.*Charge"), re.compile("On its way.*Ship")])
    page.goto(f"/runs/{run}")
    expect(page.get_by_text("1 of 2 milestones")).to_be_visible()
    card = page.get_by_role("group", name="Graph of F-1").get_by_role(
        "button", name=re.compile("^Charge, Completed.*Paid")
    )
    expect(card.locator(".flag")).to_be_visible()
    page.get_by_role("tab", name="Timeline").click()
    marks = page.get_by_role("list", name="Milestones").get_by_role("button")
    expect(marks).to_have_count(2)
    expect(marks.first).to_have_accessible_name(re.compile("^Milestone Paid, reached "))
    expect(marks.last).to_have_accessible_name(re.compile("^Milestone On its way, expected "))
    first, last = marks.first.bounding_box(), marks.last.bounding_box()
    assert first
    assert last
    assert first["x"] < last["x"]
    marks.first.click()
    expect(page.get_by_role("complementary", name="Step Charge")).to_be_visible()


def test_in_the_past_a_milestone_is_not_reached_yet(page: Page, run: int, place: tuple[str, str]):
    with psycopg.connect(place[0]) as db:
        row = db.execute("select min(event_id) from stepwell.event_log where run_id = %s", (run,)).fetchone()
    assert row
    page.goto(f"/runs/{run}?at={row[0]}")
    expect(page.get_by_text("0 of 2 milestones")).to_be_visible()


@pytest.mark.requirement("UI-06")
def test_a_step_is_found_by_the_label_of_its_content_and_the_graph_moves_there(page: Page, run: int):
    page.set_viewport_size({"width": 900, "height": 700})
    page.goto(f"/runs/{run}")
    graph = page.get_by_role("group", name="Graph of F-1")
    card = graph.get_by_role("button", name=re.compile("^Customs papers, "))
    for _ in range(6):
        page.get_by_role("button", name="Zoom in").click()
    expect(graph).to_have_attribute("data-zoom", "2.00")
    frame = graph.bounding_box()
    assert frame
    page.mouse.move(frame["x"] + 100, frame["y"] + 300)
    page.mouse.down()
    page.mouse.move(frame["x"] + frame["width"] + 800, frame["y"] + 300, steps=6)
    page.mouse.up()
    expect(card).not_to_be_in_viewport()
    page.keyboard.press("/")
    # The label, not the name of the step nor that of the content; letters without their marks find it too.
    for words in ("letter of orig", "Giấy chứng", "giay chung nhan"):
        page.keyboard.press("Control+a")
        page.keyboard.type(words)
        expect(page.get_by_text("1/1")).to_be_visible()
        expect(card).to_have_class(re.compile(r"\bhit\b"))
        # The browser computes 0.9999998 for a card that begins at a part of a pixel.
        expect(card).to_be_in_viewport(ratio=0.999)
    # What is in the body of a map is found at the map.
    page.keyboard.press("Control+a")
    page.keyboard.type("pack")
    expect(graph.get_by_role("button", name=re.compile("^Pack boxes"))).to_have_class(re.compile(r"\bhit\b"))
    page.goto("/workflows/order.flow")
    page.get_by_role("searchbox").fill("letter of orig")
    found = page.get_by_role("group", name="Graph of order.flow").get_by_role(
        "button", name=re.compile("^Customs")
    )
    expect(found).to_have_class(re.compile(r"\bhit\b"))


def test_the_list_is_a_tree_by_structure_that_the_keyboard_opens_and_closes(page: Page, run: int):
    page.goto(f"/runs/{run}?tab=list")
    tree = page.get_by_role("tree", name="List")
    rows = tree.get_by_role("treeitem")
    expect(rows).to_have_count(11)
    expect(tree.get_by_role("treeitem", name=re.compile("Pack boxes"))).to_have_attribute(
        "aria-expanded", "true"
    )
    expect(tree.get_by_role("treeitem", name=re.compile(r"pack \[2\]"))).to_have_attribute("aria-level", "2")
    customs = tree.get_by_role("treeitem", name=re.compile("Customs papers"))
    expect(customs).to_have_attribute("aria-level", "3")
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    expect(tree.get_by_role("treeitem", name=re.compile("Pack boxes"))).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(rows).to_have_count(8)
    page.keyboard.press("ArrowRight")
    expect(rows).to_have_count(11)
    page.keyboard.press("ArrowRight")
    expect(tree.get_by_role("treeitem", name=re.compile(r"pack \[0\]"))).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(tree.get_by_role("treeitem", name=re.compile("Pack boxes"))).to_be_focused()
    customs.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Step Customs papers")).to_be_visible()
    expect(customs).to_have_attribute("aria-selected", "true")
    page.get_by_role("button", name="State", exact=True).click()
    expect(tree.get_by_role("treeitem").first).to_contain_text("Goes on")
    expect(tree.get_by_role("treeitem", name=re.compile("Customs papers"))).to_have_attribute(
        "aria-level", "2"
    )
    clean(page)


def test_a_part_of_the_timeline_is_chosen_by_mouse_and_keyboard_and_is_in_the_address(page: Page, run: int):
    page.goto(f"/runs/{run}?tab=timeline")
    tree = page.get_by_role("tree", name="Timeline")
    charge = tree.get_by_role("treeitem", name=re.compile("^Charge"))
    expect(charge.locator(".part").first).to_be_visible()
    axis = page.locator(".axis").bounding_box()
    assert axis
    y = axis["y"] + 10
    page.mouse.move(axis["x"] + axis["width"] * 0.5, y)
    page.mouse.down()
    page.mouse.move(axis["x"] + axis["width"] * 0.99, y, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"span=\d+-\d+"))
    # What happened before the window is not drawn in it.
    expect(charge.locator(".part.working")).to_have_count(0)
    address = page.url
    page.reload()
    expect(charge).to_be_visible()
    expect(charge.locator(".part.working")).to_have_count(0)
    assert page.url == address
    charge.focus()
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("span="))
    expect(charge.locator(".part.working")).to_have_count(1)
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile(r"span=\d+-\d+"))
    page.keyboard.press("}")
    page.keyboard.press("-")
    page.get_by_role("button", name="Whole time").click()
    expect(page).not_to_have_url(re.compile("span="))
    clean(page)


def test_the_timeline_shows_when_steps_to_come_are_expected(page: Page, run: int, place: tuple[str, str]):
    page.goto(f"/runs/{run}?tab=timeline")
    tree = page.get_by_role("tree", name="Timeline")
    ship = tree.get_by_role("treeitem", name=re.compile("^Ship"))
    expect(ship).to_have_accessible_name(re.compile("^Ship, Not started, expected 1 ?m"))
    expect(ship.locator(".part")).to_have_count(1)
    charge = tree.get_by_role("treeitem", name=re.compile("^Charge"))
    expect(charge.locator(".part.expected")).to_have_count(0)
    bar, now = ship.locator(".part.expected").bounding_box(), page.locator(".grid .now").bounding_box()
    assert bar
    assert now
    assert bar["x"] >= now["x"] - 1
    # In the past nothing is expected.
    with psycopg.connect(place[0]) as db:
        row = db.execute("select max(event_id) from stepwell.event_log where run_id = %s", (run,)).fetchone()
    assert row
    page.goto(f"/runs/{run}?tab=timeline&at={row[0]}")
    expect(charge.locator(".part.working")).to_have_count(1)
    expect(page.locator(".row .part.expected")).to_have_count(0)


def test_the_slider_jumps_from_mark_to_mark_and_plays_to_the_present(page: Page, run: int):
    page.goto(f"/runs/{run}")
    slider = page.get_by_role("slider", name="Position in the log of this run")
    charge = page.get_by_role("group", name="Graph of F-1").get_by_role(
        "button", name=re.compile("^Charge, ")
    )
    expect(charge).to_contain_text("Completed")
    expect(slider.locator(".mark").first).to_be_visible()
    expect(slider).to_have_attribute("aria-valuenow", "100")
    slider.focus()
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile(r"at=\d+"))
    expect(charge).not_to_contain_text("Completed")
    before = page.url
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url(before)
    page.keyboard.press("End")
    expect(page).not_to_have_url(re.compile("at="))
    expect(charge).to_contain_text("Completed")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(r"at=\d+"))
    # Mark after mark, and then the present, where it stops by itself.
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible(timeout=60_000)
    expect(page).not_to_have_url(re.compile("at="))
    expect(charge).to_contain_text("Completed")


def test_the_groups_of_the_timeline_close_and_it_can_follow_the_structure(page: Page, run: int):
    page.goto(f"/runs/{run}?tab=timeline")
    tree = page.get_by_role("tree", name="Timeline")
    code = tree.get_by_role("treeitem", name=re.compile("^Code"))
    charge = tree.get_by_role("treeitem", name=re.compile("^Charge"))
    expect(charge).to_have_accessible_name(re.compile("^Charge, Completed, .*working "))
    code.click()
    expect(code).to_have_attribute("aria-expanded", "false")
    expect(charge).to_have_count(0)
    code.focus()
    page.keyboard.press("ArrowRight")
    expect(charge).to_be_visible()
    page.get_by_role("button", name="Structure").click()
    expect(tree.get_by_role("treeitem", name=re.compile(r"^pack \[1\]"))).to_have_attribute("aria-level", "2")
    clean(page)
