"""Signing in over HTTP: passwords, links, cookies, sessions, and what a page of another site cannot do."""

from __future__ import annotations

from pathlib import Path

import httpx
import psycopg
import pytest

from stepwell.api.app import create_app
from stepwell.api.identity import COOKIE
from stepwell.config import Settings
from tests.api.serving import serving
from tests.support.clock import Clock
from tests.support.roles import as_process, bound_token

PASSWORD = "seven green bottles"
PROBLEM = "urn:stepwell:problem:"


@pytest.fixture(autouse=True)
def cheap_hashes(request: pytest.FixtureRequest, db: psycopg.Connection) -> None:
    """The least memory that the database accepts."""
    if "developer" in request.fixturenames:
        # Only a database in which nothing has happened enters the mode, and a changed setting is an event.
        db.execute("select _development_enter('dev')")
    db.execute(
        """update dot_config set config_value = '"$argon2id$v=19$m=19456,t=2,p=1"'
           where config_key = 'sign_in.argon2id'"""
    )


@pytest.fixture
def link(db: psycopg.Connection) -> str:
    """A link to the first password of minh, an administrator."""
    row = db.execute("select link from fn_link_create(1, 'minh', 'first_administrator')").fetchone()
    assert row is not None
    return str(row[0])


@pytest.fixture
def minh(http: httpx.Client, link: str) -> httpx.Client:
    """A browser in which minh has set a password."""
    answer = http.post("/api/v1/session/link", json={"link": link, "password": PASSWORD})
    assert answer.status_code == 200, answer.text
    http.headers["X-CSRF-Token"] = answer.json()["csrf_token"]
    return http


def sign_in(http: httpx.Client, password: str = PASSWORD, name: str = "minh", **more: str) -> httpx.Response:
    return http.post("/api/v1/session", json={"name": name, "password": password, **more})


def events(db: psycopg.Connection, kind: str) -> list[dict]:
    return [row[0] for row in db.execute("select payload from event_log where event_type = %s", (kind,))]


def test_the_first_administrator_sets_a_password_and_is_signed_in(minh: httpx.Client, db, link: str):
    account = minh.get("/api/v1/session").json()
    assert (account["name"], account["kind"], account["tenant"]) == ("minh", "person", "default")
    assert "admin" in account["roles"]
    assert "principal.change" in account["verbs"]
    assert account["csrf_token"] == minh.headers["X-CSRF-Token"]
    again = minh.post("/api/v1/session/link", json={"link": link, "password": PASSWORD})
    assert (again.status_code, again.json()["type"]) == (401, f"{PROBLEM}sign-in-refused")
    assert [one["name"] for one in events(db, "session.opened")] == ["minh"]
    assert [one["purpose"] for one in events(db, "link.used")] == ["first_administrator"]


def test_a_password_signs_in_and_a_wrong_one_does_not(minh: httpx.Client, db):
    minh.cookies.clear()
    for wrong in ({"password": "wrong"}, {"name": "nobody"}, {"tenant": "other"}):
        refused = sign_in(minh, **{"password": PASSWORD, **wrong})
        assert (refused.status_code, refused.json()["type"]) == (401, f"{PROBLEM}sign-in-refused")
        assert "set-cookie" not in refused.headers
    assert len(events(db, "session.refused")) == 2
    assert sign_in(minh).json()["name"] == "minh"
    assert minh.get("/api/v1/session").status_code == 200


def test_the_cookie_is_for_this_server_only(minh: httpx.Client):
    cookie = sign_in(minh).headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=sws_")
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=lax", "path=/"} <= parts
    assert "secure" not in parts
    assert any(part.startswith("max-age=6047") or part.startswith("max-age=6048") for part in parts)


def test_over_https_the_cookie_is_secure(dsn: str, tmp_path: Path, minh: httpx.Client):
    async def as_https(scope, receive, send):
        await app({**scope, "scheme": "https"} if scope["type"] == "http" else scope, receive, send)

    address = as_process(dsn, "api")
    app = create_app(Settings(database_url=address, data_dir=tmp_path), address)
    with serving(as_https) as client:
        assert "Secure" in sign_in(client).headers["set-cookie"]


