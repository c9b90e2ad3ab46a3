"""Signs people in for the tests of pages: receives a browser and a name, gives it the cookie of a session."""

from __future__ import annotations

import psycopg
from playwright.sync_api import BrowserContext

from stepwell.api.identity import COOKIE


def sign_in(context: BrowserContext, dsn: str, base_url: str, name: str, *roles: str) -> None:
    """A session of this person of tenant 1, who is added if nobody has the name."""
    with psycopg.connect(dsn, autocommit=True) as owner:
        known = "select principal_id from stepwell.principal where tenant_id = 1 and principal_name = %s"
        if owner.execute(known, (name,)).fetchone() is None:
            owner.execute("select stepwell.fn_person_set(1, %s)", (name,))
        owner.execute("select stepwell.fn_principal_change(1, %s, %s)", (name, list(roles)))
        row = owner.execute(
            f"select token from stepwell._session_open(1, ({known}), '127.0.0.1', 'test')", (name,)
        ).fetchone()
    assert row is not None
    context.add_cookies([{"name": COOKIE, "value": str(row[0]), "url": base_url, "httpOnly": True}])
