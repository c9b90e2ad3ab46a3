"""Many streams of one server process while a large run executes: each complete, in order, nothing twice.

`STEPWELL_STREAMS=1000 STEPWELL_STREAM_STEPS=2000` is the full size, which `make chaos` runs.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from bench.following import Stream, open_streams
from tests.acceptance.running import up
from tests.sql.drive import Engine, operation
from tests.support.roles import as_process, bound_token

STREAMS = int(os.environ.get("STEPWELL_STREAMS", "100"))
STEPS = int(os.environ.get("STEPWELL_STREAM_STEPS", "120"))
# Of one caller, as the server allows.
STREAMS_OF_A_CALLER = 50
MEMORY_LIMIT_BYTES = 300_000_000


def peak_bytes(pid: int) -> int:
    """The most memory that a process has had."""
    found = re.search(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found is not None
    return int(found[1]) * 1024


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc")
@pytest.mark.timeout(900)
def test_each_stream_is_complete_and_in_order_and_the_server_stays_small(dsn: str, db: psycopg.Connection):
    engine = Engine(db)
    edges = [(f"s{at}", f"s{at + 20}") for at in range(STEPS - 20)]
    engine.publish("large", *(operation(f"s{at}") for at in range(STEPS)), edges=edges)
    run_id = engine.start("large")
    position = engine.one("select fn_workflow_run_snapshot(1, %s) ->> 'position'", (run_id,))
    tokens = [bound_token(dsn, f"page{number}") for number in range(-(-STREAMS // STREAMS_OF_A_CALLER))]
    session = engine.worker()
    path = f"/api/v1/stream?topics=run:{run_id}&after={position}"
    environment = {"STEPWELL_DATABASE_URL": as_process(dsn, "api"), "STEPWELL_POOL_MAX_SIZE": "10"}
    with up("--port", "0", command="serve", environment=environment) as server:
        port = int(server.wait_for(r"Serving at http://127.0.0.1:(\d+)")[1])

        async def scenario() -> list[Stream]:
            streams = await open_streams(port, path, tokens, STREAMS)
            working = threading.Thread(target=engine.drain, args=(session, STEPS + 1))
            working.start()
            await asyncio.gather(*(stream.ended for stream in streams))
            working.join()
            return streams

        streams = asyncio.run(scenario())
        peak, cpu = peak_bytes(server.process.pid), cpu_seconds(server.process.pid)
    whole = engine.one(
        "select array_agg(event_id order by event_id) from event_log where run_id = %s and not"
        " pg_visible_in_snapshot(tx, %s::pg_snapshot)",
        (run_id, position),
    )
    assert len(streams) == STREAMS
    assert {message.event for stream in streams for message in stream.got} == {"open", "changes"}
    assert {stream.events for stream in streams} == {tuple(whole)}
    assert peak < MEMORY_LIMIT_BYTES
    sys.stdout.write(
        f"{STREAMS} streams, {len(whole)} events each: {peak / 1e6:.0f} MB, {cpu:.1f} s of CPU\n"
    )
