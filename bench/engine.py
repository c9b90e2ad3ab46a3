"""Measure the engine alone: one connection claims and reports through the SQL functions, without a worker.

Receives the server; returns units/s, the cost of a unit, and the time that each routine takes of it. The
difference to the workloads is what the worker adds.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import psycopg

from bench import shapes
from bench.meter import Meter, cost_between
from bench.server import BenchServer
from bench.workloads import BUDGET_SECONDS
from stepwell.define import Workflow, freeze

START_CHUNK = 1000
ROUTINES_SHOWN = 8
WARM_UP_RUNS = 20

_REGISTER = 'select stepwell.fn_operation_register(1, \'[{"name": "step"}]\')'
_SESSION = "select stepwell.fn_worker_register('bench', array['default'], 1000, 3600)"
_PUBLISH = "select stepwell.fn_workflow_publish(1, %s, 'bench')"
_START = "select count(*) from stepwell.fn_run_start(1, %s, array_fill('{}'::jsonb, array[%s]))"
_ENQUEUE = """
select count(*) from stepwell.fn_job_enqueue(1, 'step', array_fill('{"n": 1}'::jsonb, array[%s]))
"""
_CLAIM = "select tenant_id, unit_id, lease_no from stepwell.fn_job_claim(%s, %s)"
_REPORT = """
select tenant_id, unit_id, lease_no
from stepwell.fn_job_report(%s, %s::int[], %s::bigint[], %s::int[], %s::text[], %s::text[], %s)
where row_kind = 'lease'
"""
_ROUTINES = """
select funcname, self_time from pg_stat_user_functions
where schemaname = 'stepwell' order by self_time desc limit %s
"""


@dataclass(frozen=True)
class Load:
    """The work in the database before the measurement starts; without a workflow it is free-standing jobs."""

    label: str
    workflow: Workflow | None
    count: int
    batch: int


def loads(*, quick: bool) -> list[Load]:
    scale = 20 if quick else 1
    return [
        Load("W1", shapes.chain(10), 200 // scale, 100),
        Load("W1b", shapes.chain(10), 2000 // scale, 500),
        Load("W3", shapes.fan(100 // scale), 60 // scale, 100),
        Load("W2", None, 10_000 // scale, 100),
    ]


def measure(server: BenchServer, *, quick: bool) -> list[dict[str, Any]]:
    results = []
    for load in loads(quick=quick):
        with server.fresh_database(f"engine_{load.label}", is_migrated=True) as url:
            results.append(_measure(url, load))
    return results


def _measure(url: str, load: Load) -> dict[str, Any]:
    meter = Meter(url)
    try:
        with psycopg.connect(url, autocommit=True, prepare_threshold=1) as connection:
            session_key = open_session(connection)
            fill(connection, load, WARM_UP_RUNS)
            drain(connection, session_key, load.batch)
            start_seconds = fill(connection, load, load.count)
            before = meter.read()
            units = drain(connection, session_key, load.batch)
            after = meter.read()
            seconds = after.at_seconds - before.at_seconds
            return {
                "label": load.label,
                "batch": load.batch,
                "units": units,
                "units_per_second": units / seconds,
                "started_per_second": load.count / start_seconds,
                "per_unit": cost_between(before, after, units),
                "routine_us": _routine_times(connection, load, session_key),
            }
    finally:
        meter.close()


def _routine_times(connection: psycopg.Connection[Any], load: Load, session_key: int) -> dict[str, float]:
    """Self time per unit of the slowest routines, in a second pass: to count the time takes time."""
    connection.execute("set track_functions = 'all'")
    fill(connection, load, load.count)
    units = drain(connection, session_key, load.batch)
    connection.execute("select pg_stat_force_next_flush()")
    rows = connection.execute(_ROUTINES, [ROUTINES_SHOWN]).fetchall()
    return {name: self_ms * 1000 / units for name, self_ms in rows}


def open_session(connection: psycopg.Connection[Any]) -> int:
    connection.execute(_REGISTER)
    return _scalar(connection, _SESSION)


def fill(connection: psycopg.Connection[Any], load: Load, count: int) -> float:
    begun = time.perf_counter()
    if load.workflow is None:
        _scalar(connection, _ENQUEUE, count)
        return time.perf_counter() - begun
    graph = freeze(load.workflow)
    connection.execute(_PUBLISH, [graph.canonical.decode()])
    begun = time.perf_counter()
    for low in range(0, count, START_CHUNK):
        _scalar(connection, _START, load.workflow.name, min(START_CHUNK, count - low))
    return time.perf_counter() - begun


def drain(
    connection: psycopg.Connection[Any], session_key: int, batch: int, *, until: int | None = None
) -> int:
    """Claims and reports until nothing is claimable or so many are done; raises after BUDGET_SECONDS."""
    units = 0
    deadline = time.perf_counter() + BUDGET_SECONDS
    rows = connection.execute(_CLAIM, [session_key, batch]).fetchall()
    while rows:
        if time.perf_counter() > deadline:
            raise SystemExit(f"bench: after {BUDGET_SECONDS:.0f} s and {units} units there is still work")
        units += len(rows)
        tenant_ids, unit_ids, lease_nos = (list(column) for column in zip(*rows, strict=True))
        outcomes, bodies = ["completed"] * len(rows), [None] * len(rows)
        wanted = batch if until is None or units + batch <= until else 0
        arguments = [session_key, tenant_ids, unit_ids, lease_nos, outcomes, bodies, wanted]
        rows = connection.execute(_REPORT, arguments).fetchall()
    return units


def complete_once(connection: psycopg.Connection[Any], session_key: int, count: int) -> int:
    """Claims so many units and completes them in one commit; claims none after them."""
    rows = connection.execute(_CLAIM, [session_key, count]).fetchall()
    tenant_ids, unit_ids, lease_nos = (list(column) for column in zip(*rows, strict=True))
    outcomes, bodies = ["completed"] * len(rows), [None] * len(rows)
    connection.execute(_REPORT, [session_key, tenant_ids, unit_ids, lease_nos, outcomes, bodies, 0])
    return len(rows)


def _scalar(connection: psycopg.Connection[Any], query: str, *parameters: Any) -> int:
    row = connection.execute(query, parameters).fetchone()
    assert row is not None
    value: int = row[0]
    return value


def markdown(results: list[dict[str, Any]]) -> str:
    lines = [
        "The engine alone (claim and report in SQL, one connection, work loaded before):",
        "",
        "| load | batch | units/s | starts/s | Postgres CPU µs | WAL bytes | slowest routines, µs a unit |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in results:
        cost = result["per_unit"]
        cpu = "" if cost["postgres_cpu_us"] is None else f"{cost['postgres_cpu_us']:,.0f}"
        routines = ", ".join(f"{name} {us:.0f}" for name, us in result["routine_us"].items())
        lines.append(
            f"| {result['label']} | {result['batch']} | {result['units_per_second']:,.0f} "
            f"| {result['started_per_second']:,.0f} | {cpu} | {cost['wal_bytes']:,.0f} | {routines} |"
        )
    return "\n".join(lines) + "\n"
