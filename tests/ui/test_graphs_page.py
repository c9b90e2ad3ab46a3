"""Job graphs in the console: their list, the graph of one in the same drawing as every run, and a retry."""

from __future__ import annotations

import re

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.sql.drive import Engine
from tests.sql.job_graphs.graphing import any_of, emit, finish, job, perform, register, states
from tests.ui.test_every_page import picture


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    """A graph that failed in part, with a nested one; one that is active; one of another template."""
    made = Engine(db)
    db.execute("update dot_config set config_value = 'false' where config_key = 'approval.required.replay'")
    params = {"parcel": {"type": "string"}}
    register(made, "customs", job("declare", source_ref="$.input.parcel"), params=params)
    register(
        made, "parcels", job("label", source_ref="$.input.parcel", target_ref="printer:1", max_attempts=2),
        job("weigh"), any_of("route", "label", "weigh"),
        job("abroad", "label", template="customs", params={"parcel": "$.input.parcel"}),
        job("load", "route", "abroad", delay_seconds=0.001), params=params,
    )  # fmt: skip
    register(made, "letters", job("stamp"))
    emit(made, "parcels", {"parcel": "p-1"}, p_correlation_id="A-1")
    worker = made.worker()
    held = {lease.step_id: lease for lease in made.claim(worker)}
    finish(made, worker, [held["label"]])
    finish(made, worker, [held["weigh"]], "dead")
    perform(made, worker, "declare", "route")
    made.one("select fn_timers_fire()")
    perform(made, worker, "load")
    emit(made, "parcels", {"parcel": "p-2"}, p_correlation_id="A-2")
    emit(made, "letters")
    return made


@pytest.mark.requirement("JW-08")
def test_a_job_graph_opens_in_the_same_drawing_as_every_run(page: Page, engine: Engine):
    page.goto("/graphs")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(4)
    page.get_by_label("Template").select_option("parcels")
    expect(page).to_have_url(re.compile("template=parcels"))
    expect(rows).to_have_count(2)
    page.get_by_label("Status").select_option("partially_failed")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("4/5")
    expect(rows).to_contain_text("in part")

    rows.get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/runs/\d+$"))
    expect(page.locator(".node")).to_have_count(5)
    expect(page.locator(".node", has_text="weigh")).to_have_attribute(
        "aria-label", re.compile("Cannot complete")
    )
    expect(page.locator("svg text.fan", has_text="ANY")).to_have_count(1)
    page.locator(".node", has_text="route").click()
    panel = page.get_by_role("complementary")
    expect(panel).to_contain_text("after any of its parents")
    picture(page, "one graph", "light")
    page.keyboard.press("Escape")
    # A nested graph is a graph of its own.
    page.locator(".node", has_text="abroad").dblclick()
    expect(page.locator(".node", has_text="declare")).to_be_visible()
    # From a graph the way leads back to the graphs of its template.
    page.get_by_role("navigation").get_by_role("link", name="customs").click()
    expect(page).to_have_url(re.compile(r"/graphs\?template=customs"))
    expect(rows).to_have_count(1)


def test_a_nested_graph_leads_to_its_outer_one_and_a_phone_shows_what_to_do(page: Page, engine: Engine):
    page.goto("/graphs?template=customs")
    row = page.locator("tbody tr")
    outer = engine.one("select parent_workflow_id from job_workflow where template_id = 'customs'")
    expect(row.locator(".emitted")).to_contain_text(f"inside #{outer}")
    expect(row.get_by_role("link", name=f"#{outer}", exact=True)).to_have_attribute("href", f"/runs/{outer}")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/graphs?status=partially_failed")
    # Nothing is to the right of the screen: the table does not scroll.
    expect(row.get_by_role("button", name="Retry")).to_be_in_viewport(ratio=0.999)
    expect(row.locator(".open").first).to_be_hidden()
    assert page.locator(".scroll").evaluate("one => one.scrollWidth <= one.clientWidth")
    picture(page, "graphs on a phone", "light")


@pytest.mark.requirement("JW-07")
def test_the_dead_jobs_of_a_graph_are_retried_with_one_click(page: Page, engine: Engine):
    page.goto("/graphs?status=partially_failed")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(1)
    number = engine.one("select max(workflow_id) from job_workflow where status = 'partially_failed'")
    rows.get_by_role("button", name=f"Retry the dead jobs of graph {number}").click()
    expect(page.locator(".empty")).to_be_visible()
    assert states(engine, number)["weigh"] == "ready"
    page.goto("/graphs?status=active")
    expect(rows.get_by_role("link", name=f"parcels #{number}")).to_be_visible()
