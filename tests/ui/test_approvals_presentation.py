"""The pages of approvals in every language, theme and width, by keyboard, and without a server."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.sql.drive import Engine
from tests.ui.asking import ask, ask_to_act, decide
from tests.ui.looks import clean, looks
from tests.ui.signing import sign_in

API = re.compile(r"/api/v1/approvals")
KEYS = re.compile(r"\b(approvals|reading|problem|shell)\.[a-z]")


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


def test_the_list_and_the_page_work_by_keyboard(page: Page, engine: Engine):
    for reason in ("third", "second", "first"):
        ask(engine, reason=reason)
    page.goto("/approvals")
    rows = page.get_by_role("table").locator("tbody tr")
    expect(rows).to_have_count(3)
    links = rows.get_by_role("link")
    page.keyboard.press("j")
    expect(links.nth(0)).to_be_focused()
    ring = "getComputedStyle(document.activeElement, '::after').outlineStyle"
    assert page.evaluate(ring) == "solid"
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(links.nth(2)).to_be_focused()
    page.keyboard.press("k")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("/")
    filters = page.get_by_role("navigation", name="Filter by state")
    expect(filters.get_by_role("link", name="Requested")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Reason")).to_contain_text("second")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(links.nth(1)).to_be_focused()
    page.keyboard.press("j")
    expect(links.nth(2)).to_be_focused()


def test_letters_typed_into_a_field_are_no_shortcuts(page: Page, engine: Engine):
    approval = ask(engine)
    page.goto(f"/approvals/{approval}")
    reason = page.get_by_label("Your reason")
    reason.press_sequentially("j/k")
    page.keyboard.press("Escape")
    expect(reason).to_have_value("j/k")
    expect(page).to_have_url(re.compile(rf"/approvals/{approval}$"))
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Approve")).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Approve")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("outcome")).to_contain_text("Approved")


def test_the_pages_are_shown_in_vietnamese(browser: Browser, base_url: str, dsn: str, engine: Engine):
    approval = ask_to_act(engine, quorum=2)
    with browser.new_context(base_url=base_url, locale="vi-VN") as context:
        sign_in(context, dsn, base_url, "ben", "reviewer")
        page = context.new_page()
        page.goto("/approvals")
        row = page.get_by_role("row").filter(has_text="shop.refund")
        for words in ("bước sign-off", "Chờ duyệt", "cao", "0 trên 2", "Hết hạn sau 23 giờ nữa"):
            expect(row).to_contain_text(words)
        assert not KEYS.search(page.locator("body").inner_text())
        row.get_by_role("link").click()
        expect(page.get_by_text("Bạn quyết định với tên ben.")).to_be_visible()
        page.get_by_role("button", name="Duyệt").click()
        expect(page.get_by_role("dialog")).to_contain_text("Sẽ ghi 5 trường.")
        assert not KEYS.search(page.locator("body").inner_text())
        page.get_by_role("dialog").get_by_role("button", name="Duyệt").click()
        said = page.get_by_role("region", name="Quyết định").get_by_role("status")
        expect(said).to_contain_text("ben đã đồng ý.")
        decide(engine, approval, "cleo")
        page.get_by_role("button", name="Làm mới").click()
        expect(page.get_by_test_id("outcome")).to_contain_text("Đã duyệt")
        assert not KEYS.search(page.locator("body").inner_text())


def test_axe_finds_no_violation_in_any_look(page: Page, engine: Engine, become):
    decide(engine, ask(engine), "ben", "reject", "no")
    page.expected_complaint = "403"  # type: ignore[attr-defined]
    page.goto("/approvals")
    for rules in looks(page):
        become(page, "ben")
        approval = [ask_to_act(engine, quorum=2) for _ in range(2)][-1]
        decide(engine, approval, "cleo")
        page.goto("/approvals?state=all")
        expect(page.get_by_role("table")).to_be_visible()
        page.keyboard.press("j")
        clean(page, rules)
        page.goto(f"/approvals/{approval}")
        page.locator("main form button").last.click()
        expect(page.locator("[aria-invalid]")).to_be_visible()
        clean(page, rules)
        become(page, "ada")
        page.locator("main form button").first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        clean(page, rules)
        page.get_by_role("dialog").get_by_role("button").first.click()
        expect(page.get_by_role("alert")).to_be_visible()
        clean(page, rules)
        decide(engine, approval, "ben")
        page.reload()
        expect(page.get_by_test_id("outcome")).to_be_visible()
        clean(page, rules)


@pytest.mark.parametrize("path", ["/approvals", "/approvals/7"])
def test_axe_finds_no_violation_on_an_error(page: Page, path: str):
    page.expected_complaint = "ERR_FAILED"  # type: ignore[attr-defined]
    page.route(API, lambda route: route.abort())
    page.goto(path)
    expect(page.get_by_role("alert")).to_be_visible()
    clean(page)


@pytest.mark.parametrize("language", ["en", "vi"])
def test_nothing_is_cut_off_at_any_width(
    browser: Browser, base_url: str, dsn: str, engine: Engine, language: str
):
    long = "a" * 300
    approval = ask_to_act(engine, target=f"/{long}", fields={long: long}, approvers=[long], role=long)
    with browser.new_context(base_url=base_url, locale=language) as context:
        sign_in(context, dsn, base_url, "ben", "reviewer")
        page = context.new_page()
        wide = "document.documentElement.scrollWidth"
        for width in (1280, 720, 400, 320):
            page.set_viewport_size({"width": width, "height": 800})
            page.goto("/approvals")
            expect(page.get_by_role("table")).to_be_visible()
            assert page.evaluate(wide) <= width
            page.goto(f"/approvals/{approval}")
            page.locator("form textarea").fill(long)
            page.locator("main form button").first.click()
            expect(page.get_by_role("dialog")).to_be_visible()
            assert page.evaluate(wide) <= width
            box = page.get_by_role("dialog").bounding_box()
            assert box is not None
            assert box["width"] <= width
            page.get_by_role("dialog").get_by_role("button").first.click()
            expect(page.get_by_role("alert")).to_be_visible()
            assert page.evaluate(wide) <= width


def test_reduced_motion_stops_every_animation(page: Page):
    page.emulate_media(reduced_motion="reduce")
    page.route(API, lambda route: None)
    page.goto("/approvals")
    expect(page.get_by_test_id("skeleton")).to_be_visible()
    assert page.evaluate("document.getAnimations().length") == 0


def test_an_empty_list_says_what_to_do_next(page: Page, engine: Engine):
    page.goto("/approvals")
    empty = page.get_by_test_id("empty")
    expect(empty).to_contain_text("No approval waits for a decision")
    empty.get_by_role("link", name="Show all approvals").click()
    expect(page).to_have_url(re.compile("state=all"))
    expect(empty).to_contain_text("stepwell approvals request")
    for state, words in (
        ("expired", "No approval has expired"),
        ("nonsense", "No approval waits for a decision"),
    ):
        page.goto(f"/approvals?state={state}")
        expect(empty).to_contain_text(words)


@pytest.mark.parametrize("is_one", [False, True])
def test_a_skeleton_is_shown_until_the_answer_arrives(page: Page, engine: Engine, is_one: bool):
    approval = ask(engine)
    held: list[Route] = []
    page.route(API, lambda route: held.append(route))
    with page.expect_request(API):
        page.goto(f"/approvals/{approval}" if is_one else "/approvals")
    expect(page.get_by_test_id("skeleton")).to_be_visible()
    for route in held:
        route.continue_()
    expect(page.get_by_text("a wrong number")).to_be_visible()
    expect(page.get_by_test_id("skeleton")).to_have_count(0)


def test_shown_approvals_stay_with_a_notice_when_the_server_does_not_answer(page: Page, engine: Engine):
    approval = ask(engine)
    page.expected_complaint = "ERR_FAILED"  # type: ignore[attr-defined]
    for path in ("/approvals", f"/approvals/{approval}"):
        page.goto(path)
        expect(page.get_by_text("a wrong number")).to_be_visible()
        page.route(API, lambda route: route.abort())
        page.get_by_role("button", name="Refresh").click()
        expect(page.get_by_role("alert")).to_contain_text("No answer from the server")
        expect(page.get_by_text("a wrong number")).to_be_visible()
        page.unroute(API)
        page.get_by_role("button", name="Refresh").click()
        expect(page.get_by_role("alert")).to_have_count(0)


def test_an_unknown_approval_shows_an_error(page: Page):
    page.expected_complaint = "404"  # type: ignore[attr-defined]
    page.goto("/approvals/999999")
    expect(page.get_by_role("alert")).to_contain_text("approval 999999 does not exist")
    page.goto("/approvals/abc")
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")


def test_an_expiry_in_the_past_is_shown_as_past(page: Page, engine: Engine):
    """The keeper expires the approval, not the page: until then it is open although its time has passed."""
    ask(engine, expires_seconds=3600)
    page.clock.set_fixed_time(datetime.now(UTC) + timedelta(hours=3))
    page.goto("/approvals")
    expect(page.get_by_text(re.compile(r"^Expired \d hours? ago$"))).to_be_visible()
