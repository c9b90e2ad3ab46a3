"""The sign-in page: passwords, links of a terminal, both languages, and a session that ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from stepwell.api.identity import COOKIE, tenant_cookie
from tests.ui.looks import ALL_RULES, CONTRAST, clean

PASSWORD = "seven green bottles"


@pytest.fixture
def context(browser: Browser, base_url: str) -> Iterator[BrowserContext]:
    """A browser in which nobody is signed in."""
    made = browser.new_context(base_url=base_url, locale="en-GB", viewport={"width": 1280, "height": 800})
    yield made
    made.close()


@pytest.fixture
def link(db: psycopg.Connection) -> str:
    db.execute(
        """update dot_config set config_value = '"$argon2id$v=19$m=19456,t=2,p=1"'
           where config_key = 'sign_in.argon2id'"""
    )
    (found,) = db.execute("select link from fn_link_create(1, 'minh', 'first_administrator')").fetchone()
    return str(found)


@pytest.fixture
def page(page: Page) -> Page:
    # The browser writes each answer 401 into its console.
    page.expected_complaint = "401"  # type: ignore[attr-defined]
    return page


def set_password(page: Page, link: str) -> None:
    page.goto(f"/sign-in#link={link}")
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button", name="Set password and sign in").click()
    expect(page.get_by_test_id("person")).to_have_text("minh")


def sign_in(page: Page, password: str = PASSWORD, name: str = "minh") -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()


def test_before_somebody_signs_in_the_page_asks_for_nothing_that_needs_it(page: Page, link: str):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.partition("/api/v1")[2]))
    page.goto(f"/sign-in#link={link}")
    expect(page.get_by_label("New password")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert not [path for path in asked if path.startswith("/health")]


def test_the_first_administrator_sets_a_password_by_the_link(page: Page, link: str):
    page.goto(f"/sign-in#link={link}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Set your password")
    assert link not in page.url, "the link stays in the address, and so in the history"
    page.get_by_label("New password").fill("short")
    page.get_by_role("button", name="Set password and sign in").click()
    expect(page.get_by_text("Enter at least 10 characters.")).to_be_visible()
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button", name="Set password and sign in").click()
    expect(page.get_by_test_id("person")).to_have_text("minh")
    expect(page.get_by_role("heading", level=1)).to_have_text("Problems")
    assert page.evaluate("document.cookie") == "", "a script can read the session"


def test_a_used_link_is_told_to_be_used(page: Page, link: str):
    set_password(page, link)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.goto("about:blank")
    page.goto(f"/sign-in#link={link}")
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_role("button", name="Set password and sign in").click()
    expect(page.get_by_role("alert")).to_have_text(re.compile("unknown, was used or has expired"))


def test_whoever_is_not_signed_in_gets_to_the_page_they_asked_for(page: Page, link: str):
    set_password(page, link)
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/sign-in"))
    page.goto("/approvals?state=all")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    sign_in(page, "wrong")
    expect(page.get_by_role("alert")).to_contain_text("Name and password do not belong together")
    expect(page.get_by_role("alert")).to_be_focused()
    expect(page.get_by_label("Password", exact=True)).to_have_value("")
    sign_in(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Approvals")
    expect(page).to_have_url(re.compile(r"/approvals\?state=all$"))


def test_a_session_that_ends_leads_back_to_the_page(
    page: Page, link: str, context: BrowserContext, db: psycopg.Connection
):
    set_password(page, link)
    page.goto("about:blank")
    # A read of the shell that is still under way would find the end of the session before the button does.
    with page.expect_response(re.compile("/counts$")), page.expect_response(re.compile("/registry/tokens$")):
        page.goto("/approvals")
    expect(page.get_by_test_id("empty")).to_be_visible()
    db.execute("select fn_sessions_revoke(1, 'minh')")
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    sign_in(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Approvals")
    kept = {one["name"]: one["value"] for one in context.cookies() if one["httpOnly"]}
    assert set(kept) == {COOKIE, tenant_cookie("default")}
    assert len(set(kept.values())) == 1, "the session that ended is still kept for its tenant"


def test_the_link_of_a_terminal_signs_in_the_person_of_the_development_mode(
    page: Page, db: psycopg.Connection
):
    db.execute("select _development_enter('dev')")
    (link,) = db.execute("select link from fn_link_create(1, 'dev', 'sign_in')").fetchone()  # type: ignore[misc]
    page.goto(f"/sign-in#once={link}")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_test_id("person")).to_have_text("dev")


def test_the_page_is_shown_in_vietnamese(browser: Browser, base_url: str):
    with browser.new_context(base_url=base_url, locale="vi-VN") as context:
        page = context.new_page()
        page.goto("/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Đăng nhập")
        page.get_by_role("button", name="Đăng nhập").click()
        expect(page.get_by_text("Nhập tên của bạn.")).to_be_visible()
        assert not re.search(r"\bsignIn\.[a-z]", page.locator("body").inner_text())


def test_the_page_is_accessible_in_every_theme_and_width(page: Page):
    page.goto("/sign-in")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Enter your name.")).to_be_visible()
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 800})
        for theme in ("Light", "Dark", "High contrast"):
            page.get_by_label("Theme").select_option(label=theme)
            clean(page, ALL_RULES if theme == "Light" else CONTRAST)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
