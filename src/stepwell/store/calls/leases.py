"""The calls of a worker: claim and report on a wire; register, heartbeat, checkpoint, close on a connection.

Receives plain lists, hands on leases. Columns come back in the order of the type stepwell.job_lease.
Everything the database raises comes out as one of our own errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import TupleRow

from stepwell import json_text
from stepwell.errors import from_database
from stepwell.store.connection import arrays
from stepwell.store.connection.wire import Connection, Wire


class Lease(NamedTuple):
    """One unit leased to this worker, with all its handler needs."""

    row_kind: str
    tenant_id: int
    unit_id: int
    lease_no: int
    batch_id: int
    operation_name: str
    attempt: int
    max_attempts: int
    timeout_seconds: float | None
    step_id: str | None
    input: dict[str, Any] | None
    bound_input: dict[str, Any] | None
    wake: dict[str, Any] | None
    checkpoints: dict[str, Any] | None
    trace_id: str | None
    correlation_id: str | None
    deadline_at: datetime | None


class Report(NamedTuple):
    """One outcome on its way back; `body` is a JSON text or nothing."""

    tenant_id: int
    unit_id: int
    lease_no: int
    outcome: str
    body: str | None


class Lost(NamedTuple):
    unit_id: int
    lease_no: int
    reason: str


async def _rows(connection: Connection, text: str, parameters: Sequence[Any]) -> list[TupleRow]:
    try:
        cursor = await connection.execute(text, parameters)
        return await cursor.fetchall()
    except psycopg.Error as error:
        raise from_database(error) from error


def _written(value: str | int | list[str] | None) -> bytes | None:
    """What Postgres reads as this value."""
    if value is None:
        return None
    try:
        return (arrays.of_texts(value) if isinstance(value, list) else str(value)).encode()
    except UnicodeEncodeError as error:
        # Half a surrogate pair: the fault of one caller, and no reason for a worker to stop.
        raise from_database(psycopg.DataError(str(error))) from error


async def register(
    connection: Connection,
    name: str,
    executors: Sequence[str],
    slot_count: int,
    lease_seconds: int,
    info: dict[str, Any],
) -> int:
    rows = await _rows(
        connection,
        "select stepwell.fn_worker_register(%s, %s, %s, %s, %s::jsonb)",
        (name, list(executors), slot_count, lease_seconds, json_text.encode(info, "info")),
    )
    return int(rows[0][0])


async def claim(wire: Wire, session_id: int, limit: int) -> list[Lease]:
    return await wire.rows(
        "select * from stepwell.fn_job_claim($1::bigint, $2::int)",
        (b"%d" % session_id, b"%d" % limit),
        Lease._make,
    )


async def start_and_claim(
    wire: Wire, session_id: int, limit: int, parameters: tuple[Any, ...]
) -> list[Lease]:
    """Parameters as `calls.start_runs` has them. First a row of kind `started`, then new leases."""
    return await wire.rows(
        "select * from stepwell.fn_run_start_here($1, $2, $3, $4, $5::text[]::jsonb[], $6, $7, $8, $9, $10,"
        " $11, $12, $13)",
        (b"%d" % session_id, b"%d" % limit, *map(_written, parameters)),
        Lease._make,
    )


async def report_and_claim(wire: Wire, session_id: int, reports: Sequence[Report], limit: int) -> list[Lease]:
    """Rows of kind `lease` are new leases, rows of kind `refused` are reports that came too late."""
    tenant_ids, unit_ids, lease_nos, outcomes, bodies = zip(*reports, strict=True)
    return await wire.rows(
        "select * from stepwell.fn_job_report($1::bigint, $2::int[], $3::bigint[], $4::int[], $5::text[],"
        " $6::text[], $7::int)",
        (
            b"%d" % session_id,
            _written(arrays.of_numbers(tenant_ids)),
            _written(arrays.of_numbers(unit_ids)),
            _written(arrays.of_numbers(lease_nos)),
            _written(arrays.of_texts(outcomes)),
            _written(arrays.of_texts(bodies)),
            b"%d" % limit,
        ),
        Lease._make,
    )


async def heartbeat(
    connection: Connection, session_id: int, held: Sequence[tuple[int, int, int]], last_batch_id: int
) -> list[Lost]:
    """`held` are (tenant_id, unit_id, lease_no) of everything in hand."""
    rows = await _rows(
        connection,
        "select * from stepwell.fn_worker_heartbeat(%s, %s::int[], %s::bigint[], %s::int[], %s)",
        (
            session_id,
            [item[0] for item in held],
            [item[1] for item in held],
            [item[2] for item in held],
            last_batch_id,
        ),
    )
    return [Lost._make(row) for row in rows]


async def leased_since(wire: Wire, session_id: int, batch_id: int) -> list[tuple[int, int, int]]:
    """What the session holds by claims after this batch: (tenant_id, unit_id, lease_no)."""
    return await wire.rows(
        "select distinct u.tenant_id, u.unit_id, u.lease_no from stepwell.worker_lease as l"
        " cross join lateral unnest(l.tenant_ids, l.unit_ids) as q (tenant_id, unit_id)"
        " inner join stepwell.work_unit as u on q.tenant_id = u.tenant_id and q.unit_id = u.unit_id"
        " where l.session_id = $1 and l.batch_id > $2 and u.lease_session_id = l.session_id",
        (b"%d" % session_id, b"%d" % batch_id),
        lambda row: (row[0], row[1], row[2]),
    )


async def save_checkpoint(
    connection: Connection, session_id: int, lease: Lease, name: str, value: str
) -> Any:
    rows = await _rows(
        connection,
        "select stepwell.fn_checkpoint_save(%s, %s, %s, %s, %s, %s::jsonb)",
        (session_id, lease.tenant_id, lease.unit_id, lease.lease_no, name, value),
    )
    return rows[0][0]


async def emit(connection: Connection, session_id: int, lease: Lease, event_type: str, payload: str) -> None:
    await _rows(
        connection,
        "select stepwell.fn_event_emit(%s, %s, %s, %s, %s, %s::jsonb)",
        (session_id, lease.tenant_id, lease.unit_id, lease.lease_no, event_type, payload),
    )


async def close(connection: Connection, session_id: int) -> int:
    rows = await _rows(connection, "select stepwell.fn_worker_close(%s)", (session_id,))
    return int(rows[0][0])
