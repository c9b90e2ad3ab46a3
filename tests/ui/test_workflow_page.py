"""A workflow in the console: its graph, versions and their difference, where it runs, sub-workflows."""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest
from playwright.sync_api import Page, expect
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, operation, subworkflow


def definition(role: str, third: str) -> dict[str, Any]:
    """A fork of two steps, a condition, and a sub-workflow in one of its branches."""
    steps = [
        operation("fetch", title="Fetch order"),
        human("sign", role=role, title="Sign off"),
        operation(third),
        {"id": "paid", "kind": "conditional", "test": "$.input.paid", "reads": []},
        subworkflow("ship", "ship.parcel", title="Ship", branch=1),
        operation("remind", branch=2),
    ]
    edges = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5, 1), (4, 6, 2)]
    return {
        "format": 2,
        "name": "order.process",
        "title": "Order process",
        "failure_policy": "continue-running",
        "steps": [{"no": no, **step} for no, step in enumerate(steps, start=1)],
        "edges": [dict(zip(("from", "to", "branch"), edge, strict=False)) for edge in edges],
        "branches": [
            {"no": 1, "conditional": 4, "label": "then", "negated": False},
            {"no": 2, "conditional": 4, "label": "otherwise", "negated": True},
        ],
        "groups": [],
    }


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    """Two versions of a workflow with a fork, a condition and a sub-workflow; three open runs."""
    made = Engine(db)
    db.execute("select fn_person_set(1, 'mai', array['clerk'])")
    made.publish("ship.parcel", human("hand-over", role="clerk", title="Hand over"), title="Ship a parcel")
    for role, third in (("clerk", "check"), ("office", "verify")):
        db.execute("select fn_workflow_publish(1, %s, 'test')", (Jsonb(definition(role, third)),))
    for _ in range(3):
        made.start("order.process", {"paid": True})
    return made


@pytest.mark.requirement("UI-01")
def test_a_definition_is_a_graph_with_lanes_fans_differences_and_live_counts(page: Page, engine: Engine):
    page.goto("/workflows")
    page.get_by_role("link", name="Order process").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Order process")
    fetch = page.locator(".node", has_text="Fetch order")
    expect(fetch).to_be_visible()
    # A fork is labelled, and so is each branch of a condition.
    expect(page.locator("svg text.fan")).to_have_text(["AND", "OR"])
    labels = page.locator("svg text:not(.fan)").all_text_contents()
    assert {"yes", "no"} <= {text.strip() for text in labels}
    for lane in ("default", "office", "engine"):
        expect(page.get_by_role("button", name=re.compile(rf"^{lane}\b"))).to_be_visible()

    where = page.get_by_role("region", name="Where it runs")
    expect(where).to_contain_text("3 open runs")
    expect(fetch).to_have_attribute("aria-label", re.compile("3 Ready"))
    session = engine.worker()
    leases = engine.claim(session)
    engine.complete(session, leases[0], output={})
    expect(fetch).to_have_attribute("aria-label", re.compile("2 In progress"))
    expect(page.locator(".node", has_text="Sign off")).to_have_attribute("aria-label", re.compile("1 Ready"))

    page.get_by_label("Compare with").select_option("1")
    expect(page).to_have_url(re.compile(r"compare=1"))
    diff = page.get_by_role("region", name="Differences")
    expect(diff.locator("li[data-change=changed]")).to_contain_text("role: clerk → office")
    expect(diff.locator("li[data-change=removed]").first).to_contain_text("check")
    expect(page.locator(".node[data-change=added]")).to_contain_text("verify")
    page.reload()
    expect(page.locator(".node[data-change=added]")).to_contain_text("verify")
    page.get_by_label("Version", exact=True).select_option("1")
    expect(page.locator(".node", has_text="check")).to_be_visible()


@pytest.mark.requirement("UI-01")
def test_a_sub_workflow_is_one_box_that_opens_its_own_definition(page: Page, engine: Engine):
    page.goto("/workflows/order.process")
    ship = page.locator(".node.doubled")
    expect(ship).to_have_count(1)
    expect(page.locator(".node", has_text="Hand over")).to_have_count(0)
    ship.click()
    page.get_by_role("button", name="Open ship.parcel").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ship a parcel")
    expect(page.locator(".node", has_text="Hand over")).to_be_visible()
    page.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="order.process").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Order process")
    # And with the keyboard.
    ship.click()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Ship a parcel")
