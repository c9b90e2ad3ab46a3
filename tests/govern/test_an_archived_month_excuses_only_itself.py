"""Retention drops months of the log: only what is of these months may be without an event."""

from __future__ import annotations

import psycopg
import pytest

from tests.govern.sample_records import make_records
from tests.govern.sample_run import make_sample_run
from tests.govern.sample_units import make_units
from tests.govern.sealing import check, seal
from tests.sql.drive import Engine, operation
from tests.support.clock import Clock
from tests.support.databases import configure

KEPT_DAYS = 40


@pytest.fixture
def archived(db: psycopg.Connection, clock: Clock) -> psycopg.Connection:
    """All rows of everything are there; the months of the log in which they were written are gone."""
    for (key,) in db.execute("select config_key from dot_config where config_key ~ 'retention.*_days'"):
        configure(db, key, "100000")
    make_sample_run(db)
    make_units(db, clock)
    make_records(db)
    seal(db)
    clock.advance(days=KEPT_DAYS * 3)
    db.execute("select fn_partitions_ensure(null, 2)")
    configure(db, "retention.event_log_days", str(KEPT_DAYS))
    engine = Engine(db)
    engine.publish("later", operation("a"))
    engine.start("later", {}, ref="L-1")
    engine.drain(engine.worker())
    seal(db)
    db.execute("select * from fn_retention_sweep()")
    seal(db)
    return db


def test_what_is_of_an_archived_month_is_excused(archived: psycopg.Connection):
    verdict = check(archived)
    assert [str(one) for one in verdict.problems] == []
    assert verdict.archived_event_count > 100


@pytest.mark.parametrize(
    "edit",
    [
        "insert into policy_verdict overriding system value select (jsonb_populate_record(v,"
        " jsonb_build_object('verdict_id', 99999, 'decided_at', stepwell.now()))).*"
        " from policy_verdict as v limit 1",
        "update workflow_version set published_by = 'the-ceo' where version_id ="
        " (select max(version_id) from workflow_version)",
        # The event of this version is in the log: another time does not make it older.
        "update workflow_version set published_by = 'the-ceo', published_at = (select min(published_at)"
        " from workflow_version) where version_id = (select max(version_id) from workflow_version)",
        "insert into task_comments overriding system value select (jsonb_populate_record(t,"
        " jsonb_build_object('comment_id', 99999, 'written_at', stepwell.now()))).*"
        " from task_comments as t limit 1",
    ],
)
def test_what_is_of_a_later_month_is_not(archived: psycopg.Connection, edit: str):
    archived.execute("set session_replication_role = replica")
    assert archived.execute(edit.encode()).rowcount == 1
    assert check(archived).problems != []
