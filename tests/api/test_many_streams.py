"""Many streams of one process while a large run executes: each complete, in order, nothing twice.

`STEPWELL_STREAMS=1000 STEPWELL_STREAM_STEPS=2000` is the full size; the suite runs a small one.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path

import psutil
import psycopg

from stepwell.api import stream_feed
from stepwell.api.app import create_app
from stepwell.config import Settings
from tests.api.serving import serving
from tests.sql.drive import Engine, operation
from tests.support.roles import as_process, bound_token

STREAMS = int(os.environ.get("STEPWELL_STREAMS", "40"))
STEPS = int(os.environ.get("STEPWELL_STREAM_STEPS", "60"))
MEMORY_LIMIT_BYTES = 300_000_000


async def follow(port: int, token: str, run_id: int, position: str, opened: asyncio.Semaphore) -> list[int]:
    """The numbers of all events until the run has ended, by a plain socket."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    path = f"/api/v1/stream?topics=run:{run_id}&after={position}"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    seen: list[int] = []
    while line := await reader.readline():
        if line.startswith(b"event: open"):
            opened.release()
        if line.startswith(b'data: {"position"') and b'"events"' in line:
            rows = json.loads(line[6:])["events"]
            seen += [row[0] for row in rows]
            if any(row[4] == "workflow.completed" for row in rows):
                break
    writer.close()
    return seen


def test_each_stream_is_complete_and_in_order(dsn: str, db: psycopg.Connection, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(stream_feed, "STREAMS_PER_CALLER", 10_000)
    engine = Engine(db)
    edges = [(f"s{at}", f"s{at + 20}") for at in range(STEPS - 20)]
    engine.publish("large", *(operation(f"s{at}") for at in range(STEPS)), edges=edges)
    run_id = engine.start("large")
    position = engine.one("select fn_workflow_run_snapshot(1, %s) ->> 'position'", (run_id,))
    address, token = as_process(dsn, "api"), bound_token(dsn)
    settings = Settings(database_url=address, data_dir=tmp_path, api_requests_per_second=100_000)
    session = engine.worker()
    process = psutil.Process()
    before = process.memory_info().rss
    with serving(create_app(settings, address)) as client:
        port = client.base_url.port
        assert port is not None

        async def scenario() -> list[list[int]]:
            opened = asyncio.Semaphore(0)
            tasks = [
                asyncio.create_task(follow(port, token, run_id, position, opened)) for _ in range(STREAMS)
            ]
            for _ in range(STREAMS):
                await opened.acquire()
            working = threading.Thread(target=engine.drain, args=(session, STEPS + 1))
            working.start()
            found = await asyncio.gather(*tasks)
            working.join()
            return found

        found = asyncio.run(scenario())
        grown = process.memory_info().rss - before
    whole = engine.one(
        "select array_agg(event_id order by event_id) from event_log where run_id = %s and not"
        " pg_visible_in_snapshot(tx, %s::pg_snapshot)",
        (run_id, position),
    )
    assert len(found) == STREAMS
    assert all(seen == whole for seen in found)
    # Clients and server are in this process: what it grew by is more than what the server needs.
    assert grown < MEMORY_LIMIT_BYTES
    sys.stdout.write(f"{STREAMS} streams, {len(whole)} events each, {grown / 1e6:.0f} MB\n")
