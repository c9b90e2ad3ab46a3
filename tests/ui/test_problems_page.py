"""The first page: every category, raised and resolved by a real cause, down to the timeline."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.sql.drive import Engine, human, operation
from tests.support.clock import Clock

PICTURES = os.environ.get("PICTURES_FOLDER")


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    made.person("ada")
    made.publish("w", operation("a"))
    made.publish("desk", human("sign", deadline=600))
    return made


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def row(page: Page, category: str) -> Locator:
    return page.locator(f"[data-category={category}]")


def counted(page: Page, category: str, count: int) -> None:
    expect(row(page, category).locator("td").first).to_have_text(str(count))


def taken(engine: Engine) -> None:
    """The reader takes what there is."""
    tx, event_id = engine.db.execute("select tx, event_id from fn_events_read(1, 'mail')").fetchall()[-1]
    engine.one("select fn_events_ack(1, 'mail', %s, %s)", (tx, event_id))


def failed_cut(engine: Engine) -> int:
    """A content is split into parts that together are not its text; returns the number of the request."""
    engine.one("select fn_content_write(1, 'guide', 'one two', 'ada')")
    parts = '[{"code": "g.a", "body": "one"}, {"code": "g.b", "body": "three"}]'
    engine.one("select fn_iu_op_split(1, 'guide', %s, 'ada')", (parts,))
    number: int = engine.one("select unit_id from governance_problem where category_code = 'failed_cut'")
    return number


@pytest.mark.requirement("GV-01", "GV-04")
def test_each_category_is_raised_and_resolved_by_its_cause(page: Page, engine: Engine, clock: Clock):
    page.goto("/governance/problems")
    expect(page.get_by_test_id("categories")).to_be_visible()
    expect(page.get_by_text("Clear")).to_have_count(10)
    # A worker dies with a job; a payload is broken; a consumer stays behind; a step is late; a run is lost.
    letter, late, lost = engine.start("w"), engine.start("desk"), engine.start("w")
    session = engine.worker("orders:host-1", lease_seconds=30)
    (lease, other) = engine.claim(session)
    engine.kill(session, lease)
    engine.one("select fn_event_reject_note(1, 'nobody.registered_it', %s, '{}')", (letter << 20,))
    taken(engine)
    engine.enqueue("nobody_reads_this")
    # A content is cut into parts that are not its text: a failed cut, and a warning about the content.
    cut = failed_cut(engine)
    clock.advance(minutes=20)
    engine.one("select fn_leases_recover(10)")
    engine.timers()
    engine.db.execute("delete from job_ready where unit_id = %s", (other.unit_id,))
    engine.one("select fn_problems_watch()")
    raised = ("dead_letter", "silent_worker", "overdue_step", "schema_violation", "event_lag")
    for category in (*raised, "integrity_warning", "orphan_workflow", "failed_cut"):
        counted(page, category, 1)
        if PICTURES:
            row(page, category).get_by_role("link").first.click()
            expect(page.get_by_test_id("subjects").get_by_role("listitem")).to_have_count(1)
            picture(page, f"problems-{category}")
    expect(page.get_by_text("8 open in 8 of 10 categories")).to_be_visible()
    picture(page, "problems")
    # Down to the list, then to the timeline of the run.
    row(page, "overdue_step").get_by_role("link", name="Overdue steps").click()
    subject = page.get_by_test_id("subjects").get_by_role("listitem")
    expect(subject).to_contain_text("sign")
    subject.get_by_role("link", name="Timeline").click()
    expect(page.get_by_role("row").filter(has_text="step.deadline_missed")).to_be_visible()
    picture(page, "problems-timeline")
    page.get_by_role("link", name="Problems").first.click()
    # Each is resolved by what helps.
    step = engine.unit(late, "sign")
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (step,))
    engine.db.execute("select fn_step_complete(1, %s, 'ada', '{}')", (step,))
    for key in ("replay", "workflow_cancel"):
        engine.db.execute(
            "update dot_config set config_value = 'false' where config_key = %s",
            (f"approval.required.{key}",),
        )
    engine.one("select fn_run_retry(1, %s, 'ada')", (letter,))
    engine.one("select fn_run_cancel(1, %s, 'ada')", (lost,))
    engine.beat(engine.worker("orders:host-2", lease_seconds=3600))
    taken(engine)
    engine.one("select fn_iu_op_cancel(1, %s, 'ada', 'a slip')", (cut,))
    engine.one("select fn_problems_watch()")
    resolved = ("dead_letter", "silent_worker", "overdue_step", "event_lag", "orphan_workflow", "failed_cut")
    for category in resolved:
        counted(page, category, 0)
    # A person closes the others, with a reason.
    for category in ("schema_violation", "integrity_warning"):
        row(page, category).get_by_role("link").first.click()
        page.get_by_test_id("subjects").get_by_role("button", name="Close").click()
        page.get_by_label("Reason").fill("mended at its source")
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        counted(page, category, 0)
    expect(page.get_by_text("0 open in 0 of 10 categories")).to_be_visible()
    expect(row(page, "silent_worker")).to_contain_text("closed by keeper")
    picture(page, "problems-clear")


def test_a_long_list_below_does_not_fold_the_categories(page: Page, engine: Engine):
    for _ in range(30):
        engine.start("w")
    session = engine.worker("orders:host-1")
    engine.kill(session, *engine.claim(session))
    engine.one("select fn_problems_watch()")
    page.goto("/governance/problems")
    counted(page, "dead_letter", 30)
    for category in ("dead_letter", "overdue_step", "event_lag"):
        shown = row(page, category)
        shown.scroll_into_view_if_needed()
        assert shown.evaluate(
            """row => {
                const box = row.closest(".scroll");
                return box.scrollHeight <= box.clientHeight && box.clientHeight > row.offsetHeight;
            }"""
        )
