"""A governed action: policy requires an approval, a person decides on the page, the connector acts once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page, expect

import stepwell as sw
from stepwell.testing import check_invariants
from tests.support.wait import until_row
from tests.worker.acting import Ledger, put_in_force, receipts, rule, state_of

LIMIT_SECONDS = 120


@pytest.fixture
def worker_thread() -> Iterator[ThreadPoolExecutor]:
    """A thread for the worker: the driver of the browser runs an event loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


async def book(dsn: str, ledger: Ledger) -> str:
    """Runs the workflow with a local worker and returns its result, or "failed"."""
    app = sw.App(database_url=dsn)
    app.connector(ledger)

    @app.operation
    async def book(ctx: sw.Context, order: str) -> str:
        done = await ctx.act("ledger", "put", order, {"amount": 40, "password": "hunter22"}, reversible=True)
        entry: str = done["entry"]
        return entry

    app.publish(sw.Workflow("order.book", sw.Operation("book")))
    async with asyncio.timeout(LIMIT_SECONDS), app, sw.Worker(app):
        run = await app.start("order.book", {"order": "A-1"})
        try:
            found: str = await run.result()
        except sw.Conflict:
            return "failed"
        return found


@pytest.mark.requirement("RT-07")
@pytest.mark.parametrize(("word", "ended"), [("Approve", "A-1"), ("Reject", "failed")])
def test_an_action_is_shown_decided_and_performed_or_not(
    page: Page,
    db: psycopg.Connection,
    dsn: str,
    ledger: Ledger,
    worker_thread: ThreadPoolExecutor,
    word,
    ended,
):
    put_in_force(db, rule("money", "needs_approval", tier="high", reason="money leaves the house"))
    ending = worker_thread.submit(lambda: asyncio.run(book(dsn, ledger)))
    until_row(db, "select true from step_run where step_id = 'book' and state_code = 'waiting'")
    page.goto("/approvals")
    row = page.get_by_role("row").filter(has_text="ledger.put")
    expect(row).to_contain_text("step book · order.book · run")
    row.get_by_role("link").click()
    writes = page.get_by_role("region", name="Proposed writes")
    expect(writes.get_by_role("row", name="amount 40")).to_be_visible()
    expect(writes.get_by_role("row", name="password [redacted]")).to_be_visible()
    expect(page.get_by_role("region", name="Why an approval is required")).to_contain_text(
        "money leaves the house"
    )
    assert ledger.lines() == []
    page.get_by_label("Your reason").fill("seen the order")
    page.get_by_role("region", name="Decision").get_by_role("button", name=word).click()
    page.get_by_role("dialog").get_by_role("button", name=word).click()
    expect(page.get_by_test_id("outcome")).to_contain_text("by ben")
    assert ending.result(timeout=LIMIT_SECONDS) == ended
    is_done = word == "Approve"
    assert [line["op"] for line in ledger.lines()] == (["put"] if is_done else [])
    assert [state for state, _ in receipts(db)] == (["confirmed"] if is_done else [])
    assert state_of(db) == ("completed" if is_done else "cannot_complete")
    assert check_invariants(dsn) == []
