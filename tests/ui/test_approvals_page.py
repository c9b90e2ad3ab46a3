"""The web pages of approvals: a person finds, reads and decides approvals by the rules of the database."""

from __future__ import annotations

import re

import psycopg
import pytest
from playwright.sync_api import Locator, Page, expect
from psycopg.types.json import Jsonb

from stepwell.unit_numbers import short
from tests.sql.drive import Engine
from tests.support.clock import Clock
from tests.ui.asking import ask, ask_to_act, decide
from tests.worker.acting import put_in_force, rule


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


def open_list(page: Page, state: str | None = None) -> None:
    page.goto("/approvals" if state is None else f"/approvals?state={state}")
    expect(page.get_by_role("table").or_(page.get_by_test_id("empty"))).to_be_visible()


def open_one(page: Page, approval: int) -> None:
    page.goto(f"/approvals/{approval}")
    expect(page.get_by_role("region", name="Decision")).to_be_visible()


def fill(page: Page, reason: str = "") -> None:
    expect(page.get_by_text("You decide as")).to_be_visible()
    page.get_by_label("Your reason").fill(reason)


def send(page: Page, word: str) -> None:
    """Presses the button, confirms, and waits until the dialog closes: then the answer is there."""
    page.get_by_role("region", name="Decision").get_by_role("button", name=word).click()
    page.get_by_role("dialog").get_by_role("button", name=word).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def outcome(page: Page) -> Locator:
    return page.get_by_test_id("outcome")


def told(page: Page) -> Locator:
    """What the form says after a decision; the notices of the whole console are another status."""
    return page.get_by_role("region", name="Decision").get_by_role("status")


def test_the_list_shows_action_subject_requester_reason_and_expiry(page: Page, engine: Engine):
    ask(engine, by="cleo")
    ask_to_act(engine, quorum=2)
    page.goto("/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Approvals").click()
    expect(page).to_have_title("Approvals · Stepwell")
    action = page.get_by_role("row").filter(has_text="shop.refund")
    said = (
        "/orders/A-1/refunds",
        "step sign-off · order.refund · run",
        "money leaves the house",
        "ada",
        "high",
    )
    for words in (*said, "0 of 2", "Requested", "Expires in 23 hours"):
        expect(action).to_contain_text(words)
    other = page.get_by_role("row").filter(has_text="Reopen a step for correction")
    for words in ("cleo", "a wrong number", "low", "0 of 1"):
        expect(other).to_contain_text(words)


def test_the_filter_is_part_of_the_address(page: Page, engine: Engine):
    ask(engine, reason="still open")
    decide(engine, ask(engine, reason="granted"), "ben")
    decide(engine, ask(engine, reason="refused"), "ben", "reject", "no")
    rows = page.get_by_role("table").locator("tbody tr")
    open_list(page)
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("still open")
    filters = page.get_by_role("navigation", name="Filter by state")
    expect(filters.get_by_role("link", name="Requested")).to_have_attribute("aria-current", "true")
    filters.get_by_role("link", name="Rejected").click()
    expect(page).to_have_url(re.compile(r"/approvals\?state=rejected$"))
    expect(rows).to_contain_text(["refused"])
    page.reload()
    expect(rows).to_contain_text(["refused"])
    filters.get_by_role("link", name="All").click()
    expect(rows).to_have_count(3)
    rows.filter(has_text="granted").get_by_role("link").click()
    expect(outcome(page)).to_contain_text("Approved")
    page.get_by_role("link", name="← Approvals").click()
    expect(page).to_have_url(re.compile(r"/approvals\?state=all$"))
    expect(rows).to_have_count(3)


@pytest.mark.requirement("RT-07")
def test_the_page_of_an_approval_shows_all_that_a_slack_card_shows(page: Page, engine: Engine):
    approval = ask_to_act(engine, quorum=2, approvers=["ben", "cleo"], role="lead")
    decide(engine, approval, "cleo", reason="fine by me")
    open_one(page, approval)
    expect(page).to_have_title(f"Approval {short(approval)} · Stepwell")
    expect(page.get_by_role("heading", level=1)).to_have_text(
        re.compile(r"shop\.refund\s+/orders/A-1/refunds")
    )
    writes = page.get_by_role("region", name="Proposed writes")
    for field, value in (("amount", "40"), ("values.group", "network"), ("values.tags", "late, broken"),
                         ("api_token", "[redacted]")):  # fmt: skip
        expect(writes.get_by_role("row", name=f"{field} {value}", exact=True)).to_be_visible()
    why = page.get_by_role("region", name="Why an approval is required")
    expect(why).to_contain_text("money leaves the house")
    expect(why).to_contain_text("Rule money · policy version 3")
    facts = page.get_by_role("region", name="Details")
    said = ("high", "1 of 2", "2 different people", "ben, cleo, or role lead", "worker-1", "can be undone")
    for words in (*said, "Expires in 23 hours", f"Number{short(approval)}"):
        expect(facts).to_contain_text(words)
    expect(page.get_by_role("region", name="Votes")).to_contain_text(
        re.compile("Approved.*cleo.*fine by me", re.S)
    )
    here = page.get_by_role("navigation", name="Main").get_by_role("link", name="Approvals")
    expect(here).to_have_attribute("aria-current", "true")


