"""The page of the lag: found from problems, navigation and palette; a trend with its threshold."""

from __future__ import annotations

import os
import re
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.sql.drive import Engine
from tests.support.clock import Clock

PICTURES = os.environ.get("PICTURES_FOLDER")


@pytest.fixture
def engine(db: psycopg.Connection, clock: Clock) -> Engine:
    """A reader that becomes slow and stays behind, and work that waits for a worker."""
    made = Engine(db)
    made.one("select fn_event_lag_sample()")
    made.enqueue("send_mail", 3)
    made.db.execute("insert into event_reader (tenant_id, reader_name) values (1, 'mail')")
    for step in range(24):
        lags = [0.02 * step**2 + 0.05 * at for at in range(40)]
        made.db.execute(
            "select _lag_note(1, 'log', 'reader:mail', array(select make_interval(secs => x)"
            " from unnest(%s) as x))",
            (lags,),
        )
        clock.advance(minutes=5 if step != 12 else 40)
    made.drain(made.worker("orders:host-1", lease_seconds=86_400))
    made.one("select fn_event_lag_sample()")
    return made


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def drawn(page: Page) -> None:
    """The chart has its lines, and the threshold stands inside it, under the newest of p99."""
    expect(page.locator("figure .plot polyline").first).to_be_visible()
    threshold = float(page.get_by_test_id("threshold").get_attribute("y1") or "-1")
    newest = page.locator("figure .plot polyline.p99").last.get_attribute("points") or ""
    assert 0 < float(newest.split(",")[-1]) < threshold < 160


@pytest.mark.requirement("GV-08")
def test_a_late_reader_is_followed_from_its_problem_to_its_trend(page: Page, engine: Engine):
    engine.one("select fn_problems_watch()")
    page.goto("/governance/problems")
    row = page.locator("[data-category=event_lag]")
    expect(row).to_contain_text("mail")
    picture(page, "lag-problem")
    row.get_by_role("link", name="Find the cause").click()
    late = page.locator("[data-pair='log reader:mail']")
    expect(late).to_contain_text("Late")
    expect(late).to_contain_text("5s")
    drawn(page)
    picture(page, "lag")
    page.get_by_text("Values as a table").click()
    values = page.get_by_test_id("values").locator("tbody tr")
    expect(values).to_have_count(24)
    # The trend and its table are those of the database.
    newest = engine.one(
        "select p99_ms from fn_event_lag_trend(1, 'log', 'reader:mail', '1 day') order by at desc limit 1"
    )
    expect(values.first.locator("td").last).to_have_text(f"{float(newest) / 1000:.0f}s")
    # Another pair: its own thresholds.
    page.get_by_role("link", name="default/send_mail").click()
    expect(page.get_by_role("heading", level=2)).to_contain_text("default/send_mail")
    expect(page.locator("[data-pair='queue default/send_mail']")).to_contain_text("1m")
    page.get_by_label("How far back").select_option(label="Last hour")
    expect(page).to_have_url(re.compile("window=hour"))
    # Who changes the threshold of the pair changes what is late.
    engine.db.execute(
        "insert into dot_config (config_key, config_value, description) select"
        " format('event_lag.threshold.%s.log.reader:mail', p), '864000000', 'of a test'"
        " from unnest(array['p50', 'p95', 'p99']) as p"
    )
    page.reload()
    expect(late).to_contain_text("In time")


def test_the_page_is_in_the_navigation_and_the_palette(page: Page, db: psycopg.Connection):
    page.goto("/governance/problems")
    page.get_by_role("navigation").get_by_role("link", name="Lag", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Lag")
    expect(page.get_by_text("No events and no readers yet")).to_be_visible()
    picture(page, "lag-empty")
    page.goto("/runs")
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("combobox").fill("lag")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Lag")


@pytest.mark.parametrize("look", ["dark", "vi", "phone"])
def test_the_page_is_readable_in_every_look(page: Page, engine: Engine, look: str):
    if look == "phone":
        page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/governance/lag")
    drawn(page)
    if look == "dark":
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
    elif look == "vi":
        page.get_by_role("button", name="Tiếng Việt").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Độ trễ")
    picture(page, f"lag-{look}")
    # Only tables and the content scroll: the page has the width of its window.
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
