"""The first page: every category, raised and resolved by a real cause, down to the timeline."""

from __future__ import annotations

import os
import re
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.sql.drive import Engine, human, operation
from tests.support.clock import Clock
from tests.support.wait import until_row

# A subject has a list of its events inside.
SUBJECTS = "[data-testid=subjects] > li"
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
            expect(page.locator(SUBJECTS)).to_have_count(1)
            picture(page, f"problems-{category}")
    expect(page.get_by_text("8 open in 8 of 10 categories")).to_be_visible()
    picture(page, "problems")
    # Down to the list, then to the timeline of the run.
    row(page, "overdue_step").get_by_role("link", name="Overdue steps").click()
    subject = page.locator(SUBJECTS)
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
        page.get_by_test_id("facts").get_by_role("button", name="Close").click()
        page.get_by_label("Reason").fill("mended at its source")
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        counted(page, category, 0)
    expect(page.get_by_text("0 open in 0 of 10 categories")).to_be_visible()
    expect(row(page, "silent_worker")).to_contain_text("closed by keeper")
    picture(page, "problems-clear")


def test_a_problem_shows_its_cause_what_helps_and_what_is_said_of_it(
    page: Page, engine: Engine, clock: Clock
):
    """Beside the categories: the button that helps, the last events, and sentences with their evidence."""
    page.set_viewport_size({"width": 1440, "height": 900})
    engine.person("ben")
    late = [engine.start("desk") for _ in range(3)]
    engine.start("w")
    session = engine.worker("orders:host-1")
    engine.complete(session, *engine.claim(session))
    engine.beat(session)
    clock.advance(minutes=20)
    engine.timers()
    engine.beat(session)
    engine.one("select fn_problems_watch()")
    engine.one("select fn_summaries_write()")
    newest = "select problem_id::text from governance_problem order by since_at desc limit 1"
    number = engine.one(newest)
    ref = engine.one("select concat_ws(':', 'event', run_id, event_id) from event_log order by event_id desc")
    engine.one(
        "select fn_summary_write(1, 'ada', 'problem', %s, 'yellow', 'Three desks wait for one signer.',"
        " 'Ba bàn chờ một người ký.', 1, 1, array[%s], stepwell.now() - interval '1 hour',"
        " stepwell.now(), 'model-1', 0.4)",
        (number, ref),
    )
    page.goto("/governance/problems?category=overdue_step")
    subjects = page.locator(SUBJECTS)
    facts = page.get_by_test_id("facts")
    expect(facts).to_have_count(1)
    expect(page.get_by_test_id("worker-sentences")).to_contain_text("orders:host-1")
    expect(page.get_by_test_id("worker-sentences").get_by_test_id("said")).to_contain_text("event")
    # Beside the table, not below it.
    table, panel = page.get_by_test_id("categories").bounding_box(), facts.bounding_box()
    assert table
    assert panel
    assert panel["x"] > table["x"] + table["width"] - 1
    expect(facts.get_by_text("Who can change it")).to_be_visible()
    expect(facts.get_by_role("list", name="Last events")).to_contain_text("step.deadline_missed")
    expect(facts.get_by_text("Three desks wait for one signer.")).to_be_visible()
    expect(facts.get_by_test_id("said")).to_contain_text("agent 0.40 · not sure enough")
    picture(page, "problems-wide")
    # The button that helps, for who may.
    facts.get_by_role("button", name="Claim").click()
    claimed = "select unit_id from work_unit where pic_id is not null and scope = 'step'"
    until_row(engine.db, f"select exists ({claimed})")
    unit = engine.one(claimed)
    assert unit >> 20 in late
    assert engine.state(unit) in ("in_progress", "overdue")
    page.keyboard.press("j")
    expect(subjects.nth(1)).to_have_class("current")
    subjects.nth(2).get_by_role("button").first.click()
    expect(subjects.nth(2).get_by_test_id("facts")).to_be_visible()
    facts.get_by_role("link", name="Open step").click()
    expect(page).to_have_url(re.compile(r"/runs/\d+\?step=1$"))
    for look, size in (("dark", 1440), ("dark", 390), ("contrast", 1440)):
        page.set_viewport_size({"width": size, "height": 900})
        page.goto("/governance/problems?category=overdue_step")
        expect(facts.get_by_role("list", name="Last events")).to_be_visible()
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", look)
        # Nothing of it is cut off at the side, also not inside the table.
        assert page.evaluate("document.documentElement.scrollWidth") <= size
        box = page.get_by_test_id("categories").locator("xpath=..")
        assert box.evaluate("box => box.scrollWidth <= box.clientWidth"), (look, size)
        picture(page, f"problems-{look}-{size}")


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