def test_a_change_of_policy_is_shown_for_each_rule_before_and_after(page: Page, db: psycopg.Connection):
    put_in_force(db, rule("ask", "needs_approval", tier="low"), rule("old", "allow", priority=3))
    rules = [rule("ask", "needs_approval", tier="high"), rule("none", "deny", priority=4)]
    made = db.execute("select fn_policy_propose(1, %s, null, 'ada')", (Jsonb(rules),)).fetchone()
    assert made is not None
    open_one(page, made[0]["approval_id"])
    change = page.get_by_role("region", name="Changes of the rules")
    expect(change.get_by_role("heading", level=3)).to_have_text(
        ["Added: none", "Changed: ask", "Removed: old"]
    )
    expect(change.get_by_role("row", name="tier low high", exact=True)).to_be_visible()


@pytest.mark.requirement("RT-07")
def test_a_reviewer_approves_and_sees_the_outcome(page: Page, engine: Engine):
    approval = ask(engine)
    open_one(page, approval)
    fill(page, "seen")
    page.get_by_role("button", name="Approve").click()
    dialog = page.get_by_role("dialog", name="Approve as ben?")
    for words in ("Reopen a step for correction", "seen", "the decision is final"):
        expect(dialog).to_contain_text(words)
    assert engine.state(approval) == "requested"
    dialog.get_by_role("button", name="Approve").click()
    expect(told(page)).to_have_text("ben has approved. Approved.")
    expect(outcome(page)).to_contain_text(re.compile("Approved.*by ben, (now|.* ago)", re.S))
    expect(outcome(page)).to_be_focused()
    expect(page.get_by_role("region", name="Votes")).to_contain_text("seen")
    assert engine.state(approval) == "approved"


@pytest.mark.requirement("RT-07")
def test_a_quorum_of_two_needs_two_persons_on_the_page(page: Page, engine: Engine, become):
    approval = ask(engine, quorum=2)
    open_one(page, approval)
    fill(page)
    send(page, "Approve")
    expect(told(page)).to_have_text("ben has approved. 1 of 2 have approved.")
    agreed = page.get_by_role("region", name="Details")
    expect(agreed).to_contain_text("1 of 2")
    expect(page.get_by_role("button", name="Approve")).to_be_focused()
    send(page, "Approve")
    expect(agreed).to_contain_text("1 of 2")
    assert engine.state(approval) == "requested"
    become(page, "cleo")
    fill(page)
    send(page, "Approve")
    expect(outcome(page)).to_contain_text("by cleo")
    expect(agreed).to_contain_text("2 of 2")
    assert engine.state(approval) == "approved"


@pytest.mark.requirement("RT-07")
def test_a_rejection_requires_a_reason_and_ends_the_approval(page: Page, engine: Engine):
    approval = ask(engine, quorum=2)
    open_one(page, approval)
    fill(page)
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    reason = page.get_by_label("Your reason")
    expect(reason).to_be_focused()
    expect(reason).to_have_attribute("aria-invalid", "true")
    expect(reason).to_have_accessible_description(re.compile("Enter a reason"))
    reason.fill("not this month")
    expect(reason).not_to_have_attribute("aria-invalid", "true")
    send(page, "Reject")
    expect(outcome(page)).to_contain_text("Rejected")
    expect(page.get_by_role("region", name="Votes")).to_contain_text("not this month")
    assert engine.state(approval) == "rejected"


@pytest.mark.requirement("RT-07")
def test_an_expired_approval_cannot_be_decided_on_the_page(page: Page, engine: Engine, clock: Clock):
    approval = ask(engine, expires_seconds=60)
    open_one(page, approval)
    fill(page, "just in time?")
    clock.advance(seconds=61)
    page.expected_complaint = "409"  # type: ignore[attr-defined]
    send(page, "Approve")
    expect(page.get_by_role("alert")).to_contain_text("has been decided or has expired")
    engine.timers()
    page.get_by_role("button", name="Refresh").click()
    expect(outcome(page)).to_contain_text("Expired")
    open_list(page, "expired")
    expect(page.get_by_role("row").filter(has_text="a wrong number")).to_contain_text("Expired")