def test_many_wrong_passwords_are_followed_by_a_pause(minh: httpx.Client, clock: Clock):
    for _ in range(5):
        assert sign_in(minh, "wrong").status_code == 401
    paused = sign_in(minh)
    assert (paused.status_code, paused.json()["type"]) == (429, f"{PROBLEM}too-many-requests")
    assert 1 <= int(paused.headers["Retry-After"]) <= 60
    clock.advance(minutes=2)
    assert sign_in(minh).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"X-CSRF-Token": ""},
        {"X-CSRF-Token": "0" * 64},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://[::1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_site_changes_nothing(minh: httpx.Client, db, headers: dict[str, str]):
    answer = minh.post("/api/v1/people", json={"name": "eve"}, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (403, f"{PROBLEM}origin-refused")
    assert db.execute("select from person where person_name = 'eve'").fetchone() is None
    own = str(minh.base_url).removesuffix("/")
    assert minh.post("/api/v1/people", json={"name": "eve"}, headers={"Origin": own}).status_code == 201


@pytest.mark.parametrize("origin", ["https://elsewhere.example", "null", "http://[", "http://[::1", "//", ""])
def test_another_site_cannot_sign_a_browser_in(minh: httpx.Client, origin: str):
    body = {"name": "minh", "password": PASSWORD}
    answer = minh.post("/api/v1/session", json=body, headers={"Origin": origin})
    assert (answer.status_code, answer.json()["field"]) == (403, "header.Origin")


def test_a_token_in_the_header_needs_no_csrf_token_and_no_cookie_helps_a_wrong_one(minh: httpx.Client, dsn):
    minh.headers.pop("X-CSRF-Token")
    bearer = {"Authorization": f"Bearer {bound_token(dsn)}"}
    assert minh.post("/api/v1/people", json={"name": "eve"}, headers=bearer).status_code == 201
    assert minh.get("/api/v1/session", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_sign_out_ends_the_session(minh: httpx.Client):
    cookie = minh.cookies[COOKIE]
    assert minh.delete("/api/v1/session").status_code == 204
    assert COOKIE not in minh.cookies
    minh.cookies.set(COOKIE, cookie)
    assert minh.get("/api/v1/session").status_code == 401


def test_a_session_ends_when_nobody_uses_it_and_after_a_week(minh: httpx.Client, clock: Clock):
    for _ in range(4):
        clock.advance(hours=7)
        assert minh.get("/api/v1/session").status_code == 200, "a session that is used ended"
    clock.advance(hours=9)
    assert minh.get("/api/v1/session").status_code == 401
    minh.headers["X-CSRF-Token"] = sign_in(minh).json()["csrf_token"]
    for _ in range(23):
        clock.advance(hours=7)
        assert minh.get("/api/v1/session").status_code == 200
    clock.advance(hours=7.5)
    assert minh.get("/api/v1/session").status_code == 401, "a session lasted longer than a week"


def test_sessions_are_listed_and_ended(minh: httpx.Client):
    first = minh.cookies[COOKIE]
    entered = sign_in(minh)
    minh.headers["X-CSRF-Token"] = entered.json()["csrf_token"]
    found = minh.get("/api/v1/sessions").json()["items"]
    assert [(one["is_current"], one["is_valid"]) for one in found] == [(True, True), (False, True)]
    assert found[0]["address"] == "127.0.0.1"
    assert "python-httpx" in found[0]["user_agent"]
    assert minh.delete(f"/api/v1/sessions/{found[1]['session_id']}").status_code == 204
    assert minh.get("/api/v1/session").status_code == 200
    minh.cookies.clear()
    minh.cookies.set(COOKIE, first)
    assert minh.get("/api/v1/session").status_code == 401


def test_a_changed_password_needs_the_old_one_and_ends_other_sessions(minh: httpx.Client):
    other = minh.cookies[COOKIE]
    minh.headers["X-CSRF-Token"] = sign_in(minh).json()["csrf_token"]
    path, new = "/api/v1/session/password", "eight green bottles"
    wrong = minh.put(path, json={"old_password": "wrong", "password": new})
    assert wrong.status_code == 401
    short = minh.put(path, json={"old_password": PASSWORD, "password": "short"})
    assert (short.status_code, short.json()["field"]) == (422, "body.password")
    assert "short" not in short.json()["detail"].replace("shorter", "")
    assert minh.put(path, json={"old_password": PASSWORD, "password": new}).status_code == 204
    assert minh.get("/api/v1/session").status_code == 200
    minh.cookies.clear()
    minh.cookies.set(COOKIE, other)
    assert minh.get("/api/v1/session").status_code == 401
    minh.cookies.clear()
    assert sign_in(minh).status_code == 401
    assert sign_in(minh, new).status_code == 200


def test_an_administrator_makes_a_link_for_who_forgot_the_password(minh: httpx.Client, db):
    assert minh.post("/api/v1/people", json={"name": "lan", "roles": ["reviewer"]}).status_code == 201
    key = {"Idempotency-Key": "one-link"}
    made = minh.post("/api/v1/people/lan/links", json={}, headers=key).json()
    assert made["link"].startswith("swl_")
    again = minh.post("/api/v1/people/lan/links", json={}, headers=key)
    assert (again.json()["link"], again.headers["Idempotency-Replayed"]) == (None, "true")
    kept = db.execute("select string_agg(answer, ' ') from http_answer").fetchone()[0]
    assert made["link"] not in kept
    minh.cookies.clear()
    entered = minh.post("/api/v1/session/link", json={"link": made["link"], "password": PASSWORD})
    assert entered.json()["name"] == "lan"
    minh.headers["X-CSRF-Token"] = entered.json()["csrf_token"]
    assert minh.post("/api/v1/people/minh/links", json={}).status_code == 403
    assert minh.get("/api/v1/people/minh/sessions").status_code == 403
    assert minh.get("/api/v1/people/lan/sessions").status_code == 200


def test_rights_change_at_once_and_are_events(minh: httpx.Client, db, dsn: str):
    minh.post("/api/v1/people", json={"name": "bot", "kind": "service", "roles": ["operator"]})
    made = minh.post("/api/v1/tokens", json={"name": "bot", "label": "t", "expires_seconds": 600}).json()
    bearer = {"Authorization": f"Bearer {made['token']}"}
    workspace = "/api/v1/workspaces/night"
    assert minh.put(workspace, json={"max_concurrency": 5}, headers=bearer).json()["max_concurrency"] == 5
    changed = minh.patch("/api/v1/people/bot", json={"remove_roles": ["operator"]}).json()
    assert changed["roles"] == []
    refused = minh.put(workspace, json={}, headers=bearer)
    assert (refused.status_code, "workflow.publish" in refused.json()["detail"]) == (403, True)
    assert minh.delete(f"/api/v1/tokens/{made['token_id']}").status_code == 204
    assert minh.get("/api/v1/session", headers=bearer).status_code == 401
    told = {kind: len(events(db, kind)) for kind in ("principal.changed", "token.created", "token.revoked")}
    assert told == {"principal.changed": 3, "token.created": 1, "token.revoked": 1}
    (call,) = {one["call"] for one in events(db, "call.refused") if "publish" in one["reason"]}
    assert call == "PUT /api/v1/workspaces/{workspace}" or call == "PUT /workspaces/{workspace}"


def test_everybody_lists_their_own_tokens_only(minh: httpx.Client, dsn: str):
    bearer = {"Authorization": f"Bearer {bound_token(dsn, 'plain', 'service', 'nobody')}"}
    (own,) = minh.get("/api/v1/tokens", headers=bearer).json()["items"]
    assert own["name"] == "plain"
    assert minh.get("/api/v1/tokens", params={"everybody": True}, headers=bearer).status_code == 403
    assert minh.get("/api/v1/tokens", params={"name": "minh"}, headers=bearer).status_code == 403
    assert minh.get("/api/v1/tokens", params={"everybody": True}).json()["items"] == [own]


@pytest.fixture
def developer() -> str:
    """The one person of the development mode."""
    return "dev"


def test_development_mode_gives_nobody_a_session(developer: str, db, http: httpx.Client):
    """The person of that mode acts over HTTP only after the link, not because of the address."""
    assert http.get("/api/v1/session").status_code == 401
    (link,) = db.execute("select link from fn_link_create(1, %s, 'sign_in')", (developer,)).fetchone()
    entered = http.post("/api/v1/session/link", json={"link": link})
    assert (entered.status_code, entered.json()["name"]) == (200, developer)
    assert http.get("/api/v1/session").json()["name"] == developer
    assert http.post("/api/v1/session/link", json={"link": link}).status_code == 401
    with pytest.raises(psycopg.Error, match="only the person of the development mode"):
        db.execute("select fn_link_create(1, 'dev2', 'sign_in')")


def test_a_link_to_a_password_does_not_sign_in_without_one(http: httpx.Client, link: str):
    assert http.post("/api/v1/session/link", json={"link": link}).status_code == 401
    used = http.post("/api/v1/session/link", json={"link": link, "password": PASSWORD})
    assert used.status_code == 200, "the wrong use spent the link"
