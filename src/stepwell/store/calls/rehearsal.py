"""Set the clock of a test's own database: receives times, returns what is in flight, due, or asked of people.

Everything here is for databases that hold nothing but a test; `stepwell.testing` is its only caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import psycopg

from stepwell.errors import UsageError, from_database
from stepwell.store.connection.call import Call


@dataclass(frozen=True, slots=True)
class Flight:
    """One look at a database: what can be claimed, what is leased, what happens next when time passes.

    `next_due_at` is the next timer, rate limit or schedule; at `next_expiry_at` an open approval expires.
    """

    ready_count: int
    leased_count: int
    next_due_at: datetime | None
    next_expiry_at: datetime | None
    now_at: datetime

    @property
    def is_idle(self) -> bool:
        return self.ready_count == 0 and self.leased_count == 0

    @property
    def is_due(self) -> bool:
        return self.next_due_at is not None and self.next_due_at <= self.now_at


@dataclass(frozen=True, slots=True)
class Open:
    """Work or a decision that a person is asked for, or a unit that stands still, with the reason."""

    run_id: int | None
    name: str
    state_code: str
    why: str


def look(executors: Sequence[str], operations: Sequence[str]) -> Call[Flight]:
    return Call(
        "select * from stepwell.fn_rehearsal_flight(%s, %s)",
        (list(executors), list(operations)),
        lambda rows: Flight(*rows[0]),
    )


def prepare_months(at: datetime) -> Call[int]:
    """Partitions of the log for the month that the clock is about to reach."""
    return Call("select stepwell.fn_partitions_ensure(%s)", (at,), lambda rows: int(rows[0][0]))


def stop_clock(at: datetime | None) -> Call[datetime]:
    """From now on no time passes but by `move_clock`. Stands at the present time, or where it is set."""
    return Call("select stepwell.fn_clock_stop(%s)", (at,), lambda rows: rows[0][0])


def release_clock() -> Call[None]:
    """The clock runs again, from where it stands."""
    return Call("select stepwell.fn_clock_release()", (), lambda rows: None)


def move_clock(at: datetime) -> Call[datetime]:
    """Time passes for everybody; sessions of workers stay alive, as they would by their heartbeats."""
    return Call("select stepwell.fn_clock_move(%s)", (at,), lambda rows: rows[0][0])


def asked(tenant: int, run_id: int | None) -> Call[list[Open]]:
    """Open human steps, tasks and approvals: of a run and the runs inside it, or of all runs."""
    return Call(
        "select * from stepwell.fn_rehearsal_asked(%s, %s)",
        (tenant, run_id),
        lambda rows: [Open(*row) for row in rows],
    )


def standing(tenant: int) -> Call[list[Open]]:
    """Units that are leased or can be claimed, each with the reason why it does not go on."""
    return Call(
        "select * from stepwell.fn_rehearsal_standing(%s)",
        (tenant,),
        lambda rows: [Open(*row) for row in rows],
    )


def run_count() -> Call[int]:
    return Call("select count(*) from stepwell.run_detail", (), lambda rows: int(rows[0][0]))


def require_empty(run_total: int) -> None:
    if run_total:
        raise UsageError(
            f"the database of the harness holds {run_total} runs already",
            hint="give it a database of its own: the harness turns the clock for all of it",
            field="dsn",
        )


def broken_invariants(conninfo: str) -> list[str]:
    """What the database's own check finds wrong; nothing when all holds."""
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            rows = connection.execute(
                "select i.invariant, i.detail from stepwell.fn_invariants_check() as i where not i.ok"
            ).fetchall()
    except psycopg.Error as error:
        raise from_database(error) from error
    return [f"{name}: {detail}" for name, detail in rows]
