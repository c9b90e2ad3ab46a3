"""The connection and the calls of a keeper: receives a conninfo, returns a connection that can take the lead.

The lead is a lease: another keeper gets it when the connection ends for any reason, or when it is not
renewed in time. The connection must be direct, not one of a transaction pooler.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
from psycopg.rows import TupleRow

from stepwell.errors import Conflict, StepwellError, from_database
from stepwell.store.connection.call import Call, Rows
from stepwell.store.connection.pool import named

CONNECT_LIMIT_SECONDS = 10
CANCEL_LIMIT_SECONDS = 2.0
# A keeper does not wait long for a lock; it tries again later.
LOCK_LIMIT_SECONDS = 2
# Without a renewal for so long, the lead passes to the next keeper that asks.
LEAD_SECONDS = 15
# For tests that keep the keepers away: the lead ends only with the connection.
LEAD_MAX_SECONDS = 86_400

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TimersFired:
    """`now_at` is the time of the database; `due_in_seconds` is None if there is no further timer."""

    fired_count: int
    now_at: datetime
    due_in_seconds: float | None


def database_now() -> Call[datetime]:
    """The time of the database, the only clock."""
    return Call("select stepwell.now()", (), _first)


def recover_receipts(limit: int) -> Call[int]:
    return Call("select stepwell.fn_receipts_recover(%s)", (limit,), lambda rows: int(rows[0][0]))


def recover_leases(limit: int) -> Call[int]:
    return Call("select stepwell.fn_leases_recover(%s)", (limit,), lambda rows: int(rows[0][0]))


def fire_timers(limit: int) -> Call[TimersFired]:
    return Call(
        "select t.fired_count, t.next_due_at, stepwell.now() from stepwell.fn_timers_fire(%s) as t",
        (limit,),
        lambda rows: _timers_fired(*rows[0]),
    )


def _timers_fired(fired_count: int, next_due_at: datetime | None, now_at: datetime) -> TimersFired:
    due_in_seconds = None if next_due_at is None else (next_due_at - now_at).total_seconds()
    return TimersFired(fired_count, now_at, due_in_seconds)


def settle_replays(limit: int) -> Call[int]:
    """The number of replayed dead letters that have ended since the last call."""
    return Call("select stepwell.fn_replays_settle(%s)", (limit,), _first)


def carry_replay_plans(limit: int) -> Call[int]:
    """The number of dead letters that plans began to replay."""
    return Call("select stepwell.fn_replay_plans_carry(%s)", (limit,), _first)


def carry_holds(limit: int) -> Call[int]:
    """The number of units and clocks that incident holds stopped or released, and of holds that ended."""
    return Call("select stepwell.fn_holds_carry(%s)", (limit,), _first)


def settle_problems(limit: int) -> Call[int]:
    """The number of problems that were closed because they no longer exist."""
    return Call("select stepwell.fn_problems_settle(%s)", (limit,), _first)


def watch_problems(limit: int) -> Call[int]:
    """The number of problems that were opened or closed."""
    return Call("select stepwell.fn_problems_watch(%s)", (limit,), _first)


def write_summaries(limit: int) -> Call[int]:
    """The number of sentences that were written, about workers of so many tenants."""
    return Call("select stepwell.fn_summaries_write(%s)", (limit,), _first)


def watch_mark() -> Call[int]:
    """A number that stays the same while nothing is logged, refused or written."""
    return Call("select stepwell.fn_watch_mark()", (), _first)


def watch_integrity() -> Call[int]:
    """The number of problems that a check of the next rows opened or closed."""
    return Call("select stepwell.fn_integrity_watch()", (), _first)


def enqueue_refreshes() -> Call[int]:
    """The number of jobs that will refresh job workflows."""
    return Call("select stepwell.fn_job_workflow_refresh_due()", (), _first)


def sample_lag() -> Call[int]:
    """The number of lags that were noted."""
    return Call("select stepwell.fn_event_lag_sample()", (), _first)


def follow_routes(limit: int) -> Call[tuple[int, bool]]:
    """The number of jobs that events enqueued, and whether there may be more to route."""
    return Call(
        "select r.job_count, r.is_full from stepwell.fn_event_routes_follow(%s) as r",
        (limit,),
        lambda rows: (int(rows[0][0]), bool(rows[0][1])),
    )


def find_leases(from_page: int) -> Call[int]:
    """Where the next part of the search begins; 0 at the end of the table."""
    return Call("select stepwell.fn_leases_find(%s)", (from_page,), lambda rows: int(rows[0][0]))


def set_aside(tenant_id: int, duty: str, subject: str, error: StepwellError) -> Call[datetime]:
    """Record the problem; return when the duty may be tried again for this subject."""
    code = error.sqlstate if error.sqlstate is not None else error.code
    return Call(
        "select stepwell.fn_duty_set_aside(%s, %s, %s, %s, %s)",
        (tenant_id, duty, subject, code, error.sentence()),
        _first,
    )


def ensure_partitions() -> Call[int]:
    return Call("select stepwell.fn_partitions_ensure()", (), lambda rows: int(rows[0][0]))


def sweep_retention() -> Call[dict[str, int]]:
    """Kind of row → how many rows were removed."""
    return Call(
        "select swept, removed_count from stepwell.fn_retention_sweep()",
        (),
        lambda rows: {str(row[0]): int(row[1]) for row in rows},
    )


def _first(rows: Rows) -> Any:
    return rows[0][0]


class KeeperConnection:
    """One connection with autocommit: each duty of the keeper is a separate transaction."""

    def __init__(self, connection: psycopg.Connection[TupleRow]) -> None:
        self._connection = connection
        self._holder = uuid4().hex
        # The number of the lead; None while another keeper leads.
        self.fence: int | None = None

    def try_lead(self, seconds: int = LEAD_SECONDS) -> bool:
        """Take or renew the lead. It is lost when the connection ends, or when it is not renewed in time."""
        query = "select stepwell.fn_keeper_lead(%s, %s, %s)"
        self.fence = self._execute(query, (self._holder, self.fence, seconds))[0][0]
        return self.fence is not None

    def perform(self, call: Call[T]) -> T:
        return call.decode(self._execute(call.text, call.parameters))

    def cancel(self) -> None:
        """Cancel the current statement, if there is one. Any thread may call it."""
        with suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=CANCEL_LIMIT_SECONDS)

    @property
    def is_broken(self) -> bool:
        return self._connection.closed or self._connection.broken

    def _execute(self, text: str, parameters: tuple[object, ...]) -> list[TupleRow]:
        try:
            return self._connection.execute(text.encode(), parameters).fetchall()
        except psycopg.Error as error:
            raise from_database(error) from error


@contextmanager
def keeper_connection(conninfo: str) -> Iterator[KeeperConnection]:
    try:
        connection = psycopg.connect(
            named(conninfo, "stepwell keeper"), autocommit=True, connect_timeout=CONNECT_LIMIT_SECONDS
        )
        # If the machine of a keeper disappears, it must lose the lead within half a minute, not within hours.
        connection.execute(
            "select set_config('tcp_keepalives_idle', '10', false),"
            " set_config('tcp_keepalives_count', '3', false),"
            " set_config('tcp_keepalives_interval', '5', false),"
            f" set_config('lock_timeout', '{LOCK_LIMIT_SECONDS}s', false)"
        )
    except psycopg.Error as error:
        raise from_database(error) from error
    with connection:
        try:
            yield KeeperConnection(connection)
        finally:
            # The server notices a closed connection only later; the next keeper must not wait for that.
            with suppress(psycopg.Error):
                connection.execute("select pg_advisory_unlock_all()")


@contextmanager
def leading(conninfo: str) -> Iterator[KeeperConnection]:
    """Have the lead during the block, so that no keeper acts. Tests that move the clock use it."""
    with keeper_connection(conninfo) as connection:
        if not connection.try_lead(LEAD_MAX_SECONDS):
            raise Conflict("a keeper is active in this database", hint="stop its workers and keepers first")
        yield connection
