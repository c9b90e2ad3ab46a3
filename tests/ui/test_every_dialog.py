"""Every dialog of the console is opened, in every theme, and left with Escape; nothing is sent.

One server, one browser and one installation for all tests of this module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from psycopg.types.json import Jsonb

from tests.support.databases import Databases
from tests.tidy.sources import files, read
from tests.ui.looks import ALL_RULES, CONTRAST, THEMES, clean
from tests.ui.signing import sign_in
from tests.ui.world import World, world

USES = re.compile(r"<AskDialog|<dialog")
# A folder for pictures of all dialogs, for people who want to look at them.
PICTURES = os.environ.get("PICTURES_FOLDER")
_THEME = "theme => { document.documentElement.dataset.theme = theme; }"

Opener = Callable[[Page, World], None]


def press(path: str, *names: str) -> Opener:
    """Opens an address and presses these buttons."""

    def opener(page: Page, place: World) -> None:
        page.goto(path.format(run=place.run, approval=place.approval))
        for name in names:
            page.get_by_role("button", name=re.compile(name)).first.click()

    return opener


def key(path: str, pressed: str) -> Opener:
    def opener(page: Page, place: World) -> None:
        page.goto(path.format(run=place.run))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.keyboard.press(pressed)

    return opener


def act_of_a_step(name: str) -> Opener:
    """What the server lists for a step: behind "More", or first."""

    def opener(page: Page, place: World) -> None:
        page.goto(f"/runs/{place.run}?step={INSPECT}")
        panel = page.get_by_role("complementary", name="Step Inspect the parcel")
        expect(panel.get_by_text("More", exact=True)).to_be_visible()
        panel.get_by_text("More", exact=True).click()
        panel.get_by_role("button", name=re.compile(name)).first.click()

    return opener


def bulk(name: str) -> Opener:
    def opener(page: Page, place: World) -> None:
        page.goto("/runs")
        expect(page.locator(".field .line").first).to_be_visible()
        page.keyboard.press("x")
        page.locator(".bulk").get_by_role("button", name=re.compile(name)).click()
        expect(page.get_by_role("dialog").locator("dl")).to_be_visible()

    return opener


def from_the_palette(page: Page, place: World) -> None:
    page.goto(f"/runs/{place.run}")
    expect(page.locator(".node").first).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("pause")
    page.get_by_role("option", name=re.compile("Pause")).first.click()


def receipt(page: Page, place: World) -> None:
    page.goto(f"/runs/{place.run}?step=1&open=receipts")
    page.get_by_role("button", name="Reverse…").click()


def revoke(page: Page, place: World) -> None:
    page.goto("/settings/tokens")
    page.get_by_role("button", name="Make a token…").click()
    page.get_by_role("dialog").get_by_label("Label").fill("nightly")
    page.get_by_role("dialog").get_by_role("button", name="Make").click()
    page.get_by_role("button", name="I have copied it").click()
    page.get_by_role("button", name="Revoke nightly").first.click()


INSPECT = 4


def wrong(path: str, name: str) -> Opener:
    """Something is wrong: dead letters, of which one is about to be replayed."""

    def opener(page: Page, place: World) -> None:
        engine = place.engine
        if engine.one("select count(*) from dlq_replay_plan") == 0:
            session = engine.worker("dying", serves=["post"])
            jobs = engine.enqueue("post", 3)
            engine.kill(session, *engine.claim(session))
            setting = "update dot_config set config_value = %s where config_key = 'approval.required.replay'"
            engine.db.execute(setting, ("false",))
            chosen = Jsonb({"units": [str(jobs[0])]})
            engine.one("select fn_replay_propose(1, %s, 'ada', 'why')", (chosen,))
            engine.db.execute(setting, ("true",))
            engine.one("select fn_problems_watch()")
        press(path, name)(page, place)

    return opener


def held(page: Page, place: World) -> None:
    """A hold is open."""
    place.engine.one("select fn_hold_open(1, 'connector', 'books', 'the period is closed', 'cli:ops')")
    press("/governance/problems", "^Release")(page, place)


def drained(page: Page, place: World) -> None:
    number = place.engine.session_id(place.engine.worker("desk", serves=["nothing"]))
    press(f"/workers?worker={number}", "^Drain…")(page, place)


# Component → its dialogs, and how each is opened.
DIALOGS: dict[str, dict[str, Opener]] = {
    "components/UnitActions.vue": {
        "block": act_of_a_step("^Block"),
        "delegate": act_of_a_step("^(Delegate|Hand)"),
        "comment": act_of_a_step("^Comment"),
        "deadline": act_of_a_step("deadline"),
    },
    "shell/ActionDialog.vue": {"palette-act": from_the_palette},
    "shell/CommandPalette.vue": {"palette": key("/runs", "Control+k")},
    "shell/KeyMap.vue": {"keys": key("/runs", "?")},
    "pages/workflows/StartDialog.vue": {
        "start": press("/workflows/order.flow", "Start a run"),
        "start-any": press("/runs", "Start a run"),
    },
    "pages/approvals/ConfirmDialog.vue": {"approve": press("/approvals/{approval}", "^Approve")},
    "pages/governance/DeadLettersPage.vue": {
        "replay-propose": wrong("/governance/dead-letters", "^Propose replay"),
        "replay-stop": wrong("/governance/dead-letters", "^Stop plan"),
    },
    "pages/governance/SubjectList.vue": {
        "problem-close": wrong("/governance/problems?category=dead_letter", "^Close"),
    },
    "pages/governance/HoldDialog.vue": {"hold-open": press("/governance/problems", "^Hold…")},
    "pages/governance/HoldCards.vue": {"hold-release": held},
    "pages/governance/WorkersPage.vue": {"worker-drain": drained},
    "pages/settings/PeoplePage.vue": {"person-add": press("/settings/people", "Add somebody…")},
    "pages/settings/TokensPage.vue": {
        "token-make": press("/settings/tokens", "Make a token…"),
        "token-revoke": revoke,
    },
    "pages/settings/PersonPage.vue": {
        "person-end": press("/settings/people/mai", "End the account…"),
        "person-sessions": press("/settings/people/ben", "Show the sessions", "End all sessions…"),
    },
    "pages/settings/SessionsPage.vue": {"sessions-end": press("/settings/sessions", "End all others…")},
    "pages/run/RunActions.vue": {
        "run-pause": press("/runs/{run}", "^Pause…"),
        "run-cancel": press("/runs/{run}", "^Cancel…"),
    },
    "pages/run/ReceiptLine.vue": {"receipt": receipt},
    "pages/runs/BulkBar.vue": {
        "bulk-retry": bulk("^Retry"),
        "bulk-pause": bulk("^Pause"),
        "bulk-resume": bulk("^Resume"),
        "bulk-cancel": bulk("^Cancel…"),
    },
    "pages/runs/SavedViews.vue": {"view-save": press("/runs?workflow=order.flow", "Save this view")},
}


@pytest.fixture(scope="module")
def place(databases: Databases, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(databases, template, Path(tmp_path_factory.mktemp("data"))) as made:
        yield made


@pytest.fixture(scope="module")
def context(browser: Browser, place: World) -> Iterator[BrowserContext]:
    made = browser.new_context(
        base_url=place.base_url, locale="en-GB", viewport={"width": 1280, "height": 800}
    )
    sign_in(made, place.dsn, place.base_url, "ben", "admin", "office", "reviewer")
    unit = place.engine.unit(place.run, "inspect")
    place.engine.db.execute("select fn_step_claim(1, %s, 'ben')", (unit,))
    yield made
    made.close()


def test_every_component_with_a_dialog_is_listed():
    found = {
        str(path.relative_to("ui/src")) for path in files(".vue", under="ui/src") if USES.search(read(path))
    }
    assert found - {"components/AskDialog.vue"} == set(DIALOGS)


@pytest.mark.parametrize("name", [name for dialogs in DIALOGS.values() for name in dialogs])
def test_a_dialog_opens_is_accessible_and_escape_sends_nothing(page: Page, place: World, name: str):
    opener = next(dialogs[name] for dialogs in DIALOGS.values() if name in dialogs)
    opener(page, place)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert dialog.get_attribute("aria-labelledby") or dialog.get_attribute("aria-label")
    for theme in THEMES:
        page.evaluate(_THEME, theme)
        clean(page, ALL_RULES if theme == THEMES[0] else CONTRAST)
        if PICTURES:
            page.screenshot(path=Path(PICTURES) / f"{name}-{theme}.png")
    page.set_viewport_size({"width": 390, "height": 844})
    box = dialog.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}-phone.png")
    page.set_viewport_size({"width": 1280, "height": 800})
    events = place.engine.one("select count(*) from event_log")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert place.engine.one("select count(*) from event_log") == events
