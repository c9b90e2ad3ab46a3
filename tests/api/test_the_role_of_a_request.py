"""A server that logs in as the owner of the schema still reads and changes only the tenant of the caller."""

from __future__ import annotations

from pathlib import Path

import httpx
import psycopg

from stepwell.api.app import create_app
from stepwell.config import Settings
from tests.api.serving import serving
from tests.sql.drive import Engine, operation
from tests.support.roles import bound_token


def test_the_owner_is_no_way_around_the_walls(dsn: str, db: psycopg.Connection, tmp_path: Path):
    (other,) = db.execute("select fn_tenant_set('two', '{}')").fetchone()  # type: ignore[misc]
    elsewhere = Engine(db, other)
    elsewhere.publish("line", operation("a"))
    hidden = elsewhere.start("line")
    bearer = {"Authorization": f"Bearer {bound_token(dsn)}"}
    settings = Settings(database_url=dsn, data_dir=tmp_path)
    with serving(create_app(settings, dsn)) as http:
        assert http.get("/api/v1/runs", headers=bearer).json()["items"] == []
        assert http.get(f"/api/v1/runs/{hidden}", headers=bearer).status_code == 404
        assert (
            http.get(f"/api/v1/units/{(hidden << 20) + 1}/why-not-running", headers=bearer).status_code == 404
        )


def test_a_role_that_may_not_act_as_the_api_is_refused(dsn: str, db: psycopg.Connection, tmp_path: Path):
    token = bound_token(dsn)
    reader = dsn.replace("user=stepwell ", "user=stepwell_reader ")
    assert "stepwell_reader" in reader
    with serving(create_app(Settings(database_url=reader, data_dir=tmp_path), reader)) as http:
        answer: httpx.Response = http.get("/api/v1/runs", headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, "stepwell db roles" in answer.text) == (503, True), answer.text
