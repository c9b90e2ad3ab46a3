"""A failed cut of content is tried again or given up on the page of problems, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
from playwright.sync_api import Page, expect
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine

PICTURES = os.environ.get("PICTURES_FOLDER")


def write(engine: Engine, code: str, body: str) -> None:
    engine.one("select version_no from fn_content_write(1, %s, %s, 'ada')", (code, body))


def failed_cut(engine: Engine, code: str) -> None:
    parts = Jsonb([{"code": f"{code}.a", "body": "one"}, {"code": f"{code}.b", "body": " three"}])
    engine.one("select fn_iu_op_split(1, %s, %s, 'ada')", (code, parts))


def test_a_failed_cut_has_the_actions_that_help(page: Page, db: psycopg.Connection):
    engine = Engine(db)
    write(engine, "guide", "one two")
    failed_cut(engine, "guide")
    page.goto("/governance/problems?category=failed_cut")
    page.locator("[data-category=failed_cut]").get_by_role("link").first.click()
    facts = page.get_by_test_id("facts")
    expect(facts).to_contain_text("not the text of content guide")
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / "failed-cut.png")
    facts.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("It failed again:")).to_be_visible()
    assert engine.one("select attempt_count from cut_request_detail") == 2
    # The content is mended, and the same cut is carried out.
    write(engine, "guide", "one three")
    facts.get_by_role("button", name="Try again").click()
    expect(page.get_by_test_id("nothing")).to_be_visible()
    assert engine.one("select state_code from cut_request") == "completed"
    write(engine, "manual", "another text")
    failed_cut(engine, "manual")
    expect(facts).to_contain_text("not the text of content manual")
    facts.get_by_role("button", name="Give up").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("No content changes.")
    dialog.get_by_label("Reason").fill("a slip")
    dialog.get_by_role("button", name="Give up").click()
    expect(page.get_by_test_id("nothing")).to_be_visible()
    newest = "select state_code from cut_request order by cut_request_id desc limit 1"
    assert engine.one(newest) == "cancelled"
