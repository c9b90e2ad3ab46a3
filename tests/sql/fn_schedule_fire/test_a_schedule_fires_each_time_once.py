"""Firing starts one run for each due time, writes an event, and happens once even if called twice."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation

FIRST = datetime(2026, 1, 1, 3, tzinfo=UTC)
SECOND = datetime(2026, 1, 2, 3, tzinfo=UTC)
NEXT = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def schedule(engine: Engine):
    engine.publish("w", operation("a"))
    engine.db.execute(
        "select fn_schedule_set(1, 'nightly', 'w', '0 3 * * *', 'UTC', %s, 'all', 2, %s, 'ada')",
        (Jsonb({"a": 1}), FIRST),
    )


def fire(engine: Engine, seen: datetime | None, *times: datetime):
    return engine.db.execute(
        "select run_id, fire_at from fn_schedule_fire(1, 'nightly', %s, %s::timestamptz[], %s)",
        (seen, list(times), NEXT),
    ).fetchall()


def test_each_due_time_starts_a_run_and_writes_an_event(engine: Engine):
    started = fire(engine, FIRST, FIRST, SECOND)
    assert [at for _, at in started] == [FIRST, SECOND]
    rows = engine.db.execute(
        "select trigger_type, trigger_ref, input, started_by from workflow_run order by run_id"
    ).fetchall()
    assert rows == [
        ("schedule", "nightly@2026-01-01T03:00:00Z", {"a": 1}, "schedule:nightly"),
        ("schedule", "nightly@2026-01-02T03:00:00Z", {"a": 1}, "schedule:nightly"),
    ]
    assert engine.db.execute(
        "select run_id, payload from event_log where event_type = 'schedule.fired' order by event_id"
    ).fetchall() == [
        (started[0][0], {"authors": ["ada"], "schedule": "nightly", "scheduled_at": "2026-01-01T03:00:00Z"}),
        (started[1][0], {"authors": ["ada"], "schedule": "nightly", "scheduled_at": "2026-01-02T03:00:00Z"}),
    ]
    assert engine.db.execute("select last_at, next_at from workflow_schedule").fetchone() == (SECOND, NEXT)


def test_a_caller_with_an_old_next_time_changes_nothing(engine: Engine):
    assert len(fire(engine, FIRST, FIRST)) == 1
    assert fire(engine, FIRST, FIRST) == []
    assert engine.one("select count(*) from workflow_run") == 1


def test_a_paused_schedule_does_not_fire(engine: Engine):
    engine.db.execute("update workflow_schedule set is_paused = true")
    assert fire(engine, FIRST, FIRST) == []


def test_a_due_time_that_has_a_run_gets_no_second_run(engine: Engine):
    fire(engine, FIRST, FIRST)
    engine.db.execute("update workflow_schedule set next_at = %s", (FIRST,))
    assert len(fire(engine, FIRST, FIRST, SECOND)) == 2
    assert engine.one("select count(*) from workflow_run") == 2
    assert engine.one("select count(*) from event_log where event_type = 'schedule.fired'") == 2


def test_without_due_times_only_the_next_time_changes(engine: Engine):
    assert fire(engine, FIRST) == []
    assert engine.db.execute("select last_at, next_at from workflow_schedule").fetchone() == (None, NEXT)


def test_more_times_than_the_backfill_limit_are_refused_as_a_whole(engine: Engine):
    with pytest.raises(psycopg.Error) as caught:
        fire(engine, FIRST, FIRST, SECOND, NEXT)
    assert caught.value.sqlstate == "SW001"
    assert engine.one("select count(*) from workflow_run") == 0
