"""Measure with finished runs: whether claiming becomes slower when the tables hold many finished runs.

Receives a fresh database URL; returns CPU and time per unit of claim and report before and after the finished
runs were written. SQL copies one finished run: for the indexes it does not matter how the rows were made.
"""

from __future__ import annotations

from typing import Any

import psycopg

from bench import shapes
from bench.engine import Load, drain, fill, open_session
from bench.meter import Meter, cost_between
from stepwell.define import Operation, Workflow

FINISHED_RUNS = 100_000
QUICK_FINISHED_RUNS = 500
MEASURED_RUNS = 200
QUICK_MEASURED_RUNS = 5
BATCH = 100
REPEATS = 5
SLOWER_WITHIN = 1.2
PAST_FLOW = Workflow("bench.past", Operation("step"))

# The columns that contain the number of the run, and the expression for a copy.
_SHIFTED = {
    "run_detail": {"run_id": "t.run_id + g"},
    "run_progress": {"run_id": "t.run_id + g"},
    "work_unit": {"unit_id": "t.unit_id + (g << 20)"},
    "event_log": {
        "run_id": "t.run_id + g",
        "unit_id": "t.unit_id + (g << 20)",
        "event_id": "nextval('stepwell.event_seq')",
    },
}
_OF_RUN = {
    "run_detail": "t.run_id = %(run)s",
    "run_progress": "t.run_id = %(run)s",
    "work_unit": "t.unit_id >> 20 = %(run)s::bigint",
    "event_log": "t.run_id = %(run)s",
}


def measure(database_url: str, *, quick: bool) -> dict[str, Any]:
    load = Load("history", shapes.chain(10), QUICK_MEASURED_RUNS if quick else MEASURED_RUNS, BATCH)
    finished = QUICK_FINISHED_RUNS if quick else FINISHED_RUNS
    meter = Meter(database_url)
    try:
        with psycopg.connect(database_url, autocommit=True, prepare_threshold=1) as connection:
            session_key = open_session(connection)
            fill(connection, load, load.count)
            drain(connection, session_key, load.batch)
            empty = _cheapest(connection, meter, session_key, load)
            write_past(connection, session_key, finished)
            full = _cheapest(connection, meter, session_key, load)
    finally:
        meter.close()
    return {"finished_runs": finished, "empty": empty, "full": full}


def _cheapest(
    connection: psycopg.Connection[Any], meter: Meter, session_key: int, load: Load
) -> dict[str, Any]:
    """The lowest of a few repeats: other load on the machine can only make a number higher."""
    found: list[dict[str, Any]] = []
    for _ in range(REPEATS):
        fill(connection, load, load.count)
        before = meter.read()
        units = drain(connection, session_key, load.batch)
        after = meter.read()
        seconds_us = (after.at_seconds - before.at_seconds) * 1e6 / units
        found.append({"elapsed_us": seconds_us, **cost_between(before, after, units)})
    return {
        key: min((one[key] for one in found if one[key] is not None), default=None)
        for key in ("elapsed_us", "postgres_cpu_us")
    }


def write_past(connection: psycopg.Connection[Any], session_key: int, runs: int) -> None:
    """Writes copies of one finished one-step run; later runs get higher numbers."""
    fill(connection, Load("past", PAST_FLOW, 1, 1), 1)
    drain(connection, session_key, 1)
    row = connection.execute("select max(run_id) from stepwell.run_detail").fetchone()
    assert row is not None
    for table, shifted in _SHIFTED.items():
        columns = connection.execute(
            "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0"
            " and not attisdropped and attgenerated = '' order by attnum",
            [f"stepwell.{table}"],
        ).fetchall()
        names = ", ".join(name for (name,) in columns)
        values = ", ".join(shifted.get(name, f"t.{name}") for (name,) in columns)
        connection.execute(
            f"insert into stepwell.{table} ({names}) select {values} from stepwell.{table} as t"
            f" cross join generate_series(1::bigint, %(runs)s) as g where {_OF_RUN[table]}",
            {"run": row[0], "runs": runs},
        )
    connection.execute("select setval('stepwell.run_seq', %s)", [row[0] + runs + 1])
    connection.execute("vacuum analyze")


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"Claim and report with {result['finished_runs']:,} finished runs in the tables (at most "
        f"{SLOWER_WITHIN}× is wanted):",
        "",
        "| number, µs a step | without finished runs | with them | ratio |",
        "|---|---|---|---|",
    ]
    for key, label in (("elapsed_us", "elapsed"), ("postgres_cpu_us", "Postgres CPU")):
        before, after = result["empty"][key], result["full"][key]
        if before and after:
            lines.append(f"| {label} | {before:,.0f} | {after:,.0f} | {after / before:.2f}× |")
    return "\n".join(lines) + "\n"
