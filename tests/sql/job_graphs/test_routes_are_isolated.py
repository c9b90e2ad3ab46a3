"""Event routes: an event replaces nothing that every job has; no route or tenant waits for another."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from stepwell.store.calls import keep
from tests.sql.drive import Engine, operation
from tests.sql.job_graphs.test_event_routes import emit_event, follow, route, until_routable

RESERVED = ("route", "event_id", "event_type", "run_id", "unit_id")


@pytest.mark.parametrize("name", RESERVED)
def test_a_field_has_no_name_that_every_job_of_a_route_has(engine: Engine, name: str):
    with pytest.raises(psycopg.Error, match="fields: route, event_id") as caught, engine.db.transaction():
        route(engine, "r", "seen", "look", name)
    assert caught.value.sqlstate == "SW001"


@pytest.mark.parametrize("given", ["A-17", None, {"deep": 1}])
def test_a_payload_that_cannot_be_read_stops_no_other_event(engine: Engine, given: object):
    """A field with a name of the job, from a route of an earlier release, is written below the own ones."""
    engine.db.execute("select fn_event_type_register(1, 'ping')")
    route(engine, "r", "ping", "pong")
    engine.db.execute("update event_route set fields = '{unit_id}'")
    engine.enqueue("pong")
    worker = engine.worker(serves=["pong"])
    for _ in range(3):
        (lease,) = engine.claim(worker)
        emit_event(engine, worker, lease, "ping", {"unit_id": given})
        engine.report(worker, (lease, "completed", {}))
        assert follow(engine) == 1
    rows = engine.db.execute("select safe_payload -> 'unit_id' from job_queue where created_by = 'engine'")
    assert all(isinstance(unit_id, int) for (unit_id,) in rows)


def test_a_route_that_is_held_delays_no_other_and_misses_nothing(engine: Engine, dsn: str):
    route(engine, "first", "workflow.published", "look")
    route(engine, "second", "workflow.published", "note")
    engine.publish("w", operation("a"))
    until_routable(engine)
    with psycopg.connect(dsn, options="-csearch_path=stepwell,public") as other:
        other.execute("select from event_route where route_name = 'first' for update")
        assert follow(engine) == 1
        assert engine.one("select operation from job_queue") == "note"
        other.rollback()
    assert follow(engine) == 1
    assert engine.one("select count(*) from job_queue") == 2


def test_a_look_that_finds_nothing_writes_nothing(engine: Engine):
    route(engine, "r", "seen", "look")
    follow(engine)
    with engine.db.transaction():
        assert engine.one("select job_count from fn_event_routes_follow()") == 0
        assert engine.one("select pg_current_xact_id_if_assigned() is null") is True


def test_many_events_are_routed_in_parts_until_none_is_left(engine: Engine):
    engine.db.execute("insert into tenant (tenant_code) values ('other')")
    other = Engine(engine.db, 2)
    for one in (engine, other):
        one.db.execute(
            "select fn_event_route_set(%s, 'made', 'workflow.published', 'look')", (one.tenant_id,)
        )
        for at in range(7):
            one.publish(f"w{at}", operation("a"))
    until_routable(engine)
    follow_part = keep.follow_routes(3)
    parts = []
    while True:
        row = engine.db.execute(follow_part.text, follow_part.parameters).fetchall()
        parts.append(follow_part.decode(row))
        if not parts[-1][1]:
            break
    assert len(parts) >= 3
    assert sum(count for count, _ in parts) == 14


def test_a_job_of_a_route_is_in_the_workspace_of_its_event(engine: Engine):
    engine.db.execute("select fn_workspace_set(1, 'lab', %s)", (Jsonb({}),))
    engine.db.execute("select fn_event_type_register(1, 'ping')")
    route(engine, "r", "ping", "pong")
    engine.enqueue("start", p_workspace="lab")
    worker = engine.worker(serves=["start"])
    (lease,) = engine.claim(worker)
    emit_event(engine, worker, lease, "ping", {})
    follow(engine)
    assert (
        engine.one(
            "select w.workspace_name from job_detail as j inner join workspace as w using (workspace_id)"
            " where j.created_by = 'engine'"
        )
        == "lab"
    )


def test_routes_are_in_the_log(engine: Engine):
    route(engine, "r", "seen", "look", "what")
    route(engine, "r", "seen", "look", "what")
    route(engine, "r", "seen", "look", "who")
    engine.one("select fn_event_route_delete(1, 'r')")
    rows = engine.db.execute(
        "select event_type, payload ->> 'name', payload -> 'fields' from event_log"
        " where event_type ~ '^route' order by event_id"
    ).fetchall()
    assert rows == [
        ("route.changed", "r", ["what"]),
        ("route.changed", "r", ["who"]),
        ("route.deleted", "r", None),
    ]
