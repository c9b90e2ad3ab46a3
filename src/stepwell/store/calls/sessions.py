"""The session of a worker: register, heartbeat, checkpoints and events of its handlers, close.

Every database error becomes a StepwellError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import TupleRow

from stepwell import json_text
from stepwell.errors import from_database
from stepwell.handler_progress import Progress
from stepwell.store.calls.leases import Lease, LeaseKey
from stepwell.store.connection.call import Call, value
from stepwell.store.connection.wire import Connection


class Lost(NamedTuple):
    """A lease that this worker has lost; without a unit (0), why it must not claim: frozen or drain."""

    unit_id: int
    lease_no: int
    reason: str


async def _rows(connection: Connection, text: str, parameters: Sequence[Any]) -> list[TupleRow]:
    try:
        cursor = await connection.execute(text, parameters)
        return await cursor.fetchall()
    except psycopg.Error as error:
        raise from_database(error) from error


async def register(
    connection: Connection,
    name: str,
    executors: Sequence[str],
    slot_count: int,
    lease_seconds: int,
    info: dict[str, Any],
    operations: Sequence[str],
    takes: Mapping[str, Sequence[str]],
) -> int:
    """The session claims only these operations. `takes`: the inputs of a handler, if it does not take all."""
    rows = await _rows(
        connection,
        "select stepwell.fn_worker_register(%s, %s, %s, %s, %s::jsonb, %s::text[], %s::jsonb)",
        (
            name,
            list(executors),
            slot_count,
            lease_seconds,
            json_text.encode(info, "info"),
            list(operations),
            json_text.encode(takes, "takes"),
        ),
    )
    return int(rows[0][0])


async def set_served(
    connection: Connection, session_key: int, operations: Sequence[str], takes: Mapping[str, Sequence[str]]
) -> None:
    """From now on the session claims these operations and no others."""
    await _rows(
        connection,
        "select stepwell.fn_worker_serves(%s, %s::text[], %s::jsonb)",
        (session_key, list(operations), json_text.encode(takes, "takes")),
    )


async def heartbeat(
    connection: Connection, session_key: int, held: Sequence[LeaseKey], last_batch_id: int
) -> list[Lost]:
    """Extend the session; `held` are all leases of the worker. Returns what is lost, and a stop."""
    rows = await _rows(
        connection,
        "select * from stepwell.fn_worker_heartbeat(%s, %s::int[], %s::bigint[], %s::int[], %s)",
        (
            session_key,
            [item[0] for item in held],
            [item[1] for item in held],
            [item[2] for item in held],
            last_batch_id,
        ),
    )
    return [Lost._make(row) for row in rows]


async def save_checkpoint(
    connection: Connection, session_key: int, lease: Lease, name: str, value: str
) -> Any:
    rows = await _rows(
        connection,
        "select stepwell.fn_checkpoint_save(%s, %s, %s, %s, %s, %s::jsonb)",
        (session_key, lease.tenant_id, lease.unit_id, lease.lease_no, name, value),
    )
    return rows[0][0]


def evaluate(session_key: int, lease: Lease) -> Call[dict[str, Any]]:
    """The value of the costly expressions of a leased step, or their problem; neither if nothing is found."""
    return Call(
        "select stepwell.fn_expression_evaluate(%s, %s, %s, %s)",
        (session_key, lease.tenant_id, lease.unit_id, lease.lease_no),
        value,
    )


async def save_progress(
    connection: Connection, session_key: int, said: Sequence[tuple[LeaseKey, Progress]]
) -> None:
    """Store the progress of handlers in one call; units that are not leased to this session are ignored."""
    keys, words = [key for key, _ in said], [word for _, word in said]
    await _rows(
        connection,
        "select stepwell.fn_progress_save(%s, %s::int[], %s::bigint[], %s::int[], %s::float8[], %s::float8[],"
        " %s::text[])",
        (session_key, *map(list, zip(*keys, strict=True)), *map(list, zip(*words, strict=True))),
    )


async def emit(connection: Connection, session_key: int, lease: Lease, event_type: str, payload: str) -> None:
    await _rows(
        connection,
        "select stepwell.fn_event_emit(%s, %s, %s, %s, %s, %s::jsonb)",
        (session_key, lease.tenant_id, lease.unit_id, lease.lease_no, event_type, payload),
    )


async def label(connection: Connection, session_key: int, lease: Lease, labels: str) -> dict[str, str]:
    rows = await _rows(
        connection,
        "select stepwell.fn_run_label_here(%s, %s, %s, %s, %s::jsonb)",
        (session_key, lease.tenant_id, lease.unit_id, lease.lease_no, labels),
    )
    found: dict[str, str] = rows[0][0]
    return found


async def close(connection: Connection, session_key: int) -> int:
    rows = await _rows(connection, "select stepwell.fn_worker_close(%s)", (session_key,))
    return int(rows[0][0])
