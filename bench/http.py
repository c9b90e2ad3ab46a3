"""Measure the HTTP API: receives a fresh database URL, returns what lists, snapshots and streams cost.

One server process (`stepwell serve`), as by default, with 200,000 ended runs in the tables. SQL copies one
ended run (see `history`): for the indexes it does not matter how the rows were made.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from bench import shapes
from bench.engine import Load, drain, fill, open_session
from bench.environment import ROOT
from bench.history import write_past
from bench.meter import Meter, cost_between
from bench.wanted import below, verdict
from stepwell import App, Worker
from stepwell.define import Operation, Parallel, Sequential, Workflow, freeze
from stepwell.layout.document import draw

PAST_RUNS = 200_000
QUICK_PAST_RUNS = 500
CLIENTS = 20
REQUESTS = 4_000
QUICK_REQUESTS = 60
SNAPSHOT_STEPS = 2_000
QUICK_SNAPSHOT_STEPS = 50
SNAPSHOTS = 60
LAYOUTS = 20
STREAMS = 100
W1_RUNS = 200
QUICK_W1_RUNS = 10
# One W1 takes a tenth of a second, less than the pause between two reads of the streams: whether a read
# happens in it is chance. So many together last several reads.
W1_AT_ONCE = 5
QUICK_W1_AT_ONCE = 1
W1_ROUNDS = 11
QUICK_W1_ROUNDS = 1
WANTED = {
    "list_per_second": 300,
    "list_p99_ms": 100,
    "snapshot_p99_ms": 100,
    "layout_p50_ms": 100,
    "w1_ratio": 0.95,
    "w1_cpu_ratio": 1.05,
}


def measure(database_url: str, *, quick: bool) -> dict[str, Any]:
    with psycopg.connect(database_url, autocommit=True, prepare_threshold=1) as connection:
        session_key = open_session(connection)
        write_past(connection, session_key, QUICK_PAST_RUNS if quick else PAST_RUNS)
        large = _large_run(connection, session_key, QUICK_SNAPSHOT_STEPS if quick else SNAPSHOT_STEPS)
        # A caller may have 64 streams.
        tokens = [_token(connection, f"bench-page-{number}") for number in range(4)]
    with _serving(database_url) as (port, pid):
        asked = QUICK_REQUESTS if quick else REQUESTS
        meter = Meter(database_url)
        lists = asyncio.run(_ask(port, tokens[0], "/api/v1/runs", CLIENTS, asked, pid, meter))
        snapshots = asyncio.run(
            _ask(port, tokens[0], f"/api/v1/runs/{large}/snapshot", 1, 5 if quick else SNAPSHOTS, pid, meter)
        )
        meter.close()
        streams = asyncio.run(_w1(database_url, port, pid, tokens, quick=quick))
    return {
        "past_runs": QUICK_PAST_RUNS if quick else PAST_RUNS,
        "steps": QUICK_SNAPSHOT_STEPS if quick else SNAPSHOT_STEPS,
        "list": lists,
        "snapshot": snapshots,
        "layout": _layout(QUICK_SNAPSHOT_STEPS if quick else SNAPSHOT_STEPS, 2 if quick else LAYOUTS),
        "w1": streams,
    }


def _large_run(connection: psycopg.Connection[Any], session_key: int, steps: int) -> int:
    """A run of so many steps that has not begun; three before it have ended, so that times are expected."""
    flow = _large(steps)
    fill(connection, Load("large", flow, 3, 100), 3)
    drain(connection, session_key, 100)
    fill(connection, Load("large", flow, 1, 1), 1)
    row = connection.execute("select max(run_id) from stepwell.run_detail").fetchone()
    assert row is not None
    return int(row[0])


def _large(steps: int) -> Workflow:
    return Workflow(
        "bench.large", Sequential(*(Parallel(*(Operation("step", id=f"s{a}x{b}") for b in range(10)))
                                    for a in range(steps // 10)))
    )  # fmt: skip


def _layout(steps: int, count: int) -> dict[str, float]:
    """The drawing of a graph with so many steps, as the server makes it for the first who asks."""
    graph = freeze(_large(steps))
    took = []
    for _ in range(count):
        began = time.perf_counter()
        draw(graph, "", "role")
        took.append((time.perf_counter() - began) * 1e3)
    return {"p50_ms": statistics.median(took), "slowest_ms": max(took)}


def _token(connection: psycopg.Connection[Any], name: str) -> str:
    connection.execute("select stepwell.fn_principal_set(1, 'service', %s, array['admin'])", (name,))
    row = connection.execute(
        "select token from stepwell.fn_token_create(1, %s, 'bench', 86400)", (name,)
    ).fetchone()
    assert row is not None
    return str(row[0])


@contextmanager
def _serving(database_url: str) -> Iterator[tuple[int, int]]:
    """Port and number of a server process."""
    env = {**os.environ, "STEPWELL_DATABASE_URL": database_url, "STEPWELL_API_REQUESTS_PER_SECOND": "100000"}
    process = subprocess.Popen(
        [sys.executable, "-m", "stepwell", "serve", "--port", "0"],
        cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert found is not None, "the server did not start"
        yield int(found[1]), process.pid
    finally:
        process.terminate()
        process.wait(60)


async def _ask(
    port: int, token: str, path: str, clients: int, count: int, pid: int, meter: Meter
) -> dict[str, float]:
    """So many requests of so many clients, each on one connection, one after the other."""
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    took: list[float] = []

    async def client(requests: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(requests):
            began = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 "), head
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            assert length is not None
            await reader.readexactly(int(length[1]))
            took.append(time.perf_counter() - began)
        writer.close()

    await asyncio.gather(*(client(2) for _ in range(clients)))
    took.clear()
    read, before, began = meter.read(), _cpu_seconds(pid), time.perf_counter()
    await asyncio.gather(*(client(count // clients) for _ in range(clients)))
    seconds = time.perf_counter() - began
    ranked = sorted(took)
    return {
        "per_second": len(took) / seconds,
        "p50_ms": ranked[len(ranked) // 2] * 1e3,
        "p99_ms": ranked[min(len(ranked) - 1, int(len(ranked) * 0.99))] * 1e3,
        "server_cpu_ms": (_cpu_seconds(pid) - before) * 1e3 / len(took),
        "postgres_cpu_ms": (cost_between(read, meter.read(), len(took))["postgres_cpu_us"] or 0.0) / 1e3,
    }


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _w1(
    database_url: str, port: int, server_pid: int, tokens: list[str], *, quick: bool
) -> dict[str, Any]:
    """Five W1 (200 runs × 10 steps), with no stream and with 100 that follow all runs, in turn on one server.

    Rates depend on who else uses the machine, so each round with streams is compared with the one before it;
    the CPU of PostgreSQL and of the worker for each step does not. That of PostgreSQL has what the streams
    read; that of the server and of the clients of the streams is apart, and slows the rate where there are
    few cores.
    """
    each = QUICK_W1_RUNS if quick else W1_RUNS
    runs = each * (QUICK_W1_AT_ONCE if quick else W1_AT_ONCE)
    flow = shapes.chain(10)
    app = App(database_url=database_url)

    @app.operation(name="step")
    async def step() -> None: ...

    app.publish(flow)
    rounds: dict[int, list[dict[str, float]]] = {0: [], STREAMS: []}
    meter = Meter(database_url)
    async with app:
        # The first round of each kind is a rehearsal.
        for number in range(2 * (QUICK_W1_ROUNDS if quick else W1_ROUNDS) + 2):
            count = STREAMS * (number % 2)
            started: list[Any] = []
            while len(started) < runs:
                started += await app.start_many(flow.name, [{} for _ in range(each)])
            ids = [handle.id for handle in started]
            # Streams are opened and closed in a thread: the loop of the app goes on meanwhile.
            streams = await asyncio.to_thread(_Following, port, tokens, ids, count)
            server_before, before = _cpu_seconds(server_pid), await asyncio.to_thread(meter.read)
            async with Worker(app):
                for handle in started:
                    await handle.result()
            after, server_after = await asyncio.to_thread(meter.read), _cpu_seconds(server_pid)
            await asyncio.to_thread(streams.close)
            if number > 1:
                cost = cost_between(before, after, runs * 10)
                rate = await asyncio.to_thread(_steps_per_second, database_url, ids)
                rounds[count].append(
                    {
                        "per_second": rate,
                        "cpu_us": (cost["postgres_cpu_us"] or 0.0) + (cost["python_cpu_us"] or 0.0),
                        "server_cpu_us": (server_after - server_before) * 1e6 / (runs * 10),
                    }
                )
    meter.close()
    without, beside = (
        {name: statistics.median(one[name] for one in rounds[count]) for name in rounds[count][0]}
        for count in (0, STREAMS)
    )
    return {
        "rounds": rounds,
        "without": without,
        "with": beside,
        "ratio": statistics.median(
            beside["per_second"] / without["per_second"]
            for without, beside in zip(rounds[0], rounds[STREAMS], strict=True)
        ),
        "cpu_ratio": beside["cpu_us"] / without["cpu_us"],
    }


class _Following:
    """So many streams in a process of their own; together they follow all runs."""

    def __init__(self, port: int, tokens: list[str], run_ids: list[int], count: int) -> None:
        self._process: subprocess.Popen[str] | None = None
        if count == 0:
            return
        each = -(-len(run_ids) // count)
        parts = [run_ids[at : at + each] for at in range(0, len(run_ids), each)]
        topics = [",".join(f"run:{run_id}" for run_id in parts[at % len(parts)]) for at in range(count)]
        order = {"port": port, "tokens": tokens, "paths": [f"/api/v1/stream?topics={one}" for one in topics]}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.following", json.dumps(order)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        opened = self._said()
        assert opened == str(count), f"{opened or 'none'} of {count} streams are open"

    def close(self) -> None:
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        got = self._said()
        assert int(got or 0) > 0, "the streams got nothing"
        self._process.wait(60)

    def _said(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def _steps_per_second(database_url: str, run_ids: list[int]) -> float:
    """By the log itself: from the first step that began to the last that ended."""
    with psycopg.connect(database_url) as connection:
        row = connection.execute(
            "select count(*) filter (where event_type = 'step.completed')"
            " / extract(epoch from max(at) - min(at) filter (where event_type = 'step.started'))"
            " from stepwell.event_log where tenant_id = 1 and run_id = any (%s)"
            " and event_type like 'step.%%'",
            (run_ids,),
        ).fetchone()
    assert row is not None
    return float(row[0])


def missed(result: dict[str, Any]) -> list[str]:
    """The wanted figures that were not reached, each with what was measured."""
    found = {
        "list_per_second": result["list"]["per_second"],
        "list_p99_ms": result["list"]["p99_ms"],
        "snapshot_p99_ms": result["snapshot"]["p99_ms"],
        "layout_p50_ms": result["layout"]["p50_ms"],
        "w1_ratio": result["w1"]["ratio"],
        "w1_cpu_ratio": result["w1"]["cpu_ratio"],
    }
    return below(WANTED, found, at_least={"list_per_second", "w1_ratio"})


def markdown(result: dict[str, Any]) -> str:
    beside, without = result["w1"]["with"], result["w1"]["without"]
    rows = [
        (
            f"list of 50 runs, {CLIENTS} clients",
            "{per_second:,.0f} requests/s, p50 {p50_ms:.1f} ms, p99 {p99_ms:.1f} ms,"
            " CPU each: server {server_cpu_ms:.2f} ms, PostgreSQL {postgres_cpu_ms:.2f} ms".format(
                **result["list"]
            ),
            f"≥ {WANTED['list_per_second']}/s, p99 ≤ {WANTED['list_p99_ms']} ms",
        ),
        (
            f"snapshot of {result['steps']:,} steps",
            "p50 {p50_ms:.1f} ms, p99 {p99_ms:.1f} ms,"
            " CPU each: server {server_cpu_ms:.2f} ms, PostgreSQL {postgres_cpu_ms:.2f} ms".format(
                **result["snapshot"]
            ),
            f"≤ {WANTED['snapshot_p99_ms']} ms",
        ),
        (
            f"drawing of {result['steps']:,} steps",
            "p50 {p50_ms:.1f} ms, slowest {slowest_ms:.1f} ms".format(**result["layout"]),
            f"≤ {WANTED['layout_p50_ms']} ms",
        ),
        (
            f"W1 while {STREAMS} streams follow its runs",
            f"{beside['per_second']:,.0f} steps/s, without {without['per_second']:,.0f}"
            f" (ratio {result['w1']['ratio']:.2f})",
            f"≥ {WANTED['w1_ratio']}",
        ),
        (
            "the same in CPU of PostgreSQL and worker for each step",
            f"{beside['cpu_us']:,.0f} µs, without {without['cpu_us']:,.0f}"
            f" (ratio {result['w1']['cpu_ratio']:.2f}); the server itself {beside['server_cpu_us']:,.0f} µs",
            f"≤ {WANTED['w1_cpu_ratio']}",
        ),
    ]
    return "\n".join(
        [
            f"HTTP, one server process, {result['past_runs']:,} ended runs in the tables:",
            "",
            "| what | measured | wanted |",
            "|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in rows),
            "",
            verdict(missed(result)),
            "",
        ]
    )
