"""Runs and workflows in the console: lists, filters in the address, keys, the start form, the palette."""

from __future__ import annotations

import re
from collections.abc import Callable

import psycopg
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.sql.drive import Engine, human, operation

THEMES = ("light", "dark", "contrast")
SCHEMA = {
    "type": "object",
    "required": ["order"],
    "properties": {
        "order": {"type": "string", "title": "Order"},
        "count": {"type": "integer"},
        "kind": {"enum": ["small", "large"]},
    },
}


PAINTED = """name => {
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(--tl-${name}-bg)`;
  return getComputedStyle(probe).color;
}"""
# A text that is a key of a translation.
KEY = re.compile(r"\b(runs|workflows|graph|run|live|palette|rollup)\.[a-z]{3,}")


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


@pytest.fixture
def runs(engine: Engine) -> list[int]:
    """Three runs of two workflows: two wait for a person, one is cancelled with its first step."""
    engine.publish("order.process", operation("fetch"), human("sign-off", role="office"), input=SCHEMA)
    engine.publish("hr.onboard", human("course", role="office"))
    return [
        engine.start("order.process", {"order": "A-1"}, "A-1"),
        engine.start("order.process", {"order": "A-2"}, "A-2"),
        engine.start("hr.onboard", {}, "HR-7"),
    ]


@pytest.fixture
def opened(page: Page) -> Callable[[str], Page]:
    def go(path: str) -> Page:
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        return page

    return go


def rows(page: Page) -> list[str]:
    return [text.strip() for text in page.locator(".field .line .run").all_inner_texts()]


def test_runs_are_listed_with_colour_icon_and_word(opened: Callable[[str], Page], runs: list[int]):
    page = opened("/runs")
    expect(page.locator(".field .line")).to_have_count(3)
    assert [row.split() for row in rows(page)] == [
        ["hr.onboard", "HR-7"],
        ["order.process", "A-2"],
        ["order.process", "A-1"],
    ]
    mark = page.locator(".field .line .mark").first
    assert mark.inner_text().strip()
    assert mark.locator("svg path").count() >= 1
    # The colour is that of a token of the registry, not one of the page.
    tone = mark.get_attribute("data-tl")
    painted = mark.locator(".icon").evaluate("e => getComputedStyle(e).backgroundColor")
    token = page.evaluate(PAINTED, tone)
    assert painted == token


def test_a_filter_is_a_chip_and_the_address(opened: Callable[[str], Page], runs: list[int]):
    page = opened("/runs")
    page.get_by_label("Add a filter").select_option("key")
    page.get_by_role("textbox", name="key").fill("A-2")
    page.keyboard.press("Enter")
    expect(page.locator(".field .line")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/runs\?key=A-2$"))
    page.reload()
    expect(page.locator(".field .line")).to_have_count(1)
    page.get_by_role("button", name="Remove the filter key").click()
    expect(page.locator(".field .line")).to_have_count(3)
    page.go_back()
    expect(page.locator(".field .line")).to_have_count(1)


def test_an_empty_filter_says_what_to_do(opened: Callable[[str], Page], runs: list[int]):
    page = opened("/runs?key=nobody")
    expect(page.get_by_text("No run matches this filter")).to_be_visible()


def test_the_keyboard_alone_finds_and_selects_a_run(opened: Callable[[str], Page], runs: list[int]):
    page = opened("/runs")
    expect(page.locator(".field .line")).to_have_count(3)
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_role("region", name="1 selected")).to_be_visible()
    expect(page.locator(".field .line.chosen .run")).to_contain_text("A-2")
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="1 selected")).to_have_count(0)


def test_runs_are_paused_together(opened: Callable[[str], Page], runs: list[int], engine: Engine):
    page = opened("/runs?workflow=order.process")
    expect(page.locator(".field .line")).to_have_count(2)
    for box in page.locator(".field").get_by_role("checkbox").all():
        box.check()
    page.get_by_role("region", name="2 selected").get_by_role("button", name="Pause…").click()
    dialog = page.get_by_role("dialog", name="Pause 2 runs?")
    dialog.get_by_role("button", name="Pause…").click()
    expect(page.get_by_text("Done for 2 of 2 runs.")).to_be_visible()
    states = engine.db.execute("select state_code from workflow_run order by run_id").fetchall()
    assert [state for (state,) in states] == ["paused", "paused", "in_progress"]


def test_a_cancel_needs_a_reason(opened: Callable[[str], Page], runs: list[int]):
    page = opened("/runs?key=A-1")
    page.locator(".field").get_by_role("checkbox").check()
    page.get_by_role("region", name="1 selected").get_by_role("button", name="Cancel…").click()
    dialog = page.get_by_role("dialog", name="Cancel 1 runs?")
    dialog.get_by_role("button", name="Cancel…").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Write a reason")


def test_a_run_is_started_with_a_form_of_its_schema(
    opened: Callable[[str], Page], runs: list[int], engine: Engine
):
    page = opened("/workflows")
    page.get_by_role("button", name="Start order.process").click()
    dialog = page.get_by_role("dialog", name="Start a run")
    dialog.get_by_label("Order").fill("A-9")
    dialog.get_by_label("count").fill("4")
    dialog.get_by_label("kind").select_option("large")
    dialog.get_by_label("Key").fill("A-9")
    page.expected_complaint = "404"  # type: ignore[attr-defined]
    with page.expect_response(lambda answer: answer.request.method == "POST") as answered:
        dialog.get_by_role("button", name="Start").click()
    assert answered.value.status == 201
    expect(page).to_have_url(re.compile(rf"/runs/{answered.value.json()['run_id']}$"))
    given = engine.one("select input from workflow_run where trigger_ref = 'A-9'")
    assert given == {"order": "A-9", "count": 4, "kind": "large"}


def test_the_server_refuses_a_wrong_input_in_its_words(opened: Callable[[str], Page], runs: list[int]):
    page = opened("/workflows")
    page.expected_complaint = "422"  # type: ignore[attr-defined]
    page.get_by_role("button", name="Start order.process").click()
    dialog = page.get_by_role("dialog", name="Start a run")
    dialog.get_by_label("Order").fill("A-9")
    dialog.get_by_label("count").fill("1.5")
    dialog.get_by_role("button", name="Start").click()
    expect(dialog.get_by_role("alert")).to_contain_text("count")


def test_the_palette_finds_a_run_and_a_page(opened: Callable[[str], Page], runs: list[int]):
    page = opened("/workflows")
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Find or do")
    expect(box).to_be_focused()
    box.fill("A-2")
    expect(page.get_by_role("option").filter(has_text="A-2").first).to_be_visible()
    box.fill("Runs")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/runs$"))
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Find or do").fill("dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_question_mark_shows_the_keys(opened: Callable[[str], Page]):
    page = opened("/workflows")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("find or do")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_have_count(0)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("language", ["en", "vi"])
def test_axe_finds_no_violation_and_no_key_is_left(page: Page, runs: list[int], theme: str, language: str):
    for name, chosen in (("theme", theme), ("language", language)):
        page.add_init_script(f"localStorage.setItem('stepwell.{name}', '{chosen}')")
    for path, ready in (("/runs", ".field .line"), ("/workflows", "tbody tr")):
        page.goto(path)
        expect(page.locator(ready).first).to_be_visible()
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
        assert not KEY.search(page.locator("body").inner_text())
