"""The frame of the web console: languages, themes, navigation, keyboard and accessibility."""

from __future__ import annotations

import re

import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.looks import CONTRAST, STRUCTURE, clean
from tests.ui.signing import sign_in

THEMES = {"Light": "light", "Dark": "dark", "High contrast": "contrast"}
RAIL_WIDTH = 52


def background(page: Page) -> str:
    colour: str = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    return colour


def ready(page: Page, path: str = "/") -> None:
    page.goto(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if path == "/":
        expect(page.get_by_role("table")).to_be_visible()


def test_the_language_changes_at_once_and_is_stored(page: Page):
    ready(page)
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.get_by_role("button", name="Tiếng Việt").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tình trạng hệ thống")
    expect(page.locator("html")).to_have_attribute("lang", "vi")
    expect(page).to_have_title("Tình trạng hệ thống · Stepwell")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tình trạng hệ thống")
    expect(page.get_by_role("button", name="Tiếng Việt")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("System health")


def test_a_vietnamese_browser_gets_the_page_in_vietnamese(
    browser: Browser, base_url: str, headers: dict[str, str]
):
    with browser.new_context(base_url=base_url, locale="vi-VN", extra_http_headers=headers) as context:
        page = context.new_page()
        page.goto("/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Tình trạng hệ thống")


@pytest.mark.parametrize("language", ["English", "Tiếng Việt"])
def test_no_text_is_left_untranslated(page: Page, language: str):
    ready(page)
    page.get_by_role("button", name=language).click()
    # A missing translation is shown as its key.
    assert not re.search(
        r"\b(health|shell|status|problem|reading|notFound)\.[a-z]", page.locator("body").inner_text()
    )


@pytest.mark.parametrize("name", THEMES)
def test_a_theme_is_stored_and_set_before_the_application_loads(page: Page, name: str):
    ready(page)
    page.get_by_label("Theme").select_option(label=name)
    expect(page.locator("html")).to_have_attribute("data-theme", THEMES[name])
    colour = background(page)
    # The application is not loaded, so only the small script before it can set the theme.
    page.route("**/assets/*.js", lambda route: route.abort())
    page.expected_complaint = "ERR_FAILED"  # type: ignore[attr-defined]
    page.reload(wait_until="domcontentloaded")
    assert page.locator("html").get_attribute("data-theme") == THEMES[name]
    assert background(page) == colour


def test_themes_look_different(page: Page):
    ready(page)
    seen = set()
    for name, theme in THEMES.items():
        page.get_by_label("Theme").select_option(label=name)
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        seen.add(background(page))
    assert len(seen) == len(THEMES)


def test_the_system_theme_follows_the_system(page: Page):
    page.emulate_media(color_scheme="dark")
    ready(page)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.emulate_media(contrast="more")
    expect(page.locator("html")).to_have_attribute("data-theme", "contrast")


def test_reduced_motion_stops_every_animation(page: Page):
    page.emulate_media(reduced_motion="reduce")
    page.route("**/api/v1/health", lambda route: None)
    page.goto("/")
    expect(page.get_by_test_id("skeleton")).to_be_visible()
    moving = "document.getAnimations().length"
    assert page.evaluate(moving) == 0
    page.emulate_media(reduced_motion="no-preference")
    page.wait_for_function(f"{moving} > 0")


def test_a_deep_link_can_be_opened_and_reloaded(page: Page):
    ready(page, "/no/such/page?filter=open")
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
    expect(page.get_by_text("/no/such/page")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
    page.get_by_role("link", name="Go to system health").click()
    expect(page.get_by_role("table")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")


def test_the_navigation_marks_the_current_page(page: Page):
    ready(page)
    here = page.get_by_role("navigation", name="Main").get_by_role("link", name="System health")
    expect(here).to_have_attribute("aria-current", "page")


def test_every_navigation_link_leads_to_a_page(page: Page):
    ready(page)
    links = page.get_by_role("navigation", name="Main").get_by_role("link")
    for address in [link.get_attribute("href") or "" for link in links.all()]:
        ready(page, address)
        expect(page.get_by_role("heading", level=1)).not_to_have_text("Page not found")


def test_the_page_can_be_used_by_keyboard(page: Page):
    ready(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Refresh")).to_be_focused()
    with page.expect_response("**/api/v1/health"):
        page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Refresh")).to_be_focused()


def test_the_settings_are_in_the_tab_order_and_show_the_focus(page: Page):
    ready(page)
    order = []
    for _ in range(21):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.ariaLabel || document.activeElement.innerText"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert [text.splitlines()[0] for text in order] == [
        "Skip to content",
        "Stepwell",
        "Tenant",
        "Find or do",
        "Problems",
        "Inbox",
        "Runs",
        "Workflows",
        "Job graphs",
        "Approvals",
        "Dead letters",
        "Lag",
        "Workers",
        "Verify evidence",
        "System health",
        "Settings",
        "EN",
        "VI",
        "Theme",
        "Sign out",
        "Keys",
    ]


def test_the_focus_moves_to_the_heading_of_the_next_page(page: Page):
    ready(page, "/no/such/page")
    page.get_by_role("link", name="Go to system health").press("Enter")
    expect(page.get_by_role("heading", level=1, name="System health")).to_be_focused()


@pytest.mark.parametrize("language", ["en", "vi"])
def test_nothing_is_cut_off_at_any_width(
    browser: Browser, base_url: str, headers: dict[str, str], language: str
):
    with browser.new_context(base_url=base_url, locale=language, extra_http_headers=headers) as context:
        page = context.new_page()
        for width in (1280, 400, 320):
            page.set_viewport_size({"width": width, "height": 800})
            ready(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width


MODE = {"en": "Development mode", "vi": "Chế độ phát triển"}


def boxes(page: Page) -> list[tuple[str, dict[str, float]]]:
    """The mode, the links and the controls of the frame, each with its place."""
    found = []
    for part in page.locator(".frame > header").locator("[role=note], a, button, select").all():
        if (box := part.bounding_box()) is not None:
            found.append((part.get_attribute("aria-label") or part.inner_text(), {**box}))
    return found


@pytest.mark.parametrize("language", ["en", "vi"])
def test_no_part_of_the_frame_covers_another(
    browser: Browser, base_url: str, dsn: str, db: psycopg.Connection, language: str
):
    db.execute("select _development_enter('dev')")
    with browser.new_context(base_url=base_url, locale=language) as context:
        sign_in(context, dsn, base_url, "dev", "admin")
        page = context.new_page()
        for width, rail in ((1280, False), (720, False), (380, False), (320, False), (1280, True)):
            page.set_viewport_size({"width": width, "height": 800})
            ready(page)
            expect(page.get_by_role("note")).to_be_visible()
            expect(page.get_by_role("note")).to_contain_text(MODE[language])
            expect(page.get_by_role("note")).to_contain_text("stepwell db leave-development")
            if rail:
                page.keyboard.press("[")
                expect(page.locator(".frame.rail")).to_be_visible()
            out = page.get_by_role("button", name="Đăng xuất" if language == "vi" else "Sign out")
            expect(out).to_be_visible()
            too_wide = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length"
            assert page.locator(".frame > header button").evaluate_all(too_wide) == 0
            stand_apart(boxes(page), RAIL_WIDTH if rail else width)


def test_a_strict_database_has_no_note_of_a_mode(browser: Browser, base_url: str, headers: dict[str, str]):
    with browser.new_context(base_url=base_url, extra_http_headers=headers) as context:
        page = context.new_page()
        with page.expect_response("**/api/v1/health") as answered:
            ready(page)
        assert answered.value.json()["mode"] == "strict"
        expect(page.get_by_role("note")).to_have_count(0)


def stand_apart(parts: list[tuple[str, dict[str, float]]], width: int) -> None:
    for at, (one, a) in enumerate(parts):
        assert a["x"] >= 0, one
        assert a["x"] + a["width"] <= width, one
        for other, b in parts[at + 1 :]:
            beside = a["x"] + a["width"] <= b["x"] + 0.5 or b["x"] + b["width"] <= a["x"] + 0.5
            above = a["y"] + a["height"] <= b["y"] + 0.5 or b["y"] + b["height"] <= a["y"] + 0.5
            assert beside or above, f"{one} and {other}"


def test_axe_finds_no_violation_in_the_error_state(page: Page):
    page.expected_complaint = "ERR_FAILED"  # type: ignore[attr-defined]
    page.route("**/api/v1/health", lambda route: route.abort())
    page.goto("/")
    expect(page.get_by_role("alert")).to_be_visible()
    clean(page)


def test_axe_finds_no_violation_on_the_reference_of_the_api(page: Page):
    page.goto("/api/v1/docs")
    expect(page.get_by_role("heading", level=1)).to_contain_text("API")
    clean(page, STRUCTURE)
    # The page has thousands of rows that are all written alike.
    clean(page, CONTRAST, within="article:nth-of-type(-n+5)")
