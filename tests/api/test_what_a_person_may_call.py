"""Every route, called by a person without the verb, and what needs no verb, about somebody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import psycopg

from tests.api.routes import operations
from tests.api.test_every_route import asked, seeds, shows

__all__ = ["seeds"]


def test_a_person_may_call_only_the_verbs_of_its_roles(
    http: httpx.Client, db: psycopg.Connection, token: Callable[..., str], seeds: dict[str, str]
):
    headers = {"Authorization": f"Bearer {token('vera', 'person', 'viewer')}"}
    allowed = set(http.get("/api/v1/session", headers=headers).json()["verbs"])
    lacking = [one for one in operations() if one.verb is not None and one.verb not in allowed]
    assert {"run.cancel", "workflow.publish", "principal.change", "token.change", "payload.read"} <= {
        one.verb for one in lacking
    }
    before = db.execute(UNCHANGED).fetchone()
    for one in lacking:
        answer = asked(http, one, seeds, **headers)
        assert (answer.status_code, shows(answer, seeds)) == (403, False), (one.name, answer.text)
        assert answer.json()["type"] == "urn:stepwell:problem:permission-denied", one.name
        assert str(one.verb) in answer.json()["detail"], one.name
    assert db.execute(UNCHANGED).fetchone() == before


# Refused calls are events too.
UNCHANGED = "select count(*) from event_log where event_type <> 'call.refused'"


def test_what_needs_no_verb_is_about_oneself(
    http: httpx.Client, db: psycopg.Connection, token: Callable[..., str], seeds: dict[str, str]
):
    """The operations without a verb that can name somebody else, with that name: ada has a token."""
    headers = {"Authorization": f"Bearer {token('vera', 'person', 'viewer')}"}
    somebody, number = seeds["person"], seeds["token_id"]
    new = {"name": somebody, "label": "mine", "expires_seconds": 60}
    about: dict[str, dict[str, Any]] = {
        "GET /api/v1/people/{person}/sessions": {},
        "DELETE /api/v1/people/{person}/sessions": {},
        "DELETE /api/v1/sessions/{session_id}": {},
        "GET /api/v1/tokens": {"params": {"name": somebody}},
        "POST /api/v1/tokens": {"json": new},
        "DELETE /api/v1/tokens/{token_id}": {},
    }
    of_oneself = {
        "GET /api/v1/session", "DELETE /api/v1/session", "PUT /api/v1/session/password",
        "GET /api/v1/sessions", "GET /api/v1/registry/tokens",
    }  # fmt: skip
    assert {one.name for one in operations() if one.verb is None} == set(about) | of_oneself
    before = db.execute(UNCHANGED).fetchone()
    for name, given in (*about.items(), ("GET /api/v1/tokens", {"params": {"everybody": True}})):
        method, _, path = name.partition(" ")
        answer = http.request(method, path.format(**seeds), headers=headers, **given)
        assert (answer.status_code in (403, 404), shows(answer, seeds)) == (True, False), (name, answer.text)
    valid = "select revoked_at is null from access_token where token_id = %s"
    assert db.execute(valid, (number,)).fetchone() == (True,)
    assert db.execute(UNCHANGED).fetchone() == before
    own = http.get("/api/v1/tokens", headers=headers).json()["items"]
    assert [one["name"] for one in own] == ["vera"]
