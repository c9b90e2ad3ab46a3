"""The health page: checks with their remedies, loading and error states, two languages."""

from __future__ import annotations

import re

import psycopg
from playwright.sync_api import BrowserContext, Page, Route, expect

from stepwell import __version__


def open_health(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_role("table")).to_be_visible()


def test_the_page_shows_the_health_of_the_installation(page: Page):
    open_health(page)
    card = page.get_by_role("region", name="Installation")
    expect(card).to_be_visible()
    expect(card).to_contain_text(__version__)
    expect(page.get_by_role("region", name="Database")).to_contain_text("External server")
    expect(page.get_by_role("row", name=re.compile("^Schema OK current"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"^Checked (now|\d+ seconds? ago)$"))).to_be_visible()
    expect(page).to_have_title("System health · Stepwell")


def test_exact_times_are_in_the_tooltip(page: Page):
    open_health(page)
    started = page.get_by_role("region", name="Installation").locator("time")
    assert re.search(r"\d{4}", started.get_attribute("title") or "")
    assert re.match(r"\d{4}-\d\d-\d\dT", started.get_attribute("datetime") or "")


def test_an_empty_installation_says_what_to_do_next(page: Page):
    open_health(page)
    expect(page.get_by_role("region", name="Work")).to_contain_text("Publish a workflow")


def test_every_check_has_a_name(page: Page):
    """A check that is shown by its code has no name; only settings of PostgreSQL keep their own names."""
    open_health(page)
    names = page.locator("tbody th").all_inner_texts()
    settings = {"fsync", "full_page_writes", "synchronous_commit"}
    assert [name for name in names if name not in settings and name == name.lower()] == []


def test_failed_checks_come_first_with_their_remedy(page: Page, db: psycopg.Connection):
    db.execute("delete from stepwell.schema_routine")
    page.goto("/")
    row = page.get_by_role("row", name=re.compile("^Schema Failed"))
    expect(row).to_contain_text("How to fix it: run 'stepwell db migrate'")
    states = page.locator("tbody td:nth-child(2)").all_inner_texts()
    assert states == sorted(states, key=["Failed", "Warning", "OK"].index)
    expect(page.get_by_text("Needs attention")).to_be_visible()


def test_a_skeleton_is_shown_until_the_answer_arrives(page: Page):
    held: list[Route] = []
    page.route("**/api/v1/health", lambda route: held.append(route))
    with page.expect_request("**/api/v1/health"):
        page.goto("/")
    expect(page.get_by_test_id("skeleton")).to_be_visible()
    expect(page.get_by_role("region", name="Database")).to_be_visible()
    for route in held:
        route.continue_()
    expect(page.get_by_role("table")).to_be_visible()
    expect(page.get_by_test_id("skeleton")).to_have_count(0)


def test_the_findings_are_in_the_language_of_the_page(page: Page):
    open_health(page)
    checks = page.get_by_role("table")
    expect(checks).to_contain_text("none, the connection is direct")
    page.get_by_role("button", name="VI").click()
    expect(checks).to_contain_text("không có, kết nối trực tiếp")
    for english in (
        "current,",
        "differ by",
        "may migrate",
        "free",
        "arrived after",
        "connected",
        "external",
    ):
        expect(checks).not_to_contain_text(english)


def test_without_an_answer_of_the_server_an_error_and_a_retry_are_shown(page: Page):
    page.expected_complaint = "ERR_FAILED"  # type: ignore[attr-defined]
    page.route("**/api/v1/health", lambda route: route.abort())
    page.goto("/")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    page.unroute("**/api/v1/health")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("table")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_problem_of_the_server_is_shown_with_its_text(page: Page):
    page.expected_complaint = "503"  # type: ignore[attr-defined]
    problem = {
        "type": "urn:x",
        "title": "Database unavailable",
        "status": 503,
        "detail": "no room",
        "request_id": "r-7",
    }
    page.route("**/api/v1/health", lambda route: route.fulfill(status=503, json=problem))
    page.goto("/")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Database unavailable")
    expect(alert).to_contain_text("no room")
    expect(alert).to_contain_text("r-7")


def test_old_values_stay_with_a_notice_when_the_server_does_not_answer(page: Page):
    page.expected_complaint = "ERR_FAILED"  # type: ignore[attr-defined]
    open_health(page)
    page.route("**/api/v1/health", lambda route: route.abort())
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_role("alert")).to_contain_text("No answer from the server")
    expect(page.get_by_role("table")).to_be_visible()


def test_nothing_is_loaded_from_another_host(context: BrowserContext, page: Page, base_url: str):
    requested: list[str] = []
    context.on("request", lambda request: requested.append(request.url))
    open_health(page)
    assert requested
    assert [url for url in requested if not url.startswith(base_url)] == []
