"""What is gone beside the log is explained by an event of retention, or it is a finding."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.govern.sealing import check, kinds, seal
from tests.sql.drive import Engine, operation
from tests.support.clock import Clock
from tests.worker.acting import put_in_force, rule

SET = "update dot_config set config_value = %s where config_key = %s"


@pytest.fixture
def engine(db: psycopg.Connection) -> Engine:
    return Engine(db)


@pytest.fixture
def ended(engine: Engine, clock: Clock) -> tuple[Engine, int]:
    """A run and a job that ended 91 days ago, and a job that ended today; everything is sealed."""
    engine.publish("w", operation("a"))
    run_id = engine.start("w", {"x": 1})
    engine.enqueue("op")
    engine.drain(engine.worker())
    clock.advance(days=91)
    engine.db.execute("select fn_partitions_ensure()")
    engine.enqueue("op")
    engine.drain(engine.worker())
    seal(engine.db)
    return engine, run_id


def sweep(db: psycopg.Connection) -> None:
    db.execute("select * from fn_retention_sweep()")


def remove(db: psycopg.Connection, run_id: int) -> None:
    """What somebody with all rights does: every row of the run is gone, and no trigger notices."""
    db.execute("set session_replication_role = replica")
    db.execute("select _units_delete(array[1], array[%s]::bigint[])", (run_id,))
    for table in ("run_progress", "run_detail"):
        db.execute(f"delete from {table} where run_id = %s".encode(), (run_id,))
    db.execute("set session_replication_role = origin")


def test_what_retention_removed_is_counted_and_named_by_an_event(ended: tuple[Engine, int]):
    engine, run_id = ended
    sweep(engine.db)
    assert engine.one("select count(*) from work_unit where scope in ('workflow_run', 'job')") == 1
    seal(engine.db)
    verdict = check(engine.db)
    assert (verdict.problems, verdict.removed_count, verdict.kept_days) == ([], 2, 90)
    told = engine.db.execute(
        "select payload -> 'numbers', payload -> 'count' from event_log"
        " where event_type = 'retention.removed' order by event_id"
    ).fetchall()
    assert told == [([[run_id, run_id]], 1), ([[run_id + 1, run_id + 1]], 1)]


def test_a_retention_of_nothing_is_seen(ended: tuple[Engine, int]):
    """Who sets the retention to 0 and lets the keeper remove what just ended: the verdict tells both."""
    engine, _ = ended
    engine.db.execute(SET, ("0", "retention.run_days"))
    sweep(engine.db)
    seal(engine.db)
    verdict = check(engine.db)
    assert (verdict.problems, verdict.removed_count, verdict.kept_days) == ([], 3, 0)
    (change,) = verdict.setting_changes
    assert change.startswith("retention.run_days from 90 to 0 by owner:")


@pytest.mark.parametrize("days", ["0", "90"])
def test_rows_that_are_gone_without_an_event_are_found(ended: tuple[Engine, int], days: str):
    """However the retention is set, and whether or not the trigger that tells it was switched off."""
    engine, run_id = ended
    engine.db.execute("set session_replication_role = replica")
    engine.db.execute(SET, (days, "retention.run_days"))
    remove(engine.db, run_id)
    (problem,) = check(engine.db).problems
    assert (problem.kind, problem.place) == ("missing", f"unit {run_id << 20}")
    assert problem.detail == "its rows are gone, and no event of retention says so"


def test_a_removal_before_its_time_is_found(ended: tuple[Engine, int]):
    """An event that names the run, and a time that the run had not reached."""
    engine, run_id = ended
    remove(engine.db, run_id)
    tell(engine, numbers=[[run_id, run_id]], count=1, kept_since="2001-01-01T00:00:00.000000Z")
    (problem,) = check(engine.db).problems
    assert "it ended after 2001-01-01" in problem.detail


@pytest.mark.parametrize(
    ("numbers", "count"),
    [([[1, 999999]], 1), ([[2, 1]], 0), ([["1", 2]], 2), ([1, 2], 2), ("all", 1), ([[0, 1]], 2), ([[1]], 1)],
)
def test_an_event_that_does_not_count_explains_nothing(ended: tuple[Engine, int], numbers, count):
    engine, run_id = ended
    remove(engine.db, run_id)
    tell(engine, numbers=numbers, count=count, kept_since="9999-01-01T00:00:00.000000Z")
    assert kinds(check(engine.db)) == ["altered", "missing"]


@pytest.mark.parametrize(
    ("is_told_before", "days_until", "found"),
    [(False, -1, []), (False, 1, ["inserted", "missing"]), (True, -1, ["inserted", "missing"])],
)
def test_only_an_upgrade_lets_age_explain_a_removal(
    ended: tuple[Engine, int], is_told_before: bool, days_until: int, found: list[str]
):
    """Somebody appends the event of an upgrade; it may not come later, nor name a time after itself."""
    engine, run_id = ended
    remove(engine.db, run_id)
    if is_told_before:
        engine.db.execute(SET, ("80", "retention.run_days"))
    since = engine.one(
        "select to_char((stepwell.now() + make_interval(days => %s)) at time zone 'UTC',"
        ' \'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\')',
        (days_until,),
    )
    tell(engine, "retention.began", kept_since=since)
    verdict = check(engine.db)
    assert (kinds(verdict), verdict.untold_count) == (found, 0 if found else 1)


def test_what_was_removed_cannot_come_back(ended: tuple[Engine, int]):
    engine, run_id = ended
    tell(engine, numbers=[[run_id, run_id]], count=1, kept_since="9999-01-01T00:00:00.000000Z")
    (problem,) = check(engine.db).problems
    assert (problem.kind, problem.detail) == ("inserted", "the log says that retention removed it")


def test_every_tenant_is_told_when_a_setting_changes(engine: Engine):
    other = engine.one("select fn_tenant_set('other')")
    engine.db.execute(SET, ('"x"', "retention.run_days"))
    engine.db.execute(SET, ('"x"', "retention.run_days"))
    engine.db.execute("insert into dot_config values ('a.b', '1', 'new')")
    engine.db.execute("delete from dot_config where config_key = 'a.b'")
    told = engine.db.execute(
        "select tenant_id, payload from event_log where event_type = 'setting.changed' order by event_id"
    ).fetchall()
    changes = [
        {"key": "retention.run_days", "before": "90", "after": '"x"'},
        {"key": "a.b", "after": "1"},
        {"key": "a.b", "before": "1"},
    ]
    assert told == [(tenant, change) for change in changes for tenant in (1, other)]


def tell(engine: Engine, event_type: str = "retention.removed", /, **payload: object) -> None:
    """Append an event of retention past the registry, and seal it."""
    engine.db.execute(
        "insert into event_log (tenant_id, at, run_id, unit_id, event_type, actor_class, actor, payload)"
        " values (1, stepwell.now(), 0, 0, %s, 'system', 'engine', %s)",
        (event_type, Jsonb(payload)),
    )
    seal(engine.db)


def test_a_policy_outlives_its_approval(engine: Engine, clock: Clock):
    """Retention removes the approval; the event that asked for it still names the proposal."""
    put_in_force(engine.db, rule("all", "allow"))
    clock.advance(days=400)
    engine.db.execute("select fn_partitions_ensure()")
    sweep(engine.db)
    assert engine.one("select count(*) from approval_detail") == 0
    seal(engine.db)
    assert check(engine.db).problems == []
    engine.db.execute("set session_replication_role = replica")
    engine.db.execute("update policy_set set approval_id = approval_id + 1")
    (found,) = check(engine.db).problems
    assert (found.kind, found.place) == ("altered", "version 1 of the policy")
