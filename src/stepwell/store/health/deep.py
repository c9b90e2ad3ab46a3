"""Check every invariant on every row: receives settings and a conninfo, returns findings with remedies.

It goes through all runs in slices, each a short read, so that it may run beside the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg

from stepwell.config import Settings
from stepwell.errors import from_database
from stepwell.sql import support_text
from stepwell.store.health.examine import unreachable
from stepwell.store.health.finding import Finding, Level, Subject, connect, worded

SLICE_RUNS = 200
FAULT_LIMIT = 1_000


def examine_deep(settings: Settings, conninfo: str) -> Iterator[Finding]:
    """One finding for each row at fault, at most `FAULT_LIMIT`, and one that says how much was checked."""
    try:
        connection = connect(conninfo)
    except psycopg.Error as error:
        yield unreachable(from_database(error))
        return
    with connection:
        yield from _look(Subject(settings, conninfo, connection))


def _look(subject: Subject) -> Iterator[Finding]:
    run_count = fault_count = 0
    tenant_id: int | None = 0
    unit_id = 0
    with subject.keeping("fn_integrity_look(int, bigint, int)") as keeper:
        if keeper is None:
            yield worded("invariants", Level.WARNING, "invariants.refused", "keeper.remedy", role="?")
            return
        while tenant_id is not None and fault_count < FAULT_LIMIT:
            parameters = (tenant_id, unit_id, SLICE_RUNS)
            row = keeper.execute(support_text("health_integrity"), parameters).fetchone()
            assert row is not None, "a select without from has one row"
            found: dict[str, Any] = row[0]
            for fault in found["faults"]:
                fault_count += 1
                yield Finding(
                    fault["invariant"], Level.FAILED, fault["fault"], fault["en"], remedy_vi=fault["vi"]
                )
            run_count += found["runs"]
            tenant_id, unit_id = found["tenant_id"], found["unit_id"]
    level = Level.FAILED if fault_count else Level.OK
    what = "invariants.broken" if fault_count else "invariants.hold"
    yield worded("invariants", level, what, "invariants.remedy", runs=run_count, faults=fault_count)
