"""The page of dead letters: found by cause, inspected, rehearsed, proposed, and stopped by its canary."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.sql.drive import Engine
from tests.support.deciding import deciding

PICTURES = os.environ.get("PICTURES_FOLDER")
CLOSED = {"error": {"type": "Closed", "message": "period 10 is closed"}}


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    made.person("ada", "cleo", "dan")
    db.execute("update dot_config set config_value = 'true' where config_key = 'approval.required.replay'")
    return made


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


@pytest.mark.requirement("GV-06")
def test_a_replay_is_rehearsed_proposed_and_stopped_by_its_canary(page: Page, engine: Engine):
    session = engine.worker()
    engine.enqueue("mail", 60)
    leases = engine.claim(session, 100)
    engine.report(session, *((lease, "dead", CLOSED) for lease in leases))
    page.goto("/governance/dead-letters")
    expect(page.get_by_text("60 open, one cause")).to_be_visible()
    expect(page.get_by_text("Attempts, 1 of")).to_be_visible()
    expect(page.get_by_text("No effect on another system is known")).to_be_visible()
    expect(page.get_by_text("2 other people must agree")).to_be_visible()
    picture(page, "dead-letters")
    page.get_by_role("button", name="Propose replay of 60").click()
    page.get_by_label("Reason").fill("the period is open again")
    page.get_by_role("button", name="Propose replay", exact=True).click()
    expect(page.get_by_text("Replay waits for approval")).to_be_visible()
    approval = engine.one("select approval_id from dlq_replay_plan")
    for person in ("cleo", "dan"):
        engine.one(deciding("approve", person), (approval,))
    engine.one("select fn_replay_plans_carry()")
    (lease,) = engine.claim(session)
    engine.report(session, (lease, "failed", {**CLOSED, "delay_seconds": 60}))
    engine.one("select fn_replay_plans_carry()")
    expect(page.get_by_text("Replay stopped")).to_be_visible()
    expect(page.get_by_text("failed again: period 10 is closed")).to_be_visible()
    expect(page.get_by_text("59 open, one cause")).to_be_visible()
    picture(page, "dead-letters-stopped")


def test_on_a_phone_the_letter_stands_below_the_list_and_its_stages_are_those_of_the_plan(
    page: Page, engine: Engine
):
    page.set_viewport_size({"width": 390, "height": 844})
    session = engine.worker()
    engine.enqueue("mail", 3)
    engine.report(session, *((lease, "dead", CLOSED) for lease in engine.claim(session)))
    page.goto("/governance/dead-letters")
    expect(page.get_by_text("No effect on another system is known")).to_be_visible()
    letters, panel = page.locator("aside"), page.get_by_role("region", name="Canary")
    # Three letters: one first, then the two that are left.
    expect(panel.get_by_role("listitem")).to_have_text(["1 first", "2 next"])
    below = "([list, head]) => list.getBoundingClientRect().bottom <= head.getBoundingClientRect().top"
    parts = [letters.element_handle(), page.locator(".panel > header").element_handle()]
    assert page.evaluate(below, parts)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    # Who chooses another letter sees it.
    page.locator("aside li a").last.click()
    expect(page.get_by_role("link", name="Timeline")).to_have_count(0)
    expect(page.locator(".panel > header")).to_be_in_viewport()
    picture(page, "dead-letters-phone")
