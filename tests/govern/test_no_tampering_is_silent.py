"""A change of the log, its seal or the tables beside it is found, or docs/audit.md says that it is not.

The cases come from the catalog. `make test` takes a seeded sample, `make chaos` all of them.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stepwell.store.calls.audit_relations import lost_tenants
from tests.govern import tamper
from tests.govern.conftest import Disarmed
from tests.govern.sealing import await_sealable, check

SAMPLE = 60
# The whole product is cut into so many slices, each a test of its own: they can run beside each other.
SLICES = 8
# The list of columns that are not covered may become shorter, not longer: at most so many of each table.
LISTED = {
    "run_detail": 1, "work_unit": 4, "policy_active": 1, "policy_set": 1, "dlq_replay_plan": 4,
    "dlq_replay_request": 4, "evidence_bundle": 5, "step_run_prior_audit": 1, "step_run_correction_cycle": 3,
    "step_run_output_snapshot": 1, "task_comments": 2, "workflow_registry": 5, "workflow_version": 2,
    "workflow_step_def": 2,
}  # fmt: skip
# A column is listed if a change of it is silent in some of so many rows.
ROWS = 8
SEED = int(os.environ.get("STEPWELL_TAMPER_SEED", "18"))
IS_WHOLE = os.environ.get("STEPWELL_TAMPER") == "all"
DOCUMENT = Path(__file__).parents[2] / "docs" / "audit.md"


def uncovered() -> dict[tuple[str, str], str]:
    """The columns that docs/audit.md lists as not covered: silent, or recounted by the invariants."""
    text = DOCUMENT.read_text().split("## What the seal does not cover")[1].split("\n## ")[0]
    found: dict[tuple[str, str], str] = {}
    for names, finder in re.findall(r"^\| (`[^|]+) \| (nothing|the invariants) \|", text, re.MULTILINE):
        table = ""
        for name in re.findall(r"`([\w.]+)`", names):
            table, column = name.split(".") if "." in name else (table, name)
            found[table, column] = "silent" if finder == "nothing" else "recounted"
    return found


INVARIANTS = "select bool_and(ok) from stepwell.fn_invariants_check()"


@contextmanager
def rolled_back(db: psycopg.Connection) -> Iterator[None]:
    """A transaction that psycopg does not see: at each rollback it forgets its prepared statements.

    To plan the statements of the verifier again takes five times as long as the check.
    """
    db.pgconn.exec_(b"begin")
    try:
        yield
    finally:
        db.pgconn.exec_(b"rollback")


def attack(disarmed: Disarmed, case: tamper.Case, rng: random.Random) -> str:
    """Found; recounted, if only the invariants find it; silent; impossible, without a row."""
    if case.repair != "nothing":
        await_sealable(disarmed.db)  # a repair seals again
    with rolled_back(disarmed.db):
        if not tamper.carry_out(disarmed.db, case, rng):
            return "impossible"
        if check(disarmed.db, anchored=disarmed.anchored).problems:
            return "found"
        # A row that was moved to another tenant is found there, as `audit verify --all-tenants` does.
        if case.column == "tenant_id" and (lost_tenants(disarmed.db) or check(disarmed.db, 2).problems):
            return "found"
        return "silent" if disarmed.db.execute(INVARIANTS).fetchone() == (True,) else "recounted"


@pytest.mark.parametrize("slice_no", range(SLICES if IS_WHOLE else 1))
def test_every_tampering_is_found(
    disarmed: Disarmed, slice_no: int, record_property: Any, tell: Callable[[str], None]
):
    cases = tamper.cases(disarmed.db)
    random.Random(SEED).shuffle(cases)
    chosen = cases[slice_no::SLICES] if IS_WHOLE else cases[:SAMPLE]
    listed = uncovered()
    record_property("cases", len(chosen))
    outcomes: Counter[str] = Counter()
    unlisted = []
    for case in chosen:
        outcome = attack(disarmed, case, random.Random(f"{SEED} {case}"))
        if outcome in ("recounted", "silent"):
            expected = listed.get((case.table, case.column))
            outcome = "listed" if expected in ("silent", outcome) else "silent"
        outcomes[outcome] += 1
        if outcome == "silent":
            unlisted.append(str(case))
            tell(f"silent: {case}")
    for name in ("found", "impossible", "listed", "silent"):
        record_property(name, outcomes[name])
    assert unlisted == [], "cover these columns, or list them in docs/audit.md with the reason"


@pytest.mark.timeout(580)
def test_the_list_of_columns_that_are_not_covered_is_short_and_true(disarmed: Disarmed):
    """Every column in the list exists, and for at least one kind of unit or row a change is not found."""
    known = {(column.table, column.name) for column in tamper.columns(disarmed.db)}
    assert set(uncovered()) - known == set()
    counted = Counter(table for table, _ in uncovered())
    assert {table: count for table, count in counted.items() if count > LISTED.get(table, 0)} == {}
    covered = set(uncovered())
    for case in tamper.cases(disarmed.db):
        place = (case.table, case.column)
        if place not in covered or case.repair != "nothing" or case.way not in ("edit", "null", "reorder"):
            continue
        for row in range(1 if case.kind else ROWS):
            if attack(disarmed, case, random.Random(f"{SEED} {case} {row}")) in ("silent", "recounted"):
                covered.discard(place)
                break
    assert covered == set(), "docs/audit.md says that these columns are not covered"
