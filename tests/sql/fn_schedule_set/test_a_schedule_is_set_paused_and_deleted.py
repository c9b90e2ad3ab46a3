"""A schedule is checked when it is set, keeps its next time if nothing changed, is paused and deleted."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation

NEXT = datetime(2030, 1, 1, tzinfo=UTC)


def put(engine: Engine, name: str = "nightly", **changes):
    values = {
        "workflow": "w", "cron": "0 3 * * *", "zone": "Europe/Berlin", "input": Jsonb({"a": 1}),
        "misfire": "latest", "limit": 10, "next_at": NEXT,
    } | changes  # fmt: skip
    return engine.one(
        "select fn_schedule_set(1, %s, %s, %s, %s, %s, %s, %s, %s, 'ada')", (name, *values.values())
    )


@pytest.fixture(autouse=True)
def published(engine: Engine):
    engine.publish("w", operation("a"))


def test_a_schedule_is_new_only_when_it_is_set_first(engine: Engine):
    assert put(engine) is True
    assert put(engine) is False
    row = engine.db.execute(
        "select workflow, cron, time_zone, input, misfire, next_at, is_paused, created_by from v_schedule"
    ).fetchone()
    assert row == ("w", "0 3 * * *", "Europe/Berlin", {"a": 1}, "latest", NEXT, False, "ada")


def test_the_next_time_changes_only_with_the_cron_expression_or_the_time_zone(engine: Engine):
    put(engine)
    put(engine, misfire="all", next_at=NEXT.replace(year=2031))
    assert engine.one("select next_at from workflow_schedule") == NEXT
    put(engine, cron="0 4 * * *", next_at=NEXT.replace(year=2032))
    assert engine.one("select next_at from workflow_schedule").year == 2032


@pytest.mark.parametrize(
    ("changes", "sqlstate", "word"),
    [
        ({"name": "Not Good"}, "SW001", "schedule_name"),
        ({"cron": "x"}, "SW001", "cron"),
        ({"zone": "Mars/Olympus"}, "SW001", "time_zone"),
        ({"misfire": "sometimes"}, "SW001", "misfire"),
        ({"limit": 0}, "SW001", "backfill_limit"),
        ({"input": Jsonb([1])}, "SW001", "input"),
        ({"workflow": "nothing"}, "SW002", "nothing"),
    ],
)
def test_an_error_names_the_wrong_field(engine: Engine, changes, sqlstate, word):
    with pytest.raises(psycopg.Error) as caught:
        put(engine, **changes)
    assert caught.value.sqlstate == sqlstate
    assert word in str(caught.value)
    assert engine.one("select count(*) from workflow_schedule") == 0


def test_a_paused_schedule_is_not_due_and_loses_its_next_time(engine: Engine):
    put(engine, next_at=datetime(2020, 1, 1, tzinfo=UTC))
    assert engine.one("select count(*) from fn_schedule_due()") == 1
    engine.db.execute("select fn_schedule_pause(1, 'nightly', true)")
    assert engine.one("select count(*) from fn_schedule_due()") == 0
    engine.db.execute("select fn_schedule_pause(1, 'nightly', false)")
    assert engine.db.execute("select schedule_name, next_at from fn_schedule_due()").fetchall() == [
        ("nightly", None)
    ]


def test_a_schedule_that_is_deleted_is_gone(engine: Engine):
    put(engine)
    engine.db.execute("select fn_schedule_delete(1, 'nightly')")
    for query in ("fn_schedule_delete(1, 'nightly')", "fn_schedule_pause(1, 'nightly', true)"):
        with pytest.raises(psycopg.Error) as caught:
            engine.db.execute(f"select {query}")
        assert caught.value.sqlstate == "SW002"
