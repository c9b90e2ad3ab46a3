"""Claim, report and start on the connection of a worker: receives reports, returns leases and other answers.

The database answers with rows of one type, `stepwell.job_lease`. The first column is the kind of the row;
this module turns each kind into its own type. Every database error becomes a StepwellError.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Self

import psycopg

from stepwell.errors import StepwellError, from_database
from stepwell.store.calls.runs import RunStart, Started
from stepwell.store.connection import arrays
from stepwell.store.connection.json_values import Unreadable
from stepwell.store.connection.wire import Wire

# (tenant_id, unit_id, lease_no)
LeaseKey = tuple[int, int, int]


class Lease(NamedTuple):
    """One unit leased to this worker, with the data for its handler: the columns of the row.

    `bound_input` is a text where the inputs of the step cannot be bound: the reason. It is a list where they
    are too costly for a claim: the worker asks for them (`sessions.evaluate`).
    """

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
    bound_input: dict[str, Any] | str | list[str] | None
    wake: dict[str, Any] | None
    checkpoints: dict[str, Any] | None
    trace_id: str | None
    correlation_id: str | None
    deadline_at: datetime | None


class Refused(NamedTuple):
    """A report that came too late: the session no longer had the lease."""

    tenant_id: int
    unit_id: int
    lease_no: int


class Busy(NamedTuple):
    """A report that was not accepted because its run is locked; it may be sent again."""

    tenant_id: int
    unit_id: int
    lease_no: int


class Failed(NamedTuple):
    """A failed attempt, as the database classified it. `next` is retry, caught or none."""

    tenant_id: int
    unit_id: int
    lease_no: int
    operation_name: str
    step_id: str | None
    attempt: int
    max_attempts: int
    failure_class: str
    error: dict[str, Any]
    next: str
    next_at: datetime | None


class Ended(NamedTuple):
    """A run that ended because of a report of this call. Only a watched run has its result here."""

    tenant_id: int
    run_id: int
    is_watched: bool
    state: str
    workflow: str
    seconds: float
    result: Any


Answer = Lease | Refused | Busy | Failed | Ended


class Report(NamedTuple):
    """One outcome to send to the database; `body` is a JSON text or None."""

    tenant_id: int
    unit_id: int
    lease_no: int
    outcome: str
    body: str | None


_REPORT = (
    "select * from stepwell.fn_job_report($1::bigint, $2::int[], $3::bigint[], $4::int[], $5::text[],"
    " $6::text[], $7::int)"
)
_REPORT_FROM_TOP = f"{_REPORT[:-1]}, p_locks_up => true)"


# The JSON columns of a lease.
_READ = ("input", "inputs", "event", "checkpoints")


class LeaseCalls:
    """The calls that a worker repeats most, on a connection that nothing else uses."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    @classmethod
    async def open(cls, conninfo: str) -> Self:
        return cls(await Wire.open(conninfo))

    async def close(self) -> None:
        await self._wire.close()

    async def claim(self, session_key: int, limit: int) -> list[Lease]:
        rows = await self._wire.rows(
            "select * from stepwell.fn_job_claim($1::bigint, $2::int)",
            (b"%d" % session_key, b"%d" % limit),
            tuple,
        )
        return [_lease(row) for row in rows]

    async def claim_each(self, session_key: int, limit: int) -> list[Answer]:
        """Claim unit by unit; a unit that cannot be leased is set aside."""
        rows = await self._wire.rows(
            "select * from stepwell.fn_job_claim_each($1::bigint, $2::int)",
            (b"%d" % session_key, b"%d" % limit),
            tuple,
        )
        return [_lease(row) for row in rows]

    async def report_and_claim(
        self, session_key: int, reports: Sequence[Report], limit: int, *, locks_up: bool = False
    ) -> list[Answer]:
        """New leases, reports that came too late, attempts that failed, and runs that ended."""
        rows = await self._wire.rows(
            _REPORT_FROM_TOP if locks_up else _REPORT,
            (b"%d" % session_key, *_columns(reports), b"%d" % limit),
            tuple,
        )
        return [_lease(row) if row[0] == "lease" else _other(row) for row in rows]

    async def report_free(self, session_key: int, reports: Sequence[Report]) -> list[Answer]:
        """Report without waiting for locks: the answer for a locked run is `busy`. Claims nothing."""
        rows = await self._wire.rows(
            "select * from stepwell.fn_job_report_free($1::bigint, $2::int[], $3::bigint[], $4::int[],"
            " $5::text[], $6::text[])",
            (b"%d" % session_key, *_columns(reports)),
            tuple,
        )
        return [_other(row) for row in rows]

    async def set_aside(self, session_key: int, report: Report, error: StepwellError) -> bool:
        """Set aside the unit of a report that cannot be accepted; true if its lease has ended."""
        code = error.sqlstate if error.sqlstate is not None else error.code
        rows = await self._wire.rows(
            "select stepwell.fn_job_report_set_aside($1::bigint, $2::int, $3::bigint, $4::int, $5, $6)",
            (
                b"%d" % session_key,
                b"%d" % report.tenant_id,
                b"%d" % report.unit_id,
                b"%d" % report.lease_no,
                _written(code),
                _written(error.sentence()),
            ),
            tuple,
        )
        return bool(rows[0][0])

    async def start_and_claim(
        self, session_key: int, limit: int, start: RunStart
    ) -> tuple[Started, list[Lease]]:
        """Start one run and lease its first steps, in one commit."""
        first, *rows = await self._wire.rows(
            "select * from stepwell.fn_run_start_here($1, $2, $3, $4, $5::text[]::jsonb[], $6, $7, $8, $9,"
            " $10, $11, $12, $13, $14)",
            (b"%d" % session_key, b"%d" % limit, *map(_written, start)),
            tuple,
        )
        # In the row of the started run, the unit is the run, and the lease number is 1 if it is new.
        return Started(first[2], bool(first[3])), [_lease(row) for row in rows]

    async def leased_since(self, session_key: int, batch_id: int) -> list[LeaseKey]:
        """The leases that the session got after this batch."""
        return await self._wire.rows(
            "select l.tenant_id, l.unit_id, l.lease_no from stepwell.fn_worker_leases_read($1, $2) as l",
            (b"%d" % session_key, b"%d" % batch_id),
            tuple,
        )


