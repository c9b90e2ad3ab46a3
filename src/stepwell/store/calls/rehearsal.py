"""Control the clock of a test database: receives times, returns what is active, due, or open for people.

Only `stepwell.testing` and the history of the demo use this module, on databases of their own.
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
    """The work in a database at one moment: what can be claimed, what is leased, what is due next.

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
    """A human step, a task or an approval that waits for a person, or another unit, with the reason."""

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
    """Create the partitions of the log for the month to which the clock will move."""
    return Call("select stepwell.fn_partitions_ensure(%s)", (at,), lambda rows: int(rows[0][0]))


def stop_clock(at: datetime | None) -> Call[datetime]:
    """Stop the clock at the present time or at `at`; from now on only `move_clock` moves it."""
    return Call("select stepwell.fn_clock_stop(%s)", (at,), lambda rows: rows[0][0])


def release_clock() -> Call[None]:
    """Let the clock run again from its present time."""
    return Call("select stepwell.fn_clock_release()", (), lambda rows: None)


def real_clock() -> Call[None]:
    """Let the clock be real time again; it never goes back."""
    return Call("select stepwell.fn_clock_real()", (), lambda rows: None)


def move_clock(at: datetime) -> Call[datetime]:
    """Move the clock forward; worker sessions do not expire, as if their heartbeats had continued."""
    return Call("select stepwell.fn_clock_move(%s)", (at,), lambda rows: rows[0][0])


def asked(tenant: int, run_id: int | None) -> Call[list[Open]]:
    """Open human steps, tasks and approvals: of a run and its sub-workflow runs, or of all runs."""
    return Call(
        "select * from stepwell.fn_rehearsal_asked(%s, %s)",
        (tenant, run_id),
        lambda rows: [Open(*row) for row in rows],
    )


def standing(tenant: int) -> Call[list[Open]]:
    """Units that are leased or can be claimed, each with its reason."""
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
            f"the database of the harness already has {run_total} runs",
            hint="give an empty database: the harness moves the clock for everything in it",
            field="dsn",
        )


def broken_invariants(conninfo: str) -> list[str]:
    """The invariants that do not hold, found by the check in the database; empty if all hold."""
    try:
        with psycopg.connect(conninfo, autocommit=True) as connection:
            rows = connection.execute(
                "select i.invariant, i.detail from stepwell.fn_invariants_check() as i where not i.ok"
            ).fetchall()
    except psycopg.Error as error:
        raise from_database(error) from error
    return [f"{name}: {detail}" for name, detail in rows]
