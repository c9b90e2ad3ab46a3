"""The panel of a step: what the caller may do, the form, content as Markdown, values, attempts, receipts.

One server, one browser and one run for all tests of this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from stepwell.api.app import create_app
from stepwell.api.envelope import LOOPBACK_NAMES
from stepwell.config import Settings
from tests.api.serving import serving
from tests.sql.drive import Engine, human, operation
from tests.support.databases import Databases
from tests.support.roles import as_process
from tests.ui.looks import ALL_RULES, CONTRAST, THEMES, clean
from tests.ui.signing import sign_in

FORM = {
    "type": "object",
    "required": ["finding"],
    "properties": {
        "finding": {"type": "string", "title": "Finding", "enum": ["as expected", "worn"]},
        "value": {"type": "number", "title": "Value in mm", "minimum": 0},
    },
}
GUIDE = """# Before you begin

1. **Lock** the pump.
2. Look at [the manual](https://example.org/manual).

<script>window.stolen = true</script>
[a trap](javascript:alert(1))
"""


@pytest.fixture(scope="module")
def place(
    databases: Databases, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """The address of a database and of a server for it."""
    with databases.fresh(template) as dsn:
        address = as_process(dsn, "api")
        settings = Settings(database_url=address, data_dir=Path(tmp_path_factory.mktemp("data")))
        with serving(create_app(settings, address, allowed_hosts=LOOPBACK_NAMES)) as client:
            yield dsn, str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def engine(place: tuple[str, str]) -> Iterator[Engine]:
    options = "-csearch_path=stepwell,public"
    with psycopg.connect(place[0], autocommit=True, options=options) as connection:
        yield Engine(connection)


@pytest.fixture
def run(engine: Engine) -> int:
    """`measure` is for the shop, with a form, a text and a task; `load` has failed once; the rest waits."""
    engine.db.execute("select fn_person_set(1, 'ada', array['shop', 'operator'])")
    engine.db.execute("select fn_person_set(1, 'zoe', array['office'])")
    engine.db.execute(
        "select fn_content_write(1, 'pump.guide', %s, 'ada', '{\"en\": \"Pump guide\"}', null, null)",
        (GUIDE,),
    )
    engine.publish(
        "pump.check",
        operation("load"),
        human("measure", role="shop", form=FORM, content="pump.guide", deadline=36_000),
        human("sign", role="office", tasks=[{"id": "stamp", "title": "Stamp it", "role": "office"}]),
        edges=[("measure", "sign")],
    )
    started = engine.start("pump.check", {"pump": "P-301", "notes": "x" * 900})
    worker = engine.worker()
    failure = {"error": {"type": "ConnectionError", "message": "no answer from the pump"}}
    engine.report(worker, *((lease, "failed", failure) for lease in engine.claim(worker, 1)))
    return started


@pytest.fixture
def context(browser: Browser, place: tuple[str, str]) -> Iterator[BrowserContext]:
    made = browser.new_context(base_url=place[1], locale="en-GB", viewport={"width": 1280, "height": 800})
    sign_in(made, place[0], place[1], "ada", "shop", "operator")
    yield made
    made.close()


def panel(page: Page, run: int, name: str, no: int, query: str = "") -> Locator:
    page.goto(f"/runs/{run}?step={no}{query}")
    found = page.get_by_role("complementary", name=f"Step {name}")
    expect(found).to_be_visible()
    return found


def test_a_step_is_found_opened_claimed_and_completed_with_no_key_but_those_of_the_page(page: Page, run: int):
    """The test focuses nothing: from the palette to the run, by its search into the panel, to the form."""

    def tab_to(name: str) -> None:
        for _ in range(12):
            if page.evaluate("document.activeElement.textContent.trim()") == name:
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{name} is not within twelve tabs")

    page.goto("/runs")
    expect(page.locator(".field .line").first).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type(str(run))
    option = page.get_by_role("option").filter(has_text="pump.check").first
    expect(option).to_contain_text("In progress")
    expect(option).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.locator(".node").first).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("meas")
    expect(page.get_by_text("1/1")).to_be_visible()
    page.keyboard.press("Enter")
    found = page.get_by_role("complementary", name="Step measure")
    expect(found).to_be_focused()
    expect(found.get_by_role("button", name="Claim")).to_be_enabled()
    tab_to("Claim")
    page.keyboard.press("Enter")
    expect(found.locator("dl")).to_contain_text("ada")
    found_button = found.get_by_role("button", name="Complete…")
    expect(found_button).to_be_enabled()
    tab_to("Complete…")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Finding")).to_be_visible()
    for _ in range(12):
        if page.evaluate("document.activeElement.tagName") == "SELECT":
            break
        page.keyboard.press("Tab")
    page.keyboard.type("worn")
    page.keyboard.press("Tab")
    page.keyboard.type("0.4")
    page.keyboard.press("Control+Enter")
    expect(found.get_by_text("How it ended")).to_be_visible()


def test_a_step_that_is_open_is_entered_from_the_graph(page: Page, run: int):
    page.goto(f"/runs/{run}")
    page.get_by_role("button", name=re.compile("^measure")).focus()
    page.keyboard.press("Enter")
    found = page.get_by_role("complementary", name="Step measure")
    expect(found).to_be_visible()
    page.keyboard.press("Enter")
    expect(found).to_be_focused()


@pytest.mark.requirement("UI-02", "UI-08")
def test_a_person_claims_and_completes_a_step_with_its_form_by_keyboard(page: Page, run: int):
    found = panel(page, run, "measure", 2)
    expect(found.get_by_text("Why is it not running?")).to_be_visible()
    found.get_by_role("button", name="Claim").focus()
    page.keyboard.press("Enter")
    expect(found.locator("dl")).to_contain_text("ada")
    expect(found.locator("dl")).to_contain_text("Deadline")
    found.get_by_role("button", name="Complete…").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Finding").select_option("worn")
    dialog.get_by_label("Value in mm").fill("0.4")
    page.keyboard.press("Control+Enter")
    expect(found.get_by_text("Completed").first).to_be_visible()
    expect(found.get_by_text("How it ended")).to_be_visible()
    found.get_by_role("button", name="Outputs").click()
    expect(found.get_by_text('"worn"')).to_be_visible()


def test_who_may_not_act_sees_the_button_without_effect_and_the_reason(page: Page, run: int, engine: Engine):
    unit = engine.unit(run, "measure")
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (unit,))
    engine.db.execute("select fn_step_complete(1, %s, 'ada', '{\"finding\": \"worn\"}')", (unit,))
    found = panel(page, run, "sign", 3)
    expect(found.get_by_role("button", name="Claim")).to_be_disabled()
    expect(found.get_by_text(re.compile("office")).first).to_be_visible()
    found.get_by_role("button", name="Tasks").click()
    expect(found.get_by_text("Stamp it")).to_be_visible()


@pytest.mark.requirement("UI-08")
def test_content_is_markdown_at_its_pinned_version_without_scripts(page: Page, run: int):
    found = panel(page, run, "measure", 2, "&open=content")
    expect(found.get_by_role("heading", name="Before you begin")).to_be_visible()
    expect(found.get_by_role("link", name="the manual")).to_have_attribute(
        "href", "https://example.org/manual"
    )
    expect(found.get_by_role("link", name="a trap")).to_have_count(0)
    assert page.evaluate("window.stolen") is None
    assert found.locator("script").count() == 0


def test_values_are_folded_searched_and_shown_whole_on_demand(page: Page, run: int):
    found = panel(page, run, "load", 1, "&open=inputs")
    expect(found.get_by_text("P-301")).to_be_visible()
    found.get_by_role("button", name="Show the whole value").click()
    expect(found.get_by_text("x" * 900)).to_be_visible()


@pytest.mark.requirement("UI-08")
def test_attempts_show_their_errors_and_events_their_numbers(page: Page, run: int):
    found = panel(page, run, "load", 1, "&open=attempts")
    expect(found.get_by_text("no answer from the pump")).to_be_visible()
    found.get_by_role("button", name="Events").click()
    expect(page).to_have_url(re.compile("open=events"))
    expect(found.get_by_text(re.compile(r"^#[\d,]+$")).first).to_be_visible()


def test_axe_finds_no_violation_in_an_open_panel(page: Page, run: int):
    page.goto(f"/runs/{run}")
    for theme in THEMES:
        page.evaluate("theme => localStorage.setItem('stepwell.theme', theme)", theme)
        for section in ("content", "inputs", "attempts", "approvals", "events"):
            panel(page, run, "measure", 2, f"&open={section}")
            clean(page, ALL_RULES if theme == THEMES[0] else CONTRAST)


@pytest.mark.requirement("UI-14")
def test_the_panel_leads_to_the_cause_at_the_root_and_acts_there(page: Page, run: int, engine: Engine):
    found = panel(page, run, "sign", 3)
    way = found.get_by_text("What is behind it").locator("..")
    expect(way).to_contain_text("measure waits for a person (role: shop).")
    expect(way).to_contain_text(f"stepwell step claim {run}.2")
    way.get_by_role("button", name="Claim").click()
    expect(way).to_contain_text("measure is being done by ada.")
    assert engine.state(engine.unit(run, "measure")) == "in_progress"
    expect(way.get_by_role("button", name="Complete…")).to_be_visible()
    for theme in THEMES:
        page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        clean(page, ALL_RULES if theme == THEMES[0] else CONTRAST)
    way.get_by_role("link", name="Go to measure").click()
    expect(page.get_by_role("complementary", name="Step measure")).to_be_visible()
