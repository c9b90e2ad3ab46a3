"""The calls of a worker on one connection: register, claim, report, heartbeat, checkpoint, close.

Receives plain lists, hands on leases. Columns come back in the order of the type stepwell.job_lease.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import TupleRow

Connection = psycopg.AsyncConnection[TupleRow]


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


async def register(
    connection: Connection,
    name: str,
    classes: Sequence[str],
    slot_count: int,
    lease_seconds: int,
    info: dict[str, Any],
) -> int:
    cursor = await connection.execute(
        "select stepwell.fn_worker_register(%s, %s, %s, %s, %s::jsonb)",
        (name, list(classes), slot_count, lease_seconds, json.dumps(info)),
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def claim(connection: Connection, session_id: int, limit: int) -> list[Lease]:
    cursor = await connection.execute("select * from stepwell.fn_job_claim(%s, %s)", (session_id, limit))
    return [Lease._make(row) for row in await cursor.fetchall()]


async def report_and_claim(
    connection: Connection, session_id: int, reports: Sequence[Report], limit: int
) -> list[Lease]:
    """Rows of kind `lease` are new leases, rows of kind `refused` are reports that came too late."""
    tenant_ids, unit_ids, lease_nos, outcomes, bodies = map(list, zip(*reports, strict=True))
    cursor = await connection.execute(
        "select * from stepwell.fn_job_report(%s, %s::int[], %s::bigint[], %s::int[], %s, %s::text[], %s)",
        (session_id, tenant_ids, unit_ids, lease_nos, outcomes, bodies, limit),
    )
    return [Lease._make(row) for row in await cursor.fetchall()]


async def heartbeat(
    connection: Connection, session_id: int, held: Sequence[tuple[int, int, int]], last_batch_id: int
) -> list[Lost]:
    """`held` are (tenant_id, unit_id, lease_no) of everything in hand."""
    cursor = await connection.execute(
        "select * from stepwell.fn_worker_heartbeat(%s, %s::int[], %s::bigint[], %s::int[], %s)",
        (
            session_id,
            [item[0] for item in held],
            [item[1] for item in held],
            [item[2] for item in held],
            last_batch_id,
        ),
    )
    return [Lost._make(row) for row in await cursor.fetchall()]


async def save_checkpoint(
    connection: Connection, session_id: int, lease: Lease, name: str, value: str
) -> Any:
    cursor = await connection.execute(
        "select stepwell.fn_checkpoint_save(%s, %s, %s, %s, %s, %s::jsonb)",
        (session_id, lease.tenant_id, lease.unit_id, lease.lease_no, name, value),
    )
    row = await cursor.fetchone()
    assert row is not None
    return row[0]


async def emit(connection: Connection, session_id: int, lease: Lease, event_type: str, payload: str) -> None:
    await connection.execute(
        "select stepwell.fn_event_emit(%s, %s, %s, %s, %s, %s::jsonb)",
        (session_id, lease.tenant_id, lease.unit_id, lease.lease_no, event_type, payload),
    )


async def close(connection: Connection, session_id: int) -> int:
    cursor = await connection.execute("select stepwell.fn_worker_close(%s)", (session_id,))
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])
