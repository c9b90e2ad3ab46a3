"""The check reads everything a few times: without statistics of the planner it does not compare all with all.

The planner then believes that few runs have ended, and a nested loop reads all units again for each of them:
after a long soak that never comes to its end.
"""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.sql.drive import Engine, operation

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database

RUNS = 250
STEPS = 4
HELPERS = (
    "_invariant_fold",
    "_invariant_counts",
    "_invariant_pending",
    "_invariant_leases",
    "_invariant_slots",
    "_invariant_leftovers",
    "_invariant_effects",
    "_invariant_explained",
)


def thrown_away(plan: dict[str, Any]) -> int:
    """The rows that this plan read, or the pairs that it compared, for nothing."""
    own = plan.get("Rows Removed by Join Filter", 0) + plan.get("Rows Removed by Filter", 0)
    return int(own * plan.get("Actual Loops", 1)) + sum(thrown_away(part) for part in plan.get("Plans", []))


@pytest.fixture
def filled(engine: Engine, db: psycopg.Connection) -> Engine:
    db.execute("alter table work_unit set (autovacuum_enabled = off)")
    engine.publish("long", *(operation(f"s{n}") for n in range(STEPS)))
    for _ in range(RUNS):
        engine.start("long")
    engine.drain(engine.worker())
    return engine


def test_the_helpers_are_all_there(engine: Engine):
    found = engine.one(
        r"select array_agg(proname::text order by proname) from pg_proc where proname like '\_invariant\_%%'"
    )
    assert found == sorted(HELPERS)


def test_no_part_of_the_check_compares_all_rows_with_all(filled: Engine, db: psycopg.Connection):
    settings = filled.one("select proconfig from pg_proc where proname = 'fn_invariants_check'")
    for setting in settings:
        name, _, value = setting.partition("=")
        db.execute("select set_config(%s, %s, false)", [name, value])
    wasted = {}
    for helper in HELPERS:
        body = filled.one("select prosrc from pg_proc where proname = %s", [helper])
        # Each helper returns one query, whose plan a session keeps.
        body = body.partition("return query")[2].rpartition(";\nend")[0]
        plan = filled.one("explain (analyze, format json) " + body.replace("%", "%%"), ())
        wasted[helper] = thrown_away(plan[0]["Plan"])
    units = filled.one("select count(*) from work_unit")
    assert units > RUNS * STEPS
    assert {helper: count for helper, count in wasted.items() if count > 10 * units} == {}
