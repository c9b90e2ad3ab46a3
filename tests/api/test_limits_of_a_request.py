"""The limits of one request: how long it waits for a lock, and how large a kept answer may be."""

from __future__ import annotations

import httpx
import psycopg
import pytest

from tests.sql.drive import Engine, operation

PROBLEM = "urn:stepwell:problem:"


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    engine = Engine(db)
    engine.publish("line", operation("a"))
    return engine


def test_a_write_waits_for_a_lock_as_long_as_the_limit_says(api: httpx.Client, engine: Engine, dsn: str):
    engine.db.execute(
        "update dot_config set config_value = '50' where config_key = 'limits.request_lock_milliseconds'"
    )
    run_id = engine.start("line")
    with psycopg.connect(dsn) as blocker:
        blocker.execute("select from stepwell.run_progress where run_id = %s for update", (run_id,))
        late = api.post(f"/api/v1/runs/{run_id}/pause")
    assert (late.status_code, late.json()["type"]) == (503, f"{PROBLEM}database-busy")
    assert api.post(f"/api/v1/runs/{run_id}/pause").status_code == 200


def test_an_answer_that_is_too_large_is_not_kept_but_the_write_is_done_once(
    api: httpx.Client, engine: Engine
):
    engine.db.execute(
        "update dot_config set config_value = '10' where config_key = 'limits.http_answer_bytes'"
    )
    headers = {"Idempotency-Key": "large"}
    first = api.post("/api/v1/runs", json={"workflow": "line"}, headers=headers)
    assert first.status_code == 201
    again = api.post("/api/v1/runs", json={"workflow": "line"}, headers=headers)
    assert (again.status_code, again.json()["type"]) == (409, f"{PROBLEM}answer-not-kept")
    assert engine.one("select count(*) from run_detail") == 1
