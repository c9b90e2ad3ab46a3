"""Nobody changes or deletes an event, not even the owner of the table; retention drops whole old months."""

from __future__ import annotations

import psycopg
import pytest

from tests.govern.sealing import seal
from tests.sql.drive import Engine, operation
from tests.support.clock import Clock


@pytest.fixture
def month(engine: Engine) -> str:
    """The name of the partition (one month) that holds the events."""
    engine.publish("w", operation("a"))
    engine.start("w")
    name: str = engine.one("select tableoid::regclass::text from event_log limit 1")
    return name


@pytest.mark.parametrize(
    "statement",
    [
        "update {} set payload = null",
        "update {} set payload = null where event_id < 0",
        "delete from {}",
        "truncate {}",
    ],
)
def test_the_owner_cannot_change_the_log(db: psycopg.Connection, month: str, statement: str):
    with pytest.raises(psycopg.Error) as caught:
        db.execute(statement.format("event_log"))
    assert caught.value.sqlstate == "SW007"


@pytest.mark.parametrize("statement", ["update {} set payload = null", "delete from {}", "truncate {}"])
def test_the_owner_cannot_change_one_month_of_the_log(db: psycopg.Connection, month: str, statement: str):
    with pytest.raises(psycopg.Error) as caught:
        db.execute(statement.format(month))
    assert caught.value.sqlstate == "SW007"


@pytest.mark.parametrize("role", ["stepwell_api", "stepwell_keeper", "stepwell_worker", "stepwell_reader"])
def test_no_role_inserts_into_the_log_directly(db: psycopg.Connection, month: str, role: str):
    with db.transaction(force_rollback=True):
        db.execute(f"set local role {role}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("insert into stepwell.event_log (tenant_id) values (1)")


def test_a_month_past_its_retention_is_dropped_whole(db: psycopg.Connection, month: str, clock: Clock):
    """It is dropped when it is sealed, and then the log says so."""
    clock.advance(days=500)
    db.execute("select fn_partitions_ensure()")
    sweep = "select swept, removed_count from fn_retention_sweep()"
    assert "event_log_months" not in {name for name, count in db.execute(sweep).fetchall() if count}
    assert db.execute("select to_regclass(%s)", (month,)).fetchone() != (None,)
    seal(db)
    assert dict(db.execute(sweep).fetchall())["event_log_months"] >= 1
    assert db.execute("select to_regclass(%s)", (month,)).fetchone() == (None,)
    assert db.execute("select distinct event_type from event_log").fetchall() == [("log.archived",)]


def test_no_month_has_an_event_twice(db: psycopg.Connection, engine: Engine, month: str):
    """Each partition has a unique index on the position, those that are made later too."""
    engine.one("select fn_partitions_ensure(stepwell.now() + interval '2 years', 1)")
    bare = db.execute(
        "select i.inhrelid::regclass::text from pg_inherits as i where i.inhparent = 'event_log'::regclass"
        " and not exists (select from pg_index as x where x.indrelid = i.inhrelid and x.indisunique"
        " and pg_get_indexdef(x.indexrelid) like '%(tenant_id, tx, event_id)')"
    ).fetchall()
    assert bare == []
    with pytest.raises(psycopg.errors.UniqueViolation):
        db.execute(f"insert into event_log select * from {month} limit 1".encode())