def _columns(reports: Sequence[Report]) -> tuple[bytes | None, ...]:
    """The columns of the reports, as array literals."""
    tenant_ids, unit_ids, lease_nos, outcomes, bodies = zip(*reports, strict=True)
    return (
        _written(arrays.of_numbers(tenant_ids)),
        _written(arrays.of_numbers(unit_ids)),
        _written(arrays.of_numbers(lease_nos)),
        _written(arrays.of_words(outcomes)),
        _written(arrays.of_texts(bodies)),
    )


def _lease(row: tuple[Any, ...]) -> Lease:
    made = Lease._make(row[1:])
    if Unreadable in (type(row[10]), type(row[11]), type(row[12]), type(row[13])):
        # The unit cannot run: like inputs that cannot be bound.
        (reason, *_) = [f"{name}: {value.reason}" for name, value in zip(_READ, row[10:14], strict=True)
                        if isinstance(value, Unreadable)]  # fmt: skip
        return made._replace(input=None, bound_input=reason, wake=None, checkpoints=None)
    return made


def _other(row: tuple[Any, ...]) -> Refused | Busy | Failed | Ended:
    if row[0] == "refused":
        return Refused(row[1], row[2], row[3])
    if row[0] == "busy":
        return Busy(row[1], row[2], row[3])
    if row[0] == "failed":
        # In the row of a failed attempt, the input is the classification, the deadline the time of the next
        # one.
        judged = row[10]
        if isinstance(judged, Unreadable):
            judged = {
                "class": "unknown",
                "error": judged.reason,
                "next": "none" if row[16] is None else "retry",
            }
        return Failed(
            row[1], row[2], row[3], row[5], row[9], row[6], row[7],
            judged["class"], _as_error(judged["error"]), judged["next"], row[16],
        )  # fmt: skip
    # In the row of an ended run, the unit is the run, the lease number is 1 if it is watched, the operation
    # is its state, the step its workflow, the time limit its duration, the input its result.
    # A result that cannot be read is left to its reader: for the worker the run is not watched.
    is_watched = bool(row[3]) and not isinstance(row[10], Unreadable)
    return Ended(row[1], row[2], is_watched, row[5], row[9], row[8], row[10])


def _as_error(error: Any) -> dict[str, Any]:
    """The error as a dict; an error of a worker has type and message, other clients may write any value."""
    return error if isinstance(error, dict) else {"message": error}


def _written(value: str | int | list[str] | None) -> bytes | None:
    """The value in the text format of Postgres."""
    if value is None:
        return None
    try:
        return (arrays.of_texts(value) if isinstance(value, list) else str(value)).encode()
    except UnicodeEncodeError as error:
        # Half a surrogate pair: an error of one caller; the worker must not stop because of it.
        raise from_database(psycopg.DataError(str(error))) from error
