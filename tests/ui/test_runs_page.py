"""Runs and workflows in the console: lists, filters in the address, keys, the start form, the palette."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.sql.drive import Engine, human, operation

# `make chaos` scrolls through 100,000.
MANY_RUNS = int(os.environ.get("MANY_RUNS", "2000"))
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


def test_what_an_act_reaches_is_shown_before_it_is_sent(
    opened: Callable[[str], Page], runs: list[int], engine: Engine
):
    engine.db.execute("select fn_person_set(1, 'mai', array['office'])")
    engine.db.execute("select fn_step_claim(1, %s, 'mai')", (engine.unit(runs[2], "course"),))
    page = opened("/runs")
    # Find, open and act with the keyboard alone.
    expect(page.locator(".field .line")).to_have_count(3)
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Shift+X")
    expect(page.get_by_role("region", name="3 selected")).to_be_visible()
    events = engine.one("select count(*) from event_log")
    page.keyboard.press("a")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Pause…")).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Pause 3 runs?")
    reach = dialog.get_by_role("region", name="If you pause 3 runs")
    expect(reach).to_contain_text("nothing has been written")
    facts = dict(
        zip(reach.locator("dt").all_inner_texts(), reach.locator("dd").all_inner_texts(), strict=True)
    )
    assert (facts["Runs"], facts["Open steps that wait"]) == ("3", "5")
    expect(reach).to_contain_text("People in charge: mai")
    assert engine.one("select count(*) from event_log") == events, "a preview writes nothing"
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Done for 3 of 3 runs.")).to_be_visible()
    # Once more: the server says what it would refuse.
    page.keyboard.press("x")
    page.get_by_role("region", name="1 selected").get_by_role("button", name="Pause…").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 would be refused now:")


def test_rows_move_while_somebody_looks(opened: Callable[[str], Page], runs: list[int], engine: Engine):
    page = opened("/runs?workflow=hr.onboard")
    row = page.locator(".field .line")
    expect(row).to_contain_text("0 %")
    expect(page.locator(".pill.live")).to_be_visible()
    engine.db.execute("select fn_person_set(1, 'mai', array['office'])")
    unit = engine.unit(runs[2], "course")
    engine.db.execute("select fn_step_claim(1, %s, 'mai')", (unit,))
    engine.db.execute("select fn_step_complete(1, %s, 'mai', '{}')", (unit,))
    expect(row).to_contain_text("100 %")
    expect(page.locator(".field .line.fresh")).to_have_count(1)


def test_a_long_list_keeps_few_elements_and_jumps_by_a_seek(opened: Callable[[str], Page], engine: Engine):
    engine.publish("order.process", human("sign-off", role="office"))
    for _ in range(MANY_RUNS // 1000):
        engine.db.execute(
            "select count(*) from fn_run_start(1, 'order.process', array_fill('{}'::jsonb, array[1000]),"
            " p_actor => 'test')"
        )
    first, last = engine.db.execute("select min(run_id), max(run_id) from workflow_run").fetchone() or (0, 0)
    page = opened("/runs")
    expect(page.locator(".field .line").first).to_contain_text(f"#{last}")
    expect(page.get_by_text(re.compile(r"^\s*[\d,]+ runs"))).to_contain_text(f"{MANY_RUNS:,} runs")
    asked: set[str] = set()
    cursors = re.compile(r"/api/v1/runs\?.*\bcursor=([^&]+)")
    page.on("request", lambda request: asked.update(cursors.findall(request.url)))
    body = page.locator(".body")
    body.evaluate("all => all.scrollTo(0, all.scrollHeight)")
    expect(page.get_by_role("link", name="order.process").last).to_be_visible()
    expect(page.locator(".field .line .run").filter(has_text=re.compile(rf"#{first}$"))).to_be_visible()
    assert len(asked) <= 2, "the page at the end is read by its own cursor, none between"
    body.evaluate("all => all.scrollTo(0, all.scrollHeight / 2)")
    middle = re.compile(rf"#{(first + last) // 2}$")
    expect(page.locator(".field .line .run").filter(has_text=middle)).to_be_visible()
    expect(page.locator(".field .hole")).to_have_count(0)
    assert page.evaluate("document.querySelectorAll('*').length") < 2_500


def test_an_empty_list_says_what_could_be_started(opened: Callable[[str], Page], engine: Engine):
    engine.publish("order.process", human("sign-off", role="office"), title="Order process")
    page = opened("/runs")
    empty = page.locator("section.empty")
    expect(empty).to_contain_text("Order process")
    empty.get_by_role("button", name="Start").click()
    expect(page.get_by_role("dialog", name="Start a run")).to_be_visible()


def test_runs_are_paused_together(opened: Callable[[str], Page], runs: list[int], engine: Engine):
    page = opened("/runs?workflow=order.process")
    expect(page.locator(".field .line")).to_have_count(2)
    for box in page.locator(".field").get_by_role("checkbox").all():
        box.check()
    page.get_by_role("region", name="2 selected").get_by_role("button", name="Pause…").click()
    dialog = page.get_by_role("dialog", name="Pause 2 runs?")
    dialog.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Done for 2 of 2 runs.")).to_be_visible()
    states = engine.db.execute("select state_code from workflow_run order by run_id").fetchall()
    assert [state for (state,) in states] == ["paused", "paused", "in_progress"]


def test_all_runs_of_a_filter_are_acted_on_in_parts_and_the_bound_is_told(
    opened: Callable[[str], Page], engine: Engine
):
    """More than one page and more than one preview: rows that nobody looked at are read first."""
    engine.publish("order.process", human("sign-off", role="office"))
    engine.publish("order.few", human("sign-off", role="office"))
    for name, count in (("order.process", 1000), ("order.process", 1000), ("order.few", 205)):
        engine.db.execute(
            "select count(*) from fn_run_start(1, %s, array_fill('{}'::jsonb, array[%s]), p_actor => 'test')",
            (name, count),
        )
    page = opened("/runs")
    expect(page.locator(".field .line").first).to_be_visible()
    page.keyboard.press("x")
    bar = page.get_by_role("region", name="1 selected")
    bar.get_by_role("button", name="The first 2,000 of this filter").click()
    expect(page.locator(".bulk")).to_contain_text("2,000 selected")
    expect(page.locator(".bulk")).to_contain_text("At most 2,000 at once")
    page.goto("/runs?workflow=order.few")
    expect(page.locator(".field .line").first).to_be_visible()
    page.keyboard.press("x")
    bar = page.get_by_role("region", name="1 selected")
    bar.get_by_role("button", name="All 205 of this filter").click()
    page.get_by_role("region", name="205 selected").get_by_role("button", name="Pause…").click()
    reach = page.get_by_role("dialog").get_by_role("region")
    expect(reach.locator("dd").first).to_have_text("205")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Done for 205 of 205 runs.")).to_be_visible(timeout=90_000)
    assert engine.one("select count(*) from workflow_run where state_code = 'paused'") == 205


def test_a_cancel_needs_a_reason(opened: Callable[[str], Page], runs: list[int]):
    page = opened("/runs?key=A-1")
    page.locator(".field").get_by_role("checkbox").check()
    page.get_by_role("region", name="1 selected").get_by_role("button", name="Cancel…").click()
    dialog = page.get_by_role("dialog", name="Cancel 1 run?")
    dialog.get_by_role("button", name="Cancel").click()
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


def test_the_palette_finds_people_starts_and_acts(
    opened: Callable[[str], Page], runs: list[int], engine: Engine
):
    """With the keyboard alone: find a person; start a run; find a run, open it, act on it."""
    page = opened("/workflows")

    def find(words: str, wanted: str) -> None:
        page.keyboard.press("Control+k")
        page.keyboard.type(words)
        option = page.get_by_role("option").filter(has_text=wanted).first
        expect(option).to_be_visible()
        while option.get_attribute("aria-selected") != "true":
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")

    find("ben", "ben")
    expect(page).to_have_url(re.compile(r"/settings/people/ben$"))
    find("hr.onb", "Start hr.onboard…")
    dialog = page.get_by_role("dialog", name="Start a run")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    find("A-2", "A-2")
    expect(page).to_have_url(re.compile(rf"/runs/{runs[1]}$"))
    find("pause", "Pause")
    page.get_by_role("dialog", name=re.compile("^Pause")).wait_for()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert engine.run_state(runs[1]) == "paused"


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
