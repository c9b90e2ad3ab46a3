"""People, tokens, sessions and tenants in the console, and the numbers beside the pages of the navigation."""

from __future__ import annotations

import re

import httpx
import psycopg
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.sql.drive import Engine, human
from tests.ui.signing import sign_in


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


def test_a_person_is_added_gets_roles_and_a_link_and_is_ended(page: Page, engine: Engine):
    page.goto("/settings")
    expect(page).to_have_url(re.compile(r"/settings/people$"))
    expect(page.get_by_role("row").filter(has_text="ben")).to_contain_text("admin")
    page.get_by_role("button", name="Add somebody…").click()
    dialog = page.get_by_role("dialog", name="Add somebody")
    dialog.get_by_label("Name", exact=True).fill("mai")
    dialog.get_by_label("Full name").fill("Phan Thị Mai")
    dialog.get_by_label("operator").check()
    dialog.get_by_role("button", name="Add").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Phan Thị Mai")
    assert engine.one("select array_agg(role_name) from principal_role where tenant_id = 1") is not None

    page.get_by_role("checkbox", name=re.compile("^reviewer")).check()
    page.get_by_role("checkbox", name=re.compile("^operator")).uncheck()
    page.get_by_role("button", name="Save the roles").click()
    expect(page.get_by_text("The roles are saved.")).to_be_visible()

    page.get_by_role("button", name="Make a link").click()
    once = page.get_by_role("status").filter(has_text="Link to a new password")
    link = once.locator("code").inner_text()
    assert re.search(r"/sign-in#link=\S{20,}$", link)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Phan Thị Mai")
    expect(page.get_by_text("Link to a new password")).to_have_count(0)

    page.get_by_role("button", name="End the account…").click()
    ask = page.get_by_role("dialog", name="End the account mai?")
    expect(ask).to_contain_text("stop at once")
    ask.get_by_role("button", name="End the account").click()
    expect(page.get_by_text("The account has ended.")).to_be_visible()
    assert engine.one("select is_active from principal where principal_name = 'mai'") is False
    expect(page.get_by_role("button", name="Begin the account again")).to_be_visible()


def test_a_token_is_narrowed_shown_once_used_and_revoked(page: Page, base_url: str):
    page.goto("/settings/tokens")
    expect(page.get_by_text("No token")).to_be_visible()
    page.get_by_role("button", name="Make a token…").click()
    dialog = page.get_by_role("dialog", name="Make a token")
    dialog.get_by_label("Label").fill("nightly import")
    dialog.get_by_label("Ends").select_option("7")
    dialog.get_by_label("Narrow what it may do").check()
    dialog.get_by_label("read", exact=True).check()
    dialog.get_by_role("button", name="Make").click()
    once = page.get_by_role("status").filter(has_text="The new token")
    secret = once.locator("code").inner_text()
    with httpx.Client(base_url=base_url, headers={"Authorization": f"Bearer {secret}"}) as program:
        assert program.get("/api/v1/runs").status_code == 200
        refused = program.post("/api/v1/people", json={"name": "eve"})
        assert refused.status_code == 403, "it was narrowed to reading"
        row = page.get_by_role("row").filter(has_text="nightly import")
        expect(row.locator(".chip")).to_have_text(["read"])
        once.get_by_role("button", name="I have copied it").click()
        expect(page.get_by_text(secret)).to_have_count(0)
        row.get_by_role("button", name="Revoke nightly import").click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        expect(page.get_by_text("nightly import is revoked.")).to_be_visible()
        expect(row).to_contain_text("revoked")
        assert program.get("/api/v1/runs").status_code == 401


def test_sessions_are_listed_and_ended(page: Page, context: BrowserContext, dsn: str, base_url: str):
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(
            "select stepwell._session_open(1, (select principal_id from stepwell.principal"
            " where principal_name = 'ben'), '10.9.8.7', 'laptop')"
        )
    page.goto("/settings/sessions")
    table = page.get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(3)
    expect(table.get_by_role("row").filter(has_text="this one")).to_have_count(1)
    table.get_by_role("button", name="End the session from 10.9.8.7").click()
    expect(table.get_by_role("row").filter(has_text="laptop")).to_contain_text("ended")
    page.get_by_role("button", name="End all others…").click()
    page.get_by_role("dialog").get_by_role("button", name="End all others").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("Sessions")


def test_whoever_may_not_sees_the_button_and_why(
    page: Page, context: BrowserContext, dsn: str, base_url: str
):
    sign_in(context, dsn, base_url, "otto", "everybody")
    page.goto("/settings/people")
    add = page.get_by_role("button", name=re.compile("Add somebody….*Your roles do not allow this"))
    expect(add).to_have_attribute("aria-disabled", "true")
    add.click(force=True)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_browser_goes_to_another_tenant_and_back(
    page: Page, context: BrowserContext, dsn: str, base_url: str, db: psycopg.Connection
):
    tenant_id = Engine(db).one("select fn_tenant_set('north')")
    page.goto("/runs")
    expect(page.get_by_label("Tenant")).to_have_value("default")
    db.execute("select fn_person_set(%s, 'ben')", (tenant_id,))
    db.execute("select fn_principal_change(%s, 'ben', array['admin'])", (tenant_id,))
    north = Engine(db).one(
        "select token from _session_open(%s, (select principal_id from principal where tenant_id = %s"
        " and principal_name = 'ben'), '127.0.0.1', 'test')",
        (tenant_id, tenant_id),
    )
    context.add_cookies([{"name": "stepwell_session", "value": north, "url": base_url, "httpOnly": True}])
    page.reload()
    expect(page.get_by_label("Tenant")).to_have_value("north")
    page.get_by_label("Tenant").select_option("default")
    expect(page.get_by_label("Tenant")).to_have_value("default")
    options = page.get_by_label("Tenant").locator("option")
    expect(options).to_have_text(["default", "north", "Another tenant…"])
    page.get_by_label("Tenant").select_option("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_the_navigation_counts_what_waits_and_stays_live(page: Page, engine: Engine):
    engine.db.execute("select fn_principal_change(1, 'ben', array['clerk'])")
    engine.publish("order", human("sign", role="clerk", title="Sign it"))
    page.goto("/inbox")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    inbox = page.get_by_role("navigation", name="Main").get_by_role("link", name="Inbox")
    run_id = engine.start("order")
    expect(inbox.locator(".count")).to_contain_text("1")
    row = page.get_by_role("row").filter(has_text="Sign it")
    expect(row).to_be_visible()
    engine.person("ada")
    engine.db.execute(
        "select fn_approval_request(1, 'reopen', %s, 'ada', 'wrong')", (engine.unit(run_id, "sign"),)
    )
    approvals = page.get_by_role("navigation", name="Main").get_by_role("link", name="Approvals")
    expect(approvals.locator(".count")).to_contain_text("1")
    # With the keyboard alone: find it, open it.
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/runs/{run_id}\?step=1"))
