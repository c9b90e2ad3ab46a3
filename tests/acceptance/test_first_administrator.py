"""On a strict database `stepwell up` prints a link: the first administrator sets a password with it, once."""

from __future__ import annotations

import signal
from pathlib import Path

import httpx
import psycopg

from stepwell.config import user_name
from stepwell.store.embedded.server import EmbeddedServer
from tests.acceptance.running import Running, up

PASSWORD = "seven green bottles on a wall"
LINK = r"Sign in\s+http://[^/]+(?P<page>/sign-in)#link=(?P<link>\S+) \(works once\)"


def strict(data_dir: Path) -> None:
    """Leaves development mode for good."""
    with (
        EmbeddedServer(data_dir) as server,
        psycopg.connect(server.conninfo(), autocommit=True) as connection,
    ):
        connection.execute("select stepwell.fn_development_leave(%s)", (user_name(),))


def door(running: Running) -> httpx.Client:
    url = running.wait_for(r"Address\s+(http://\S+)").group(1)
    running.wait_for("Ctrl-C stops everything")
    return httpx.Client(base_url=url, timeout=60)


def stop(running: Running) -> None:
    running.signal(signal.SIGINT)
    assert running.wait_end() == 0


def test_the_first_administrator_sets_a_password_with_a_link_that_works_once(used_dir: Path):
    strict(used_dir)
    arguments = ("--data-dir", str(used_dir), "--port", "0", "--no-worker")
    with up(*arguments) as running, door(running) as client:
        found = running.wait_for(LINK)
        assert "Stepwell" in client.get(found["page"], headers={"Accept": "text/html"}).text
        bare = client.post("/api/v1/session/link", json={"link": found["link"]})
        assert bare.status_code in (401, 403, 422), "the link signs in without a password"
        used = {"link": found["link"], "password": PASSWORD}
        entered = client.post("/api/v1/session/link", json=used)
        assert (entered.status_code, entered.json()["name"]) == (200, user_name()), entered.text
        me = client.get("/api/v1/session").json()
        assert (me["name"], "admin" in me["roles"], "principal.change" in me["verbs"]) == (
            user_name(), True, True,
        )  # fmt: skip
        with httpx.Client(base_url=client.base_url, timeout=60) as other:
            again = other.post("/api/v1/session/link", json={**used, "password": "another long password"})
            assert again.status_code == 401, again.text
            assert other.get("/api/v1/session").status_code == 401
        stop(running)
    with up(*arguments) as running, door(running) as client:
        assert "/sign-in#" not in running.output
        entered = client.post("/api/v1/session", json={"name": user_name(), "password": PASSWORD})
        assert entered.status_code == 200, entered.text
        assert client.get("/api/v1/runs").status_code == 200
        stop(running)
