"""The report of a bundle in a real browser: one file, no script, two languages, accessible."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.govern.conftest import Sample, sample
from tests.govern.sample_run import CANARY

__all__ = ["sample"]


@pytest.fixture
def report(sample: Sample, tmp_path: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(sample.data)) as archive:
        return Path(archive.extract("report.html", tmp_path))


@pytest.fixture(params=["light", "dark"])
def opened(request: pytest.FixtureRequest, browser: Browser, report: Path) -> Iterator[Page]:
    context = browser.new_context(color_scheme=request.param, viewport={"width": 1180, "height": 900})
    page = context.new_page()
    requested: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.on("console", lambda said: complaints.append(said.text))
    page.goto(report.as_uri())
    yield page
    assert requested == [report.as_uri()], "the page loaded another file"
    assert complaints == []
    context.close()


def test_the_report_shows_all_parts_of_the_run(opened: Page):
    expect(opened.get_by_role("heading", name="order.process")).to_be_visible()
    for title in ("Steps", "Approvals", "Policy verdicts", "Effects in other systems", "Costs", "Events"):
        expect(opened.get_by_role("heading", name=title)).to_be_visible()
    expect(opened.locator("#steps")).to_contain_text("sign-off")
    expect(opened.locator("#approvals")).to_contain_text("bob")
    expect(opened.locator("#costs")).to_contain_text("0.007 USD")
    assert CANARY not in opened.content()


def test_the_report_can_be_shown_in_vietnamese_without_a_script(opened: Page):
    assert opened.locator("script").count() == 0
    opened.get_by_text("Tiếng Việt").click()
    expect(opened.get_by_role("heading", name="Các bước")).to_be_visible()
    expect(opened.get_by_role("heading", name="Steps")).to_be_hidden()


def test_axe_finds_no_violation_in_the_report(opened: Page):
    found = Axe().run(opened)
    assert found.response["violations"] == []


def test_on_a_narrow_screen_tables_scroll_and_the_page_does_not(browser: Browser, report: Path):
    context = browser.new_context(viewport={"width": 400, "height": 800})
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    context.close()
