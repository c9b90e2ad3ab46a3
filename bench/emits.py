"""Emit graphs of jobs and drain them, beside plain jobs: receives a database, returns rates and their ratio.

Both make 1,000 jobs in one call and one commit, in turns on the same database; the jobs of both are claimed
and reported in batches by one session. CPU of Postgres is compared: a busy machine changes times, not work.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from bench.meter import Meter

JOBS = 1_000
QUICK_JOBS = 100
ROUNDS = 7
QUICK_ROUNDS = 2
BATCH = 100


def measure(database_url: str, *, quick: bool) -> dict[str, Any]:
    count, rounds = (QUICK_JOBS, QUICK_ROUNDS) if quick else (JOBS, ROUNDS)
    with psycopg.connect(database_url, autocommit=True, prepare_threshold=2) as connection:
        meter = Meter(database_url)
        try:
            return _measure(connection, meter, count, rounds)
        finally:
            meter.close()


def _measure(connection: psycopg.Connection[Any], meter: Meter, count: int, rounds: int) -> dict[str, Any]:
    flat = [{"local_id": f"j{at}", "job_kind": "bench"} for at in range(count)]
    width = max(count // 10, 1)
    layered = [{**job, "parents": [f"j{at - width}"]} if at >= width else job for at, job in enumerate(flat)]
    connection.execute("select stepwell.fn_person_set(1, 'planner', array['MOT_template_generator'])")
    for name, jobs in (("flat", flat), ("layered", layered)):
        template = Jsonb({"template_id": name, "jobs": jobs})
        connection.execute("select stepwell.fn_job_template_register(1, %s, 'bench')", (template,))
    session = connection.execute(
        "select stepwell.fn_worker_register('bench', array['default'], 1000, 3600)"
    ).fetchone()[0]  # type: ignore[index]
    payloads = [Jsonb({})] * count
    numbers = iter(range(10**9))

    def keys() -> list[str]:
        turn = next(numbers)
        return [f"bench:{turn}:{at}" for at in range(count)]

    emit = "select stepwell.fn_mot_graph_emit(1, %s, '{}', p_actor => 'planner')"
    enqueue = "select count(*) from stepwell.fn_job_enqueue(1, 'bench', %s::jsonb[], %s)"
    makers: dict[str, Callable[[], object]] = {
        "plain jobs with keys": lambda: connection.execute(enqueue, (payloads, keys())).fetchone(),
        "graph without parents": lambda: connection.execute(emit, ("flat",)).fetchone(),
        "graph of ten layers": lambda: connection.execute(emit, ("layered",)).fetchone(),
    }
    found: dict[str, dict[str, list[float]]] = {name: {"make": [], "drain": [], "wal": []} for name in makers}
    for _ in range(rounds + 1):
        for name, make in makers.items():
            before = meter.read()
            make()
            made = meter.read()
            _drain(connection, session)
            after = meter.read()
            found[name]["make"].append(_cpu(before, made))
            found[name]["drain"].append(_cpu(made, after))
            found[name]["wal"].append(made.wal_bytes - before.wal_bytes)
    # The first round fills caches and plans.
    cost = {
        name: {key: statistics.median(rows[1:]) for key, rows in one.items()} for name, one in found.items()
    }
    plain = cost["plain jobs with keys"]
    return {
        "jobs": count,
        "rows": {
            name: {
                "make_ms": 1000 * one["make"],
                "drain_ms": 1000 * one["drain"],
                "wal_kb": one["wal"] / 1024,
                "make_ratio": _quotient(plain["make"], one["make"]),
                "drain_ratio": _quotient(plain["drain"], one["drain"]),
            }
            for name, one in cost.items()
        },
    }


def _drain(connection: psycopg.Connection[Any], session: int) -> None:
    claim = "select unit_id, lease_no from stepwell.fn_job_claim(%s, %s)"
    report = "select stepwell.fn_job_report(%s, %s::int[], %s::bigint[], %s::int[], %s::text[], %s::text[])"
    while rows := connection.execute(claim, (session, BATCH)).fetchall():
        size = len(rows)
        units, leases = [row[0] for row in rows], [row[1] for row in rows]
        done = (session, [1] * size, units, leases, ["completed"] * size, [None] * size)
        connection.execute(report, done).fetchall()


def _cpu(before: Any, after: Any) -> float:
    """Without the counters of a distant server, the time."""
    if before.postgres_cpu_seconds is None or after.postgres_cpu_seconds is None:
        return float(after.at_seconds - before.at_seconds)
    return float(after.postgres_cpu_seconds - before.postgres_cpu_seconds)


def _quotient(plain: float, ours: float) -> float | None:
    return plain / ours if ours > 0 else None


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"Emit of a graph of {result['jobs']:,} jobs beside `fn_job_enqueue` of as many plain jobs, "
        "and the drain of both by one session: CPU of Postgres, the median, in turns. "
        "A ratio above 1 is faster than plain jobs.",
        "",
        "| what | make, ms | drain, ms | WAL to make, KB | make, ratio | drain, ratio |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in result["rows"].items():
        ratios = ["" if row[key] is None else f"{row[key]:.2f}" for key in ("make_ratio", "drain_ratio")]
        cells = [f"{row[key]:,.0f}" for key in ("make_ms", "drain_ms", "wal_kb")]
        lines.append(f"| {name} | {' | '.join(cells + ratios)} |")
    return "\n".join(lines) + "\n"
