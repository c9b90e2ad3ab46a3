"""A change of the log, its seal or the tables beside it is found, or docs/audit.md says that it is not.

The cases come from the catalog. `make test` takes a seeded sample, `make chaos` all of them.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.govern import tamper
from tests.govern.sample_run import make_sample_run
from tests.govern.sealing import await_sealable, check, seal
from tests.sql.drive import Engine
from tests.support.databases import Databases

BLOCK_EVENTS = 9
SAMPLE = 60
SEED = int(os.environ.get("STEPWELL_TAMPER_SEED", "18"))
IS_WHOLE = os.environ.get("STEPWELL_TAMPER") == "all"
DOCUMENT = Path(__file__).parents[2] / "docs" / "audit.md"


@dataclass(frozen=True)
class Sealed:
    db: psycopg.Connection
    anchored: list[dict[str, Any]]


@pytest.fixture(scope="module")
def sealed(databases: Databases, template: str) -> Iterator[Sealed]:
    """A sealed database without its constraints; each case is rolled back."""
    with (
        databases.fresh(template) as dsn,
        psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as db,
    ):
        limit = "update dot_config set config_value = to_jsonb(%s) where config_key = 'audit.block_events'"
        db.execute(limit, (BLOCK_EVENTS,))
        make_sample_run(db)
        engine = Engine(db)
        engine.enqueue("job.send", 2)
        engine.drain(engine.worker())
        seal(db)
        rows = db.execute(
            "select c.chain_id::text, b.block_no, encode(b.block_hash, 'hex')"
            " from audit_block as b inner join audit_chain as c on b.tenant_id = c.tenant_id"
        ).fetchall()
        anchored = [{"chain_id": c, "block_no": no, "block_hash": found} for c, no, found in rows]
        tamper.disarm(db)
        assert check(db, anchored=anchored).problems == []
        yield Sealed(db, anchored)


def uncovered() -> dict[tuple[str, str], str]:
    """The columns that docs/audit.md lists as not covered, with their reasons."""
    text = DOCUMENT.read_text().split("## What the seal does not cover")[1].split("\n## ")[0]
    found: dict[tuple[str, str], str] = {}
    for names, reason in re.findall(r"^\| (`[^|]+) \| ([^|]+) \|$", text, re.MULTILINE):
        table = ""
        for name in re.findall(r"`([\w.]+)`", names):
            table, column = name.split(".") if "." in name else (table, name)
            found[table, column] = reason
    return found


def attack(sealed: Sealed, case: tamper.Case, rng: random.Random) -> str:
    """What came of a case: found, silent, or impossible when no row can be changed in this way."""
    await_sealable(sealed.db)  # a repair seals again
    with sealed.db.transaction(force_rollback=True):
        if not tamper.carry_out(sealed.db, case, rng):
            return "impossible"
        return "found" if check(sealed.db, anchored=sealed.anchored).problems else "silent"


def test_every_tampering_is_found(sealed: Sealed, record_property: Any):
    cases = tamper.cases(sealed.db)
    chosen = cases if IS_WHOLE else random.Random(SEED).sample(cases, SAMPLE)
    listed = uncovered()
    outcomes = {case: attack(sealed, case, random.Random(f"{SEED} {case}")) for case in chosen}
    silent = [case for case, outcome in outcomes.items() if outcome == "silent"]
    unlisted = [str(case) for case in silent if (case.table, case.column) not in listed]
    record_property("cases", len(chosen))
    record_property("silent", len(silent))
    assert unlisted == [], "cover these columns, or list them in docs/audit.md with the reason"


def test_the_list_of_columns_that_are_not_covered_is_true(sealed: Sealed):
    """Every column in the list exists, and a change of it is really not found."""
    known = {(column.table, column.name) for column in tamper.columns(sealed.db)}
    assert set(uncovered()) - known == set()
    found = [
        str(case)
        for case in tamper.cases(sealed.db)
        if case.way == "edit" and case.repair == "nothing" and (case.table, case.column) in uncovered()
        and attack(sealed, case, random.Random(SEED)) == "found"
    ]  # fmt: skip
    assert found == [], "docs/audit.md says that these columns are not covered"