def test_the_requester_sees_the_refusal_of_the_server_and_keeps_the_form(page: Page, engine: Engine, become):
    approval = ask(engine)
    open_one(page, approval)
    page.expected_complaint = "403"  # type: ignore[attr-defined]
    become(page, "ada")
    fill(page, "I am sure")
    send(page, "Approve")
    expect(page.get_by_role("alert")).to_contain_text("the requester of an approval cannot decide it")
    expect(page.get_by_text("You decide as ada.")).to_be_visible()
    expect(page.get_by_label("Your reason")).to_have_value("I am sure")
    assert engine.state(approval) == "requested"
    become(page, "ben")
    send(page, "Approve")
    expect(outcome(page)).to_contain_text("Approved")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_server_refuses_a_person_who_is_no_approver(page: Page, engine: Engine):
    approval = ask(engine, approvers=["cleo"])
    open_one(page, approval)
    page.expected_complaint = "403"  # type: ignore[attr-defined]
    fill(page)
    send(page, "Approve")
    said = f"approval {short(approval)} can only be decided by cleo"
    expect(page.get_by_role("alert")).to_contain_text(said)


def test_an_error_of_the_server_is_shown_at_the_form(page: Page, engine: Engine):
    approval = ask(engine)
    open_one(page, approval)
    page.expected_complaint = "422"  # type: ignore[attr-defined]
    fill(page, "x" * 2001)
    send(page, "Approve")
    expect(page.get_by_role("alert")).to_contain_text("body.reason")
    expect(page.get_by_label("Your reason")).to_have_value("x" * 2001)
    assert engine.state(approval) == "requested"


@pytest.mark.requirement("RT-07")
def test_a_question_that_changes_behind_the_dialog_is_not_approved(page: Page, engine: Engine):
    approval = ask(engine)
    open_one(page, approval)
    page.expected_complaint = "409"  # type: ignore[attr-defined]
    fill(page)
    page.get_by_role("button", name="Approve").click()
    engine.db.execute("update approval_detail set reason = 'pay twice'")
    page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    expect(page.get_by_role("alert")).to_contain_text(f"approval {short(approval)} is not what was shown")
    expect(page.get_by_text("pay twice")).to_be_visible()
    assert engine.state(approval) == "requested"


@pytest.mark.requirement("RT-07")
def test_an_earlier_decision_of_somebody_else_is_shown_with_its_outcome(page: Page, engine: Engine):
    approval = ask(engine)
    open_one(page, approval)
    page.expected_complaint = "409"  # type: ignore[attr-defined]
    fill(page, "I looked at it for an hour")
    page.get_by_role("button", name="Approve").click()
    decide(engine, approval, "cleo", "reject", "too late")
    page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    said = f"approval {short(approval)} has been decided or has expired"
    expect(page.get_by_role("alert")).to_contain_text(said)
    expect(outcome(page)).to_contain_text(re.compile("Rejected.*by cleo", re.S))
    expect(outcome(page)).to_contain_text("I looked at it for an hour")
    expect(page.get_by_role("region", name="Votes")).to_contain_text("too late")
    assert engine.state(approval) == "rejected"


def test_a_decision_without_an_answer_can_be_sent_again(page: Page, engine: Engine):
    approval = ask(engine)
    open_one(page, approval)
    page.expected_complaint = "ERR_FAILED"  # type: ignore[attr-defined]
    page.route("**/decisions", lambda route: route.abort())
    fill(page, "seen")
    send(page, "Approve")
    expect(page.get_by_role("alert")).to_contain_text("It is unknown whether your decision arrived")
    page.unroute("**/decisions")
    send(page, "Approve")
    expect(outcome(page)).to_contain_text("Approved")


def test_escape_closes_the_dialog_and_sends_nothing(page: Page, engine: Engine):
    approval = ask(engine)
    open_one(page, approval)
    fill(page, "seen")
    button = page.get_by_role("button", name="Approve")
    button.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(button).to_be_focused()
    expect(page).to_have_url(re.compile(rf"/approvals/{approval}$"))
    assert engine.state(approval) == "requested"


def test_the_pages_refresh_by_themselves(page: Page, engine: Engine):
    page.clock.install()
    open_list(page)
    expect(page.get_by_test_id("empty")).to_be_visible()
    approval = ask(engine)
    page.clock.fast_forward("00:11")
    page.get_by_role("link", name="Reopen a step for correction").click()
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    decide(engine, approval, "ben")
    page.clock.fast_forward("00:11")
    expect(outcome(page)).to_contain_text("by ben")


def test_a_link_of_the_narrow_navigation_keeps_its_name_beside_its_count(page: Page, engine: Engine):
    open_one(page, ask(engine))
    page.keyboard.press("[")
    expect(page.locator(".frame.rail")).to_be_visible()
    here = page.get_by_role("navigation", name="Main").get_by_role("link", name="Approvals 1 waiting")
    expect(here).to_be_visible()
