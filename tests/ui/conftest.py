"""A real browser on a real server: `page` opens the web console of a migrated database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from stepwell.api.app import create_app
from stepwell.api.envelope import LOOPBACK_NAMES
from stepwell.api.ui import UI_DIST
from stepwell.config import Settings
from tests.api.serving import serving
from tests.support.roles import as_process, bound_token
from tests.ui.browsing import browsing
from tests.ui.signing import sign_in

# What is awaited comes when the machine has time; only what never comes takes so long.
expect.set_options(timeout=20_000)


# Not for the whole session: while the browser is open, its driver runs an event loop in this thread, and
# tests of other modules could not start their own loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert (UI_DIST / "index.html").is_file(), "the web console is not built: make ui"
    with browsing() as started:
        yield started


@pytest.fixture
def base_url(dsn: str, tmp_path: Path) -> Iterator[str]:
    address = as_process(dsn, "api")
    settings = Settings(database_url=address, data_dir=tmp_path)
    with serving(create_app(settings, address, allowed_hosts=LOOPBACK_NAMES)) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture
def headers(dsn: str) -> dict[str, str]:
    """What a browser of these tests sends with each request: it is signed in as an administrator."""
    return {"Authorization": f"Bearer {bound_token(dsn)}"}


@pytest.fixture
def context(browser: Browser, base_url: str, dsn: str) -> Iterator[BrowserContext]:
    """The English browser of ben, without stored settings; a test that needs another one makes its own."""
    made = browser.new_context(base_url=base_url, locale="en-GB", viewport={"width": 1280, "height": 800})
    sign_in(made, dsn, base_url, "ben", "admin")
    yield made
    made.close()


@pytest.fixture
def become(context: BrowserContext, dsn: str, base_url: str) -> Callable[[Page, str], None]:
    """Lets another person use the page: its session replaces the one before."""

    def become(page: Page, name: str) -> None:
        sign_in(context, dsn, base_url, name)
        page.reload()

    return become


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """Fails if the console of the browser shows an error, such as a refused script or style."""
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    yield opened
    # Its stream takes one of the few connections that a browser opens to a server.
    opened.close()
    wanted = getattr(opened, "expected_complaint", None)
    assert [text for text in complaints if wanted is None or wanted not in text] == []
