"""An incident hold is opened after its reach was shown, is on every page, and is released by shares."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.sql.drive import Engine, human, operation

PICTURES = os.environ.get("PICTURES_FOLDER")


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    made.publish("goods", operation("post_goods"), human("sign", deadline=3600))
    for _ in range(5):
        made.start("goods")
    return made


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def looks(page: Page) -> None:
    """Dark, Vietnamese, and as narrow as a phone."""
    page.emulate_media(color_scheme="dark")
    page.get_by_text("VI", exact=True).click()
    picture(page, "hold-dark-vi")
    page.get_by_text("EN", exact=True).click()
    page.emulate_media(color_scheme="light")
    size = page.viewport_size
    page.set_viewport_size({"width": 390, "height": 780})
    picture(page, "hold-phone")
    assert size is not None
    page.set_viewport_size(size)


def test_a_hold_is_opened_shown_on_every_page_and_released(page: Page, engine: Engine):
    page.goto("/governance/problems")
    page.get_by_role("button", name="Hold…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("post_goods")
    expect(dialog.get_by_test_id("reach")).to_contain_text("5 steps in 5 runs")
    picture(page, "hold-dialog")
    # Without a reason nothing is opened.
    dialog.get_by_role("button", name="Hold", exact=True).click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_label("Reason").fill("SAP period closed by mistake")
    dialog.get_by_role("button", name="Hold", exact=True).click()
    banner = page.get_by_test_id("holds")
    expect(banner).to_contain_text("Hold on operation post_goods")
    expect(banner).to_contain_text("SAP period closed by mistake")
    card = page.get_by_test_id("hold")
    expect(card).to_contain_text("5 steps and 0 jobs stand still")
    assert engine.claim(engine.worker()) == []
    picture(page, "hold-problems")
    if PICTURES:
        looks(page)
    page.get_by_role("link", name="Runs").first.click()
    expect(banner).to_be_visible()
    picture(page, "hold-runs")
    banner.get_by_role("link", name="Show").click()
    card.get_by_role("button", name="Release 10 %…").click()
    dialog.get_by_label("50 %").check()
    dialog.get_by_label("Reason").fill("open again")
    picture(page, "hold-release")
    dialog.get_by_role("button", name="Release", exact=True).click()
    expect(card).to_contain_text("50 of 100 runs go on")
    with page.expect_download() as download:
        card.get_by_role("button", name="Evidence so far").click()
    assert download.value.suggested_filename.startswith("hold-")
    # Somebody else releases it: the banner goes without a reload.
    engine.one("select fn_hold_release(1, (select hold_id from incident_hold), 100, 'done', 'cli:ops')")
    expect(banner).to_have_count(0)
    expect(card).to_have_count(0)
    assert len(engine.claim(engine.worker("other"))) == 5
