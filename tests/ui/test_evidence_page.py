"""The page of the console that verifies a bundle in the browser: the same findings, and nothing is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from stepwell.govern import verify as verifier
from stepwell.govern.anchor import tell
from stepwell.govern.signing import make_key
from stepwell.store.calls.keep import keeper_connection
from tests.govern.bundle_tamper import cases
from tests.govern.conftest import Sample, sample

__all__ = ["sample"]

# What the frame around each page asks for by itself, at any time: its stream, and what it counts.
SHELL = re.compile(r"/api/v1/(stream\?topics=((inbox|approvals|problems|%2C)+)(&after=[^&]+)?|counts)$")


@pytest.fixture
def opened(page: Page) -> Iterator[Page]:
    """No request is made after the page is open: the bundle stays in the browser."""
    page.goto("/evidence")
    expect(page.get_by_role("heading", name="Verify evidence")).to_be_visible()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    yield page
    assert [url for url in requested if not SHELL.search(url)] == []


def give(page: Page, what: str, data: bytes) -> None:
    page.get_by_test_id(what).set_input_files({"name": what, "mimeType": "", "buffer": data})


def test_a_bundle_is_verified_in_the_browser(opened: Page, sample: Sample, tmp_path: Path):
    said = opened.locator("[role=status]:not(.notices)")
    give(opened, "bundle", sample.data)
    expect(said).to_contain_text("The head was compared with nothing")
    facts = opened.get_by_role("region", name="What was verified")
    expect(facts).to_contain_text(sample.exported.head_hash)
    expect(facts).to_contain_text(sample.exported.sha256)
    expect(opened.get_by_role("region", name="Approvals")).to_contain_text("bob: approve (agreed)")
    opened.get_by_test_id("head").fill("00" * 32)
    expect(said).to_contain_text("Not verified")
    expect(opened.get_by_role("table")).to_contain_text("head.other")
    opened.get_by_test_id("head").fill(sample.exported.head_hash)
    expect(said).to_contain_text("The head was compared with the trusted hash")
    make_key(str(tmp_path / "seal.key"), str(tmp_path / "seals.keys"))
    with keeper_connection(sample.dsn) as connection:
        tell(connection, str(tmp_path / "seals.jsonl"), str(tmp_path / "seal.key"))
    give(opened, "anchor", (tmp_path / "seals.jsonl").read_bytes())
    expect(said).to_contain_text("Signatures were not checked")
    give(opened, "keys", b"no key")
    expect(said).to_contain_text("keys cannot be used")
    give(opened, "keys", (tmp_path / "seals.keys").read_bytes())
    expect(said).to_contain_text("its signatures were checked")
    give(opened, "keys", b"11" * 32)
    expect(opened.get_by_role("table")).to_contain_text("anchor.signature")


def test_the_browser_finds_what_the_other_verifier_finds(opened: Page, sample: Sample):
    for name in ("approvals.json", "events.jsonl", "report.html"):
        case = next(one for one in cases(sample.data) if one.name.startswith(f"{name} cut, with_manifest"))
        forged = verifier.pack(case.files())
        wanted = [one.code for one in verifier.verify(forged)]
        give(opened, "bundle", forged)
        expect(opened.locator("[role=status]:not(.notices)")).to_contain_text(f"{len(wanted)} findings")
        assert opened.locator("tbody code").all_inner_texts() == wanted


def test_the_page_speaks_vietnamese_and_is_accessible(opened: Page, sample: Sample):
    give(opened, "bundle", sample.data)
    expect(opened.get_by_role("region", name="Approvals")).to_be_visible()
    assert Axe().run(opened).response["violations"] == []
    opened.get_by_role("button", name="Tiếng Việt").click()
    expect(opened.get_by_role("heading", name="Kiểm chứng bằng chứng")).to_be_visible()
    give(opened, "bundle", sample.data[:-1])
    expect(opened.locator("[role=status]:not(.notices)")).to_contain_text("Không kiểm chứng được")
    assert Axe().run(opened).response["violations"] == []
