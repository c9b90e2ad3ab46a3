"""Colour, icon and word of a state come from the server, together, for everybody in the same components.

One server, one browser and one installation for all tests of this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from psycopg.types.json import Jsonb

from tests.support.databases import Databases
from tests.ui.signing import sign_in
from tests.ui.world import World, world

# Marks of states in lists and headings, and cards of the graph: what each shows and says.
MARKS = """() => [...document.querySelectorAll("main .mark[data-tl], main .node[data-tl]")].map((mark) => ({
  tone: mark.dataset.tl,
  icons: mark.querySelectorAll("svg path").length,
  words: mark.innerText.trim(),
  title: mark.title,
  aria: mark.getAttribute("aria-label") ?? mark.innerText,
  isNode: mark.classList.contains("node"),
}))"""
GROUND = "one => getComputedStyle(one).backgroundColor"


@pytest.fixture(scope="module")
def place(databases: Databases, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(databases, template, Path(tmp_path_factory.mktemp("data"))) as made:
        yield made


@pytest.fixture
def context(browser: Browser, place: World) -> Iterator[BrowserContext]:
    made = browser.new_context(
        base_url=place.base_url, locale="en-GB", viewport={"width": 1440, "height": 900}
    )
    sign_in(made, place.dsn, place.base_url, "ben", "admin", "office")
    yield made
    made.close()


@pytest.mark.requirement("UI-11")
@pytest.mark.parametrize(("language", "word"), [("en", "Completed"), ("vi", "Hoàn thành")])
def test_colour_icon_and_word_are_together_with_tooltip_and_label(
    page: Page, place: World, language: str, word: str
):
    page.goto("/runs")
    page.evaluate("language => localStorage.setItem('stepwell.language', language)", language)
    seen = 0
    for path, ready in (
        ("/runs", ".field .line"),
        (f"/runs/{place.run}", ".node"),
        (f"/runs/{place.run}?tab=list", ".row"),
        (f"/runs/{place.run}?tab=timeline", ".row"),
        ("/workflows/order.flow", "aside li"),
    ):
        page.goto(path)
        expect(page.locator(ready).first).to_be_visible()
        for mark in page.evaluate(MARKS):
            seen += 1
            # A condition is a pill without a state of its own to show.
            assert mark["tone"] or mark["isNode"], mark
            assert mark["icons"] >= 1 or "◇" in mark["words"] or mark["tone"] == "", mark
            assert mark["aria"], mark
            assert mark["words"], mark
            assert mark["title"], mark
    assert seen > 30
    page.goto(f"/runs/{place.run}")
    card = page.locator(".node").filter(has_text="Charge the card")
    expect(card).to_contain_text(word)
    expect(card).to_have_attribute("aria-label", re.compile(f"^Charge the card, {word}"))


@pytest.mark.requirement("UI-13")
def test_another_colour_icon_or_word_of_the_registry_is_shown_without_another_release(
    page: Page, place: World
):
    state = "from state_def where state_code = 'completed' and state_machine_id like 'step%%' limit 1"
    token, label = place.engine.db.execute(
        f"select ui_color_token, ui_label_i18n_key {state}"
    ).fetchone() or ("", "")
    kept = place.engine.one("select config_value from dot_config where config_key = %s", (token,))
    word = place.engine.one("select text_value from i18n_text where text_key = %s and lang = 'en'", (label,))

    def tell(colours: object, words: str) -> None:
        place.engine.db.execute(
            "update dot_config set config_value = %s where config_key = %s", (Jsonb(colours), token)
        )
        place.engine.db.execute(
            "update i18n_text set text_value = %s where text_key = %s and lang = 'en'", (words, label)
        )

    tell({**kept, "bg": "#123456", "contrast_ratio": 12.72}, "Wrapped up")
    try:
        page.goto(f"/runs/{place.run}")
        card = page.locator(".node").filter(has_text="Charge the card")
        expect(card).to_contain_text("Wrapped up")
        assert card.locator("b").evaluate(GROUND) == "rgb(18, 52, 86)"
    finally:
        tell(kept, word)


@pytest.mark.requirement("UI-12")
def test_the_theme_of_high_contrast_paints_the_other_pair_of_each_token(page: Page, place: World):
    page.goto(f"/runs/{place.run}")
    ground = page.locator(".node").filter(has_text="Charge the card").locator("b")
    expect(ground).to_be_visible()
    page.evaluate("localStorage.setItem('stepwell.theme', 'contrast')")
    usual = ground.evaluate(GROUND)
    page.reload()
    expect(ground).to_be_visible()
    token = "config_key = 'ui.traffic_light.' || %s"
    tone = page.locator(".node").filter(has_text="Charge the card").get_attribute("data-tl")
    pair = place.engine.one(
        f"select config_value -> 'high_contrast' from dot_config where {token}",
        ((tone or "").replace("-", "_"),),
    )
    wanted = [int(pair["bg"][at : at + 2], 16) for at in (1, 3, 5)]
    assert ground.evaluate(GROUND) == f"rgb({', '.join(map(str, wanted))})" != usual


@pytest.mark.requirement("UI-15")
def test_a_blocked_step_is_red_only_if_the_server_says_so(page: Page, place: World):
    unit = place.engine.unit(place.run, "inspect")
    place.engine.db.execute("select fn_step_claim(1, %s, 'mai')", (unit,))
    place.engine.db.execute("select fn_step_block(1, %s, 'mai', 'missing_access')", (unit,))
    card = page.locator(".node").filter(has_text="Inspect the parcel")
    try:
        page.goto(f"/runs/{place.run}")
        expect(card).to_contain_text("Blocked")
        said = place.engine.one("select fn_step_blocked_severity(%s)", (unit,))
        expect(card).to_have_attribute("data-tl", said.replace("_", "-"))
        place.engine.db.execute("select fn_step_block_escalate(1, %s, 'ben', 'nobody answers')", (unit,))
        page.reload()
        assert place.engine.one("select fn_step_blocked_severity(%s)", (unit,)) == "red"
        expect(card).to_have_attribute("data-tl", "red")
    finally:
        place.engine.db.execute("select fn_step_unblock(1, %s, 'mai', 'access given')", (unit,))


@pytest.mark.requirement("UI-14")
def test_everybody_sees_the_same_page_and_the_server_leaves_out_what_they_may_not(
    page: Page, context: BrowserContext, place: World
):
    def seen() -> tuple[list[str], list[str]]:
        page.goto(f"/runs/{place.run}?step=1&open=outputs")
        panel = page.get_by_role("complementary", name="Step Charge the card")
        expect(panel).to_be_visible()
        expect(panel.get_by_role("button", name=re.compile("^Outputs"))).to_be_visible()
        parts = page.locator("main [class]").evaluate_all("all => all.map((one) => one.className.toString())")
        cards = page.locator(".node .title").all_inner_texts()
        return cards, [
            name for name in ("graph", "slider", "head", "tools") if any(name in part for part in parts)
        ]

    all_of_it = seen()
    expect(
        page.get_by_role("complementary", name="Step Charge the card").get_by_text("items")
    ).to_be_visible()
    expect(page.get_by_role("button", name="Cancel…")).to_be_visible()
    place.engine.db.execute("delete from permission where verb = 'payload.read' and role_name = 'everybody'")
    place.engine.db.execute("select fn_principal_change(1, 'ben', array[]::text[])")
    sign_in(context, place.dsn, place.base_url, "otto", "everybody")
    assert seen() == all_of_it, "the same components with the same steps"
    panel = page.get_by_role("complementary", name="Step Charge the card")
    expect(panel.get_by_text("Hidden from your role.")).to_be_visible()
    expect(panel.get_by_text("items")).to_have_count(0)
    expect(page.get_by_role("button", name="Cancel…")).to_have_count(0)
