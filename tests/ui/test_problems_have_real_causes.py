"""Every category of the problems page, raised and resolved by real processes: the keeper finds what they do.

A handler fails, a payload is broken, a worker is killed, a person is late, a reader stays away, content is
cut wrongly, a row of the queue is lost, and a row of a run is changed beside the engine.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.acceptance.running import run as stepwell
from tests.acceptance.working import WorkerProcess, worker
from tests.sql.drive import Engine, human, operation
from tests.support.clock import Clock
from tests.support.deciding import deciding
from tests.support.wait import until_row

APP = Path(__file__).with_name("failing_app.py")
CATEGORIES = (
    "dead_letter", "silent_worker", "overdue_step", "schema_violation", "event_lag", "integrity_warning",
    "failed_cut", "orphan_workflow",
)  # fmt: skip
PICTURES = os.environ.get("PICTURES_FOLDER")
LIMIT_MS = 60_000
SETTINGS = {
    "heartbeat.threshold.default": "2",
    "approval.required.replay": "true",
    "approval.required.workflow_cancel": "false",
    "event_lag.threshold.p99.log.reader:mail": "3000",
}
TIMELINES = {
    "dead_letter": "step.escalated", "silent_worker": "step.started", "overdue_step": "step.deadline_missed",
    "schema_violation": "step.completed", "event_lag": "event_lag.breached", "failed_cut": "problem.opened",
    "orphan_workflow": "workflow.started",
}  # fmt: skip
TAMPER = "update run_progress set completed_count = completed_count {} where run_id = %s"


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    made = Engine(db)
    made.person("ada", "cleo")
    for key, value in SETTINGS.items():
        db.execute(
            "insert into dot_config (config_key, config_value, description) values (%s, %s, 'of a test')"
            " on conflict (config_key) do update set config_value = excluded.config_value",
            (key, value),
        )
    made.publish("desk", human("sign", deadline=1))
    made.publish("lost", operation("nobody_serves_it"))
    return made


@contextmanager
def keeper(dsn: str, log: Path) -> Iterator[None]:
    """A keeper of its own: it looks also while no worker is alive."""
    process = WorkerProcess(dsn, log, command="keeper")
    try:
        yield
    finally:
        process.kill()


def take(db: psycopg.Connection) -> None:
    """The reader takes what there is."""
    rows = db.execute("select tx, event_id from fn_events_read(1, 'mail')").fetchall()
    if rows:
        db.execute("select fn_events_ack(1, 'mail', %s, %s)", rows[-1])


@contextmanager
def reader(dsn: str) -> Iterator[None]:
    """A program that reads the log all the time."""
    ended = threading.Event()

    def read() -> None:
        with psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell") as connection:
            while not ended.wait(0.2):
                take(connection)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def row(page: Page, category: str) -> Locator:
    return page.locator(f"[data-category={category}]")


def counted(page: Page, count: int, *categories: str) -> None:
    """The page shows it by itself, without being read again."""
    for category in categories:
        expect(row(page, category).locator("td").first).to_have_text(str(count), timeout=LIMIT_MS)


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def content(dsn: str, *arguments: str) -> str:
    return stepwell("--database-url", dsn, "content", *arguments).stdout


@pytest.mark.requirement("GV-01", "GV-04", "SM-23")
@pytest.mark.timeout(280)
def test_each_category_is_raised_and_resolved_by_real_processes(
    page: Page, engine: Engine, dsn: str, clock: Clock, tmp_path: Path
):
    db = engine.db
    lost = engine.start("lost")
    db.execute("delete from job_ready where unit_id = %s", (engine.unit(lost, "nobody_serves_it"),))
    clock.advance(minutes=2)
    take(db)
    for name, text in (("all", "one two"), ("a", "one"), ("b", "three")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    content(dsn, "write", "guide", str(tmp_path / "all"))
    page.goto("/governance/problems")
    expect(page.get_by_test_id("categories")).to_be_visible()
    expect(page.get_by_text("Clear")).to_have_count(10)
    with keeper(dsn, tmp_path / "keeper"):
        with worker(dsn, tmp_path / "first", "--lease-seconds", "2", app=str(APP)) as first:
            run = engine.start("posting", {"folder": str(tmp_path)})
            told = engine.start("counting")
            late = engine.start("desk")
            until_row(db, "select count(*) = 1 from job_dead_letter")
            until_row(db, "select finished_at is not null from run_detail where run_id = %s", (told,))
            first.kill()
        db.execute(TAMPER.format("+ 1"), (told,))
        content(dsn, "split", "guide", f"g.a={tmp_path / 'a'}", f"g.b={tmp_path / 'b'}")
        # The cut and the lost row of the queue are warnings, too; the changed row is the third one.
        others = tuple(name for name in CATEGORIES if name != "integrity_warning")
        counted(page, 1, *others)
        counted(page, 3, "integrity_warning")
        for category in CATEGORIES if PICTURES else ():
            row(page, category).get_by_role("link").first.click()
            expect(page.get_by_test_id("facts")).to_be_visible()
            picture(page, f"real-{category}")
        picture(page, "real-problems")
        follow(page, told)
        resolve(page, engine, dsn, clock, tmp_path, late, told, lost)
    assert engine.run_state(run) == "completed"
    assert not flips(db), "a problem was closed without its event"
    recount = "select count(*) from governance_problem where closed_at is null"
    assert engine.one(recount) == engine.one("select coalesce(sum(open_count), 0) from governance_count")


def follow(page: Page, told: int) -> None:
    """Each leads to the events behind it, also what has no run; the row at fault has its remedy."""
    facts = page.get_by_test_id("facts")
    for category, event in TIMELINES.items():
        row(page, category).get_by_role("link").first.click()
        facts.get_by_role("link", name="Timeline").click()
        expect(page.get_by_role("row").filter(has_text=event).first).to_be_visible()
        page.get_by_role("link", name="Problems").first.click()
    row(page, "integrity_warning").get_by_role("link").first.click()
    page.get_by_test_id("subjects").get_by_role("button", name=f"run {told}").click()
    expect(facts).to_contain_text("completed_count: counted")
    expect(facts).to_contain_text("What helps:")
    picture(page, "real-remedy")


def resolve(
    page: Page, engine: Engine, dsn: str, clock: Clock, folder: Path, late: int, told: int, lost: int
) -> None:
    """Each by what helps: on the page, in a terminal, by a worker that comes back, by a mended row."""
    db = engine.db
    # The step that is late, on the page.
    row(page, "overdue_step").get_by_role("link").first.click()
    facts = page.get_by_test_id("facts")
    expect(facts).to_contain_text("sign")
    facts.get_by_role("button", name="Claim").click()
    until_row(db, "select pic_id is not null from work_unit where unit_id = %s", (engine.unit(late, "sign"),))
    db.execute("select fn_step_complete(1, %s, 'ben', '{}')", (engine.unit(late, "sign"),))
    counted(page, 0, "overdue_step")
    # The lost run is given up, and the row is as before; the keeper checks both again after a minute.
    engine.one("select fn_run_cancel(1, %s, 'ada')", (lost,))
    counted(page, 0, "orphan_workflow")
    db.execute(TAMPER.format("- 1"), (told,))
    clock.advance(minutes=2)
    counted(page, 1, "integrity_warning")
    for category in ("schema_violation", "integrity_warning"):
        row(page, category).get_by_role("link").first.click()
        facts.get_by_role("button", name="Close").click()
        page.get_by_label("Reason").fill("mended at its source")
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        counted(page, 0, category)
    number = engine.one("select unit_id >> 20 from work_unit where scope = 'cut_request'")
    content(dsn, "cancel", str(number), "--reason", "a slip")
    counted(page, 0, "failed_cut")
    # The period is open: the letter is replayed by the worker that comes back.
    (folder / "open").touch()
    page.goto("/governance/dead-letters")
    page.get_by_role("button", name="Propose replay of one").click()
    page.get_by_label("Reason").fill("the period is open again")
    page.get_by_role("button", name="Propose replay", exact=True).click()
    expect(page.get_by_text("Replay waits for approval")).to_be_visible()
    db.execute(deciding("approve", "cleo"), (engine.one("select approval_id from dlq_replay_plan"),))
    page.goto("/governance/problems")
    with worker(dsn, folder / "second", "--lease-seconds", "2", app=str(APP)), reader(dsn):
        counted(page, 0, "dead_letter", "silent_worker", "event_lag")
        expect(page.get_by_text("0 open in 0 of 10 categories")).to_be_visible(timeout=LIMIT_MS)
        expect(row(page, "silent_worker")).to_contain_text("closed by keeper")
        picture(page, "real-clear")


def flips(db: psycopg.Connection) -> list[tuple[int]]:
    """Closed problems that no event of the log resolves."""
    return db.execute(
        "select p.problem_id from governance_problem as p where p.closed_at is not null and not exists ("
        "select from event_log as e where e.event_id = p.closed_event_id"
        " and e.event_type = 'problem.resolved' and e.payload ->> 'problem_id' = p.problem_id::text)"
    ).fetchall()
