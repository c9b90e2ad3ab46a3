"""The graph of a run: a map as one bar that opens, a sub-workflow, what stands behind a blocker.

One server, one browser and one run for all tests of this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

import stepwell as sw
from stepwell.api.app import create_app
from stepwell.api.envelope import LOOPBACK_NAMES
from stepwell.config import Settings
from stepwell.define import freeze
from tests.api.serving import serving
from tests.sql.drive import Engine
from tests.support.databases import Databases
from tests.support.roles import as_process
from tests.ui.signing import sign_in

CHILD = sw.Workflow("bill", sw.Sequential(sw.Operation("write"), sw.Operation("send")))
PARENT = sw.Workflow(
    "order.flow",
    sw.Sequential(
        sw.Operation("list"),
        sw.Map("$.steps.list.output.items", sw.Operation("pack"), id="boxes", title="Pack boxes"),
        sw.SubWorkflow("bill", id="bill", title="Bill it"),
        sw.Human("sign", role="office", title="Sign the letter"),
        sw.Operation("ship", title="Ship"),
        sw.Operation("close", title="Close it"),
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
def run(place: tuple[str, str]) -> Iterator[int]:
    """Three boxes are packed, the bill is sent, and the letter is blocked: two steps stand behind it."""
    options = "-csearch_path=stepwell,public"
    with psycopg.connect(place[0], autocommit=True, options=options) as db:
        engine = Engine(db)
        for flow in (CHILD, PARENT):
            db.execute("select fn_workflow_publish(1, %s, 'ada')", (freeze(flow).canonical.decode(),))
        db.execute("select fn_person_set(1, 'ada', array['office'])")
        started = engine.start("order.flow", {}, "F-1")
        worker = engine.worker()
        engine.complete(worker, *engine.claim(worker, 1), output={"items": [1, 2, 3]})
        engine.drain(worker)
        unit = engine.unit(started, "sign")
        db.execute("select fn_step_claim(1, %s, 'ada')", (unit,))
        db.execute("select fn_step_block(1, %s, 'ada', 'missing_access')", (unit,))
        yield started


@pytest.fixture
def context(browser: Browser, place: tuple[str, str]) -> Iterator[BrowserContext]:
    made = browser.new_context(base_url=place[1], locale="en-GB", viewport={"width": 1440, "height": 900})
    sign_in(made, place[0], place[1], "ben", "operator")
    yield made
    made.close()


def graph(page: Page, run: int, query: str = "") -> Locator:
    page.goto(f"/runs/{run}{query}")
    found = page.get_by_role("group", name="Graph of F-1")
    expect(found).to_be_visible()
    return found


def card(found: Locator, name: str) -> Locator:
    return found.get_by_role("button", name=re.compile(f"^{name}, "))


@pytest.mark.requirement("UI-05")
def test_what_stands_behind_a_blocker_is_hatched_and_the_plate_has_its_number(page: Page, run: int):
    found = graph(page, run)
    for name in ("Ship", "Close it"):
        expect(card(found, name)).to_have_class(re.compile(r"\bbehind\b"))
    expect(card(found, "Pack boxes")).not_to_have_class(re.compile(r"\bbehind\b"))
    expect(page.get_by_text("behind a blocker, 2")).to_be_visible()
    still = page.get_by_role("complementary", name="Stands still")
    expect(still.get_by_text("2 behind it")).to_be_visible()
    page.keyboard.press("1")
    expect(page.get_by_role("complementary", name="Step Sign the letter")).to_be_visible()
    page.get_by_role("button", name="Blocked chain").click()
    expect(card(found, "Ship")).not_to_have_class(re.compile(r"\bbehind\b"))


@pytest.mark.requirement("UI-04")
def test_a_map_is_one_bar_that_opens_and_a_lane_folds(page: Page, run: int):
    found = graph(page, run)
    expect(card(found, "Pack boxes").locator(".parts")).to_contain_text("3")
    card(found, "Pack boxes").dblclick()
    expect(page).to_have_url(re.compile(r"map=2"))
    expect(card(found, "pack")).to_contain_text("Completed")
    graph(page, run)
    lane = found.get_by_role("button", name=re.compile("office"))
    lane.click()
    expect(lane).to_have_attribute("aria-expanded", "false")
    expect(card(found, "Sign the letter")).to_have_count(0)
    for kind in ("executor", "category", "none"):
        page.get_by_role("combobox", name=re.compile("Lanes")).select_option(kind)
        expect(page).to_have_url(re.compile(f"lanes={kind}"))
        expect(card(found, "Ship")).to_be_visible()


@pytest.mark.requirement("UI-08")
def test_a_sub_workflow_opens_its_run_by_keyboard(page: Page, run: int):
    found = graph(page, run)
    expect(card(found, "Bill it")).to_have_class(re.compile(r"\bdoubled\b"))
    card(found, "Bill it").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Step Bill it")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="bill", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name=re.compile(f"run {run}"))).to_be_visible()


@pytest.mark.requirement("UI-03")
def test_wheel_keys_and_drag_move_the_graph_between_25_and_200_percent(page: Page, run: int):
    found = graph(page, run)
    box = found.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 600, box["y"] + 400)
    for _ in range(12):
        page.mouse.wheel(0, 400)
    expect(found).to_have_attribute("data-zoom", "0.25")
    expect(found).to_have_attribute("data-far", "true")
    found.locator(".node").first.focus()
    page.keyboard.press("f")
    for _ in range(20):
        page.keyboard.press("+")
    expect(found).to_have_attribute("data-zoom", "2.00")
    world = found.locator(".world")
    before = world.get_attribute("style")
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 380, steps=4)
    page.mouse.up()
    assert world.get_attribute("style") != before
    expect(page.get_by_role("img", name=re.compile("graph", re.IGNORECASE)).first).to_be_visible()
    # A pinch on a touchpad is a wheel with Ctrl.
    page.keyboard.down("Control")
    page.mouse.wheel(0, 40)
    page.keyboard.up("Control")
    expect(found).not_to_have_attribute("data-zoom", "2.00")
