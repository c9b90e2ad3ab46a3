"""The HTTP API behind a real PgBouncer in transaction mode: binding, keys, positions, streams, clients."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from bench.following import open_streams
from stepwell.api.app import create_app
from stepwell.config import Settings
from tests.api.serving import serving
from tests.sql.drive import Engine, human, operation
from tests.support.roles import bound_token

POOL_SIZE = 10
CLIENTS = 200


@pytest.fixture
def pooled(pgbouncer: str, tmp_path: Path) -> Iterator[httpx.Client]:
    address = make_conninfo(pgbouncer, user="stepwell_api")
    settings = Settings(
        database_url=address, data_dir=tmp_path, pool_max_size=POOL_SIZE, api_requests_per_second=100_000
    )
    with serving(create_app(settings, address)) as client:
        yield client


@pytest.fixture
def headers(dsn: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {bound_token(dsn)}"}


def test_a_write_is_done_once_and_read_at_its_position(
    pooled: httpx.Client, headers: dict[str, str], db: psycopg.Connection
):
    Engine(db).publish("w", operation("a"))
    for number in range(20):
        asked = {"workflow": "w", "input": {"n": number}}
        keyed = {**headers, "Idempotency-Key": f"k{number}"}
        first = pooled.post("/api/v1/runs", json=asked, headers=keyed)
        again = pooled.post("/api/v1/runs", json=asked, headers=keyed)
        assert (first.status_code, again.json()) == (201, first.json())
        assert again.headers["Idempotency-Replayed"] == "true"
        shown = pooled.get(
            f"/api/v1/runs/{first.json()['run_id']}",
            params={"min_position": first.headers["Stepwell-Position"]},
            headers=headers,
        )
        assert shown.json()["input"] == {"n": number}
    assert len(pooled.get("/api/v1/runs", headers=headers).json()["items"]) == 20


def test_no_caller_is_bound_to_what_another_one_was(pooled: httpx.Client, dsn: str, db: psycopg.Connection):
    """The pooler gives the same backends to everybody; each answer belongs to who asked."""
    db.execute("select fn_tenant_set('other')")
    names = [f"person{number}" for number in range(8)]
    tokens = {name: bound_token(dsn, name, "person") for name in names}
    (row,) = db.execute(
        "select fn_principal_set(t.tenant_id, 'person', 'stranger', array['admin']), t.tenant_id"
        " from tenant as t where t.tenant_code = 'other'"
    ).fetchall()
    made = db.execute("select token from fn_token_create(%s, 'stranger', 'test', 3600)", (row[1],)).fetchone()
    assert made is not None
    tokens["stranger"] = made[0]

    async def ask() -> list[tuple[str, str, str]]:
        async with httpx.AsyncClient(base_url=pooled.base_url, timeout=60) as client:

            async def who(name: str) -> tuple[str, str, str]:
                answer = await client.get(
                    "/api/v1/session", headers={"Authorization": f"Bearer {tokens[name]}"}
                )
                found = answer.json()
                return name, found["name"], found["tenant"]

            return await asyncio.gather(*(who(name) for name in [*tokens] * 40))

    for asked, answered, tenant in asyncio.run(ask()):
        assert (answered, tenant) == (asked, "other" if asked == "stranger" else "default")


def test_two_hundred_clients_share_ten_connections(
    pooled: httpx.Client, headers: dict[str, str], db: psycopg.Connection
):
    engine = Engine(db)
    engine.publish("w", human("sign", role="office"))
    engine.start("w")

    asked = (
        f"GET /api/v1/runs HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: {headers['Authorization']}\r\n\r\n"
    )

    async def one() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", pooled.base_url.port)
        writer.write(asked.encode())
        answer = await reader.read()
        writer.close()
        return answer.partition(b"\r\n")[0]

    async def ask() -> set[bytes]:
        return {*await asyncio.gather(*(one() for _ in range(CLIENTS)))}

    for _ in range(3):
        assert asyncio.run(ask()) == {b"HTTP/1.1 200 OK"}


def test_streams_are_complete(pooled: httpx.Client, dsn: str, db: psycopg.Connection):
    engine = Engine(db)
    engine.publish("w", *(operation(f"s{number}") for number in range(20)))
    run_id = engine.start("w")
    position = engine.one("select fn_workflow_run_snapshot(1, %s) ->> 'position'", (run_id,))
    path, token = f"/api/v1/stream?topics=run:{run_id}&after={position}", bound_token(dsn)

    async def follow() -> set[tuple[int, ...]]:
        streams = await open_streams(pooled.base_url.port or 0, path, [token], 20)
        working = threading.Thread(target=engine.drain, args=(engine.worker(),))
        working.start()
        await asyncio.gather(*(stream.ended for stream in streams))
        working.join()
        return {stream.events for stream in streams}

    found = asyncio.run(follow())
    whole = engine.one(
        "select array_agg(event_id order by event_id) from event_log where run_id = %s"
        " and not pg_visible_in_snapshot(tx, %s::pg_snapshot)",
        (run_id, position),
    )
    assert found == {tuple(whole)}


def test_health_is_read_through_the_pooler(pooled: httpx.Client, headers: dict[str, str]):
    assert pooled.get("/readyz").json() == {"status": "ok"}
    checks = pooled.get("/api/v1/health", headers=headers).json()["checks"]
    assert {one["code"]: one["status"] for one in checks}["pooler"] == "warning"
