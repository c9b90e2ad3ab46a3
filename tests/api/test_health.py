"""Health over HTTP: /api/v1/health, /healthz and /readyz, with and without a database."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime

import httpx
import psycopg
import pytest

from stepwell import __version__
from stepwell.api.app import create_app
from stepwell.config import Settings
from tests.api.serving import serving
from tests.support.roles import client_app


def check(health: dict, code: str) -> dict:
    return next(entry for entry in health["checks"] if entry["code"] == code)


def test_health_shows_version_database_and_schema(api: httpx.Client):
    health = api.get("/api/v1/health").json()
    assert health["version"] == __version__
    assert health["database"]["kind"] == "external"
    assert int(health["database"]["version"].split(".")[0]) >= 15
    assert health["database"]["size_bytes"] > 0
    assert health["schema"]["status"] == "current"
    assert health["schema"]["migration_count"] >= 1
    assert datetime.fromisoformat(health["checked_at"]).tzinfo is not None


def test_health_has_the_checks_of_the_doctor(api: httpx.Client):
    health = api.get("/api/v1/health").json()
    assert {"database", "schema", "clock", "notify", "pooler", "workers"} <= {
        c["code"] for c in health["checks"]
    }
    assert check(health, "schema")["status"] == "ok"


def enqueue_three(dsn: str) -> None:
    """Enqueues three jobs that no worker serves."""
    app = client_app(dsn)

    @app.operation
    def greet(name: str) -> str:
        return f"hello {name}"

    async def enqueue() -> None:
        async with app:
            await app.enqueue_many("greet", [{"name": name} for name in ("An", "Binh", "Chi")])

    asyncio.run(enqueue())


def test_jobs_without_a_worker_are_counted_and_give_a_warning(api: httpx.Client, dsn: str):
    enqueue_three(dsn)
    health = api.get("/api/v1/health").json()
    counts = {entry["code"]: entry["count"] for entry in health["counts"]}
    assert (counts["jobs_ready"], counts["workers_live"]) == (3, 0)
    found = check(health, "workers")
    assert (found["status"], found["detail"]) == ("warning", "0 connected, 3 jobs ready")
    assert "stepwell worker" in found["remedy"]
    assert found["detail_vi"] == "0 đang kết nối, 3 việc sẵn sàng"
    assert "stepwell worker" in found["remedy_vi"]
    assert health["status"] in ("warning", "failed")


def test_a_missing_routine_set_makes_the_schema_pending(api: httpx.Client, db: psycopg.Connection):
    db.execute("delete from stepwell.schema_routine")
    health = api.get("/api/v1/health").json()
    assert health["schema"]["status"] == "pending"
    assert health["status"] == "failed"
    assert "db migrate" in check(health, "schema")["remedy"]


def test_health_without_a_database_is_a_problem_with_the_reason(api_without_database: httpx.Client):
    response = api_without_database.get("/api/v1/health", headers={"Authorization": "Bearer sw_any"})
    assert (response.status_code, response.json()["type"]) == (
        503,
        "urn:stepwell:problem:database-unavailable",
    )
    assert response.headers["Retry-After"]


def test_many_readers_at_the_same_time_share_one_check(api: httpx.Client):
    answers: list[dict] = []
    readers = [
        threading.Thread(target=lambda: answers.append(api.get("/api/v1/health").json())) for _ in range(8)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert len(answers) == 8
    assert len({answer["checked_at"] for answer in answers}) <= 2


@pytest.mark.parametrize("path", ["/readyz", "/api/v1/health", "/api/v1/runs", "/api/v1/session"])
def test_no_request_opens_a_connection(api: httpx.Client, db: psycopg.Connection, path: str):
    """All requests use the connections of the pool: no other one begins while they are answered."""
    for asked in ("/api/v1/health", path):
        assert api.get(asked).status_code == 200
    known = "select array_agg(pid order by pid) from pg_stat_activity where datname = current_database()"
    begun = "select sessions from pg_stat_database where datname = current_database()"
    pids, sessions = db.execute(known).fetchone(), db.execute(begun).fetchone()
    for _ in range(20):
        assert api.get(path).status_code == 200
    assert db.execute(known).fetchone() == pids
    db.execute("select pg_stat_clear_snapshot()")
    assert db.execute(begun).fetchone() == sessions


def test_healthz_needs_no_database(api_without_database: httpx.Client):
    assert api_without_database.get("/healthz").json() == {"status": "ok"}


def test_readyz_is_ok_when_the_schema_is_current(api: httpx.Client):
    response = api.get("/readyz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_readyz_fails_without_a_database(api_without_database: httpx.Client):
    response = api_without_database.get("/readyz")
    assert response.status_code == 503
    assert response.headers["Retry-After"]
    assert response.json()["type"] == "urn:stepwell:problem:database-unavailable"


def test_readyz_fails_before_the_first_migration(empty_dsn: str, tmp_path):
    settings = Settings(database_url=empty_dsn, data_dir=tmp_path)
    with serving(create_app(settings, empty_dsn)) as client:
        response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["type"] == "urn:stepwell:problem:schema"


def test_no_answer_shows_the_password_of_the_database(dsn: str, tmp_path):
    secret = "hunter2-unguessable"
    nowhere = f"postgresql://someone:{secret}@127.0.0.1:1/none"
    settings = Settings(database_url=nowhere, data_dir=tmp_path)
    with serving(create_app(settings, nowhere)) as client:
        bearer = {"Authorization": "Bearer sw_any"}
        assert secret not in client.get("/api/v1/health", headers=bearer).text
        assert secret not in client.get("/readyz").text


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/api/v1/health"])
def test_answers_about_health_are_not_cached(api: httpx.Client, path: str):
    assert api.get(path).headers["Cache-Control"] == "no-store"
