"""A run while its server restarts, its connection drops, its page reloads: nothing is lost or repeated."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path

import httpx
import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect

from stepwell.api.app import create_app
from stepwell.api.envelope import LOOPBACK_NAMES
from stepwell.config import Settings
from tests.api.serving import closed_port, serving
from tests.sql.drive import Engine, operation
from tests.support.roles import as_process
from tests.ui.signing import sign_in

STEPS = [f"s{number}" for number in range(1, 7)]
# Notes the number of every event that a message of the stream brings.
HEARD = """
window.heard = [];
const listen = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (type, heard, more) {
  return listen.call(this, type, type !== "changes" ? heard : (event) => {
    window.heard.push(...JSON.parse(event.data).events.map((one) => one[0]));
    heard(event);
  }, more);
};
"""
Serve = Callable[[], AbstractContextManager[httpx.Client]]


@pytest.fixture
def serve(dsn: str, tmp_path: Path) -> Serve:
    """Starts a server, always at the same port."""
    port = closed_port()
    address = as_process(dsn, "api")

    def start() -> AbstractContextManager[httpx.Client]:
        settings = Settings(database_url=address, data_dir=tmp_path)
        return serving(create_app(settings, address, allowed_hosts=LOOPBACK_NAMES), port=port)

    return start


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


@pytest.fixture
def run(engine: Engine) -> int:
    edges = list(pairwise(STEPS))
    engine.publish("line", *(operation(name) for name in STEPS), edges=edges)
    return engine.start("line", {}, "L-1")


def complete_next(engine: Engine, worker: int) -> None:
    engine.complete(worker, *engine.claim(worker, 1))


def opened(browser: Browser, dsn: str, base_url: str, run: int) -> Page:
    context = browser.new_context(base_url=base_url, locale="en-GB", viewport={"width": 1280, "height": 800})
    sign_in(context, dsn, base_url, "ben", "operator")
    page = context.new_page()
    page.add_init_script(HEARD)
    page.goto(f"/runs/{run}")
    expect(page.get_by_role("main").get_by_text("Live", exact=True)).to_be_visible()
    return page


def card(page: Page, name: str):  # type: ignore[no-untyped-def]
    graph = page.get_by_role("group", name="Graph of L-1")
    return graph.get_by_role("button", name=re.compile(f"^{name}, "))


def numbers(engine: Engine, run: int, after: int) -> set[int]:
    query = "select event_id from event_log where run_id = %s and event_id > %s"
    rows = engine.db.execute(query, (run, after))
    return {number for (number,) in rows}


@pytest.mark.requirement("UI-09")
def test_a_restart_of_the_server_loses_and_repeats_nothing(
    browser: Browser, dsn: str, serve: Serve, engine: Engine, run: int
):
    worker = engine.worker()
    before = engine.one("select max(event_id) from event_log")
    with serve() as client:
        base_url = str(client.base_url).rstrip("/")
        page = opened(browser, dsn, base_url, run)
        card(page, "s6").click()
        page.get_by_role("button", name="Zoom out").click()
        graph = page.get_by_role("group", name="Graph of L-1")
        # The picture glides to its zoom; the step may be told of before it has arrived.
        expect(graph).to_have_attribute("data-zoom", "0.80")
        complete_next(engine, worker)
        expect(card(page, "s1")).to_contain_text("Completed")
    complete_next(engine, worker)
    complete_next(engine, worker)
    with serve():
        expect(card(page, "s3")).to_contain_text("Completed", timeout=30_000)
        complete_next(engine, worker)
        expect(card(page, "s4")).to_contain_text("Completed")
        heard = page.evaluate("window.heard")
        assert len(heard) == len(set(heard)), "an event came twice"
        assert numbers(engine, run, before) <= set(heard), "an event is missing"
        expect(card(page, "s6")).to_have_attribute("aria-pressed", "true")
        expect(graph).to_have_attribute("data-zoom", "0.80")
        page.reload()
        expect(card(page, "s4")).to_contain_text("Completed")
        expect(page.get_by_role("complementary", name="Step s6")).to_be_visible()
    page.context.close()


@pytest.mark.requirement("UI-09")
def test_a_dropped_connection_is_told_and_made_good(
    browser: Browser, dsn: str, serve: Serve, engine: Engine, run: int
):
    worker = engine.worker()
    with serve() as client:
        page = opened(browser, dsn, str(client.base_url).rstrip("/"), run)
        page.context.set_offline(True)
        complete_next(engine, worker)
        complete_next(engine, worker)
        page.context.set_offline(False)
        expect(card(page, "s2")).to_contain_text("Completed", timeout=30_000)
        heard = page.evaluate("window.heard")
        assert len(heard) == len(set(heard))
    page.context.close()


@pytest.mark.requirement("UI-09")
def test_a_tab_that_nobody_sees_has_no_connection_and_misses_nothing(
    browser: Browser, dsn: str, serve: Serve, engine: Engine, run: int
):
    """A browser opens six connections to a server for all its tabs; the seventh tab would wait for ever."""
    look = """state => {
      Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    worker = engine.worker()
    with serve() as client:
        page = opened(browser, dsn, str(client.base_url).rstrip("/"), run)
        page.evaluate(look, "hidden")
        expect(page.get_by_role("main").get_by_text("Not live", exact=True)).to_be_visible()
        complete_next(engine, worker)
        complete_next(engine, worker)
        page.evaluate(look, "visible")
        expect(card(page, "s2")).to_contain_text("Completed")
        heard = page.evaluate("window.heard")
        assert len(heard) == len(set(heard))
    page.context.close()
