"""Measure the rebuild: how long it takes to derive the state of a 2,000-step run from its stored log.

Receives the server; returns the time to read the rows and the time to fold them into statuses, for a chain,
a fan-out and random layers. The rebuilt state must be equal to the stored state.
"""

from __future__ import annotations

import time
from typing import Any

import psycopg

from bench import shapes
from bench.engine import Load, drain, fill, open_session
from bench.server import BenchServer
from stepwell.define import Graph, freeze
from stepwell.reactive import NodeStatus, Projection
from stepwell.reactive.event_log import LogRow, UnitRow, call_events, paths_of

STEPS = 2000
QUICK_STEPS = 40
BATCH = 100
REPEATS = 5
LIMIT_MS = 250.0

_UNITS = """
select unit_id, def_no, parent_id, item_no from stepwell.work_unit
where tenant_id = 1 and scope = 'step' and unit_id >> 20 = %s order by unit_id
"""
_LOG = """
select e.unit_id, e.request_id, e.event_type, e.to_state, o.output
from stepwell.event_log as e
left join stepwell.unit_output as o on e.to_state = 'completed'
    and o.tenant_id = e.tenant_id and o.unit_id = e.unit_id and o.lease_no = e.request_id
where e.tenant_id = 1 and e.run_id = %s
order by e.event_id
"""


def measure(server: BenchServer, *, quick: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for shape in ("chain", "fan", "layers"):
        with server.fresh_database(f"rebuild_{shape}", is_migrated=True) as url:
            result[shape] = _measure(url, shape, QUICK_STEPS if quick else STEPS)
    return result


def _measure(url: str, shape: str, steps: int) -> dict[str, Any]:
    flow, _ = shapes.of(shape, steps)
    graph = freeze(flow)
    with psycopg.connect(url, autocommit=True) as connection:
        session_key = open_session(connection)
        fill(connection, Load(shape, flow, 1, BATCH), 1)
        drain(connection, session_key, BATCH)
        connection.execute("vacuum analyze")
        row = connection.execute("select max(run_id) from stepwell.run_detail").fetchone()
        assert row is not None
        found = [_rebuild(connection, graph, row[0]) for _ in range(REPEATS)]
    # The lowest of a few repeats: other load on the machine can only make a number higher.
    return {"steps": steps, **{key: min(one[key] for one in found) for key in found[0]}}


def _rebuild(connection: psycopg.Connection[Any], graph: Graph, run_id: int) -> dict[str, Any]:
    begun = time.perf_counter()
    units = [UnitRow(*row) for row in connection.execute(_UNITS, [run_id])]
    rows = [LogRow(*row) for row in connection.execute(_LOG, [run_id])]
    read = time.perf_counter()
    projection = Projection(graph)
    for event in call_events(graph, paths_of(graph, units), rows):
        projection.append(event)
    folded = time.perf_counter()
    if set(projection.statuses().values()) != {NodeStatus.COMPLETED}:
        raise SystemExit("bench: the rebuilt run has not completed, the stored one has")
    return {"events": len(rows), "read_ms": (read - begun) * 1e3, "rebuild_ms": (folded - read) * 1e3}


def markdown(result: dict[str, Any]) -> str:
    lines = [
        f"State of a run rebuilt from its stored log (under {LIMIT_MS:.0f} ms is wanted):",
        "",
        "| shape | steps | events | rebuild ms | reading the log ms |",
        "|---|---|---|---|---|",
    ]
    for shape, cell in result.items():
        lines.append(
            f"| {shape} | {cell['steps']:,} | {cell['events']:,} | {cell['rebuild_ms']:,.1f} "
            f"| {cell['read_ms']:,.1f} |"
        )
    return "\n".join(lines) + "\n"
