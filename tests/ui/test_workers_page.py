"""The page of workers: one sentence each with its evidence, frozen, drained and freed, in both languages."""

from __future__ import annotations

import os
import re
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.sql.drive import Engine

PICTURES = os.environ.get("PICTURES_FOLDER")


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    """Two workers; the older one did three jobs and failed in one of them."""
    made = Engine(db)
    made.person("ada", "cleo")
    session = made.worker("orders:host-1:4711:a1b2", serves=["ship", "pay"])
    made.beat(session)
    made.enqueue("ship", 3)
    first, *others = made.claim(session)
    made.kill(session, first)
    made.complete(session, *others)
    made.beat(made.worker("orders:host-2:812:c3d4"))
    made.one("select fn_summaries_write()")
    return made


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


@pytest.mark.requirement("GV-03")
def test_a_worker_is_shown_with_its_sentence_and_the_events_behind_it(page: Page, engine: Engine):
    page.goto("/workers")
    expect(page.get_by_text("2 alive")).to_be_visible()
    listed = page.get_by_role("complementary", name="Workers by executor")
    expect(listed.get_by_text("OK, no jobs in 5 min")).to_be_visible()
    # The newest is open; k and j move.
    expect(page.locator(".panel .name")).to_have_text("orders:host-2:812:c3d4")
    page.keyboard.press("j")
    expect(page.locator(".panel .name")).to_have_text("orders:host-1:4711:a1b2")
    sentence = page.get_by_test_id("sentence")
    expect(sentence).to_contain_text("Errors, 3 jobs / 1 errors / lag")
    expect(sentence).to_contain_text("6 events of 6, 6 shown")
    expect(sentence).to_contain_text("engine fn_summaries_write 1")
    page.get_by_role("button", name="Show its events").click()
    expect(sentence.get_by_role("row")).to_have_count(6)
    picture(page, "workers")
    sentence.get_by_role("link", name="Timeline").first.click()
    expect(page).to_have_url(re.compile(r"/governance/timeline\?unit="))
    page.go_back()
    expect(page.locator(".panel").get_by_text("ship", exact=True)).to_be_visible()


@pytest.mark.requirement("GV-05")
def test_an_unsure_sentence_of_an_agent_is_flagged(page: Page, engine: Engine):
    ref = engine.one("select concat_ws(':', 'event', run_id, event_id) from event_log order by event_id desc")
    engine.one(
        "select fn_summary_write(1, 'ada', 'worker', '1', 'yellow', 'Orders wait for the warehouse.',"
        " 'Đơn hàng chờ kho.', 1, 1, array[%s], stepwell.now() - interval '1 hour', stepwell.now(),"
        " 'gpt-9', 0.4)",
        (ref,),
    )
    page.goto("/workers?worker=1")
    sentence = page.get_by_test_id("sentence").filter(has_text="Orders wait for the warehouse.")
    expect(sentence.get_by_text("not sure enough")).to_be_visible()
    expect(sentence).to_contain_text("confidence 0.40, 0.60 is asked for")
    picture(page, "workers-agent")


@pytest.mark.requirement("GV-07")
def test_a_worker_is_drained_and_frozen_and_freed(page: Page, engine: Engine):
    page.goto("/workers?worker=1")
    panel = page.locator(".panel")
    panel.get_by_role("button", name="Drain…").click()
    expect(page.get_by_text("Its process stays until you stop it.")).to_be_visible()
    page.get_by_label("Reason").fill("the host is updated")
    page.get_by_role("button", name="Drain", exact=True).click()
    expect(panel.get_by_text("the host is updated")).to_be_visible()
    panel.get_by_role("button", name="Freeze…").click()
    page.get_by_label("Reason").fill("its disk is full")
    page.get_by_role("button", name="Freeze", exact=True).click()
    expect(panel.get_by_text("its disk is full")).to_be_visible()
    kinds = "select array_agg(stop_kind order by stop_kind) from worker_stop"
    assert engine.one(kinds) == ["drain", "frozen"]
    picture(page, "workers-stopped")
    for name in ("End drain…", "Unfreeze…"):
        panel.get_by_role("button", name=name).click()
        page.get_by_label("Reason").fill("it is mended")
        page.get_by_role("button", name=name.removesuffix("…"), exact=True).click()
        expect(panel.get_by_role("button", name=name)).to_have_count(0)
    assert engine.one(kinds) is None


@pytest.mark.requirement("GV-07")
def test_an_executor_is_frozen_from_its_heading(page: Page, engine: Engine):
    page.goto("/workers")
    group = page.get_by_role("region", name="default")
    group.get_by_role("button", name="Freeze…").click()
    expect(page.get_by_text("No worker claims work of this executor.")).to_be_visible()
    page.get_by_label("Reason").fill("a bad release")
    page.get_by_role("button", name="Freeze", exact=True).click()
    expect(group.get_by_text("a bad release")).to_be_visible()
    expect(page.locator(".panel").get_by_text("It claims nothing of: default")).to_be_visible()
    assert engine.one("select stop_kind from worker_stop") == "frozen"


def test_the_page_speaks_vietnamese_and_fits_a_phone(page: Page, engine: Engine):
    page.goto("/workers?worker=1")
    expect(page.get_by_test_id("sentence")).to_be_visible()
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    picture(page, "workers-dark")
    page.evaluate("localStorage.setItem('stepwell.language', 'vi')")
    page.reload()
    expect(page.get_by_test_id("sentence")).to_contain_text("Có lỗi, 3 việc / 1 lỗi / trễ")
    picture(page, "workers-vi")
    page.set_viewport_size({"width": 390, "height": 844})
    wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert not wide
    picture(page, "workers-phone")
