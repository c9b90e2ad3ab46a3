"""Event routes: an event of a type enqueues a job, once; what cannot be routed becomes a problem."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation, wait
from tests.sql.job_graphs.graphing import emitted, job
from tests.support.wait import until_row

SET = "select fn_event_route_set(1, %s, %s, %s, %s::text[], 0, 'test')"


def route(engine: Engine, name: str, event_type: str, target: str, *fields: str) -> Any:
    return engine.one(SET, (name, event_type, target, list(fields)))


def follow(engine: Engine) -> int:
    """Routes what there is."""
    until_routable(engine)
    found: int = engine.one("select job_count from fn_event_routes_follow()")
    return found


def until_routable(engine: Engine) -> None:
    """An open transaction of another test hides the events after its begin."""
    until_row(
        engine.db,
        "select pg_snapshot_xmin(pg_current_snapshot()) > coalesce(max(tx), '0') from event_log",
    )


def emit_event(engine: Engine, worker: int, lease: Any, event_type: str, payload: Any) -> None:
    engine.db.execute(
        "select fn_event_emit(%s, 1, %s, %s, %s, %s)",
        (worker, lease.unit_id, lease.lease_no, event_type, Jsonb(payload)),
    )


@pytest.mark.requirement("JW-09")
def test_an_event_of_a_handler_enqueues_a_job_once(engine: Engine):
    engine.db.execute("select fn_event_type_register(1, 'order.found')")
    emitted(engine, job("find"))
    worker = engine.worker(serves=["find"])
    (lease,) = engine.claim(worker)
    emit_event(engine, worker, lease, "order.found", {"order": "o-0"})
    assert route(engine, "found", "order.found", "ship", "order") is True
    assert route(engine, "found", "order.found", "ship", "order") is False
    # Only what comes after the route.
    assert follow(engine) == 0
    emit_event(engine, worker, lease, "order.found", {"order": "o-1", "body": "long"})
    emit_event(engine, worker, lease, "order.found", {"order": "o-2"})
    assert follow(engine) == 2
    assert follow(engine) == 0
    rows = engine.db.execute(
        "select job_kind, safe_payload, idempotency_key, source_ref, created_by"
        " from job_queue where operation = 'ship' order by job_id"
    ).fetchall()
    events = [
        event
        for (event,) in engine.db.execute(
            "select event_id from event_log where event_type = 'event.emitted' order by event_id"
        ).fetchall()
    ]
    assert rows == [
        (
            "ship",
            {
                "route": "found",
                "event_id": event,
                "event_type": "order.found",
                "run_id": lease.unit_id >> 20,
                "unit_id": lease.unit_id,
                "order": order,
            },
            f"route:found:{event}",
            f"event:{event}",
            "engine",
        )
        for event, order in zip(events[1:], ["o-1", "o-2"], strict=True)
    ]


@pytest.mark.requirement("JW-09")
def test_a_signal_enqueues_a_job(engine: Engine):
    route(engine, "paid", "payment", "book", "amount")
    engine.publish("w", wait("pay", "payment"))
    run_id = engine.start("w")
    engine.db.execute("select fn_signal(1, %s, 'payment', %s, 'k-1', 'test')", (run_id, Jsonb({"amount": 5})))
    assert follow(engine) == 1
    assert engine.one("select safe_payload -> 'amount' from job_queue where operation = 'book'") == 5


def test_an_event_of_the_engine_enqueues_a_job(engine: Engine):
    route(engine, "new-version", "workflow.published", "announce", "workflow")
    engine.publish("w", operation("a"))
    assert follow(engine) == 1
    assert engine.one("select safe_payload ->> 'workflow' from job_queue where operation = 'announce'") == "w"


def test_an_event_with_data_becomes_a_problem_and_the_next_is_routed(engine: Engine):
    engine.db.execute("select fn_event_type_register(1, 'seen')")
    route(engine, "r", "seen", "look", "what")
    emitted(engine, job("a"))
    worker = engine.worker(serves=["a"])
    (lease,) = engine.claim(worker)
    emit_event(engine, worker, lease, "seen", {"what": {"raw": "x"}})
    emit_event(engine, worker, lease, "seen", {"what": {"id": 1}})
    assert follow(engine) == 1
    assert engine.one("select count(*) from job_queue where operation = 'look'") == 1
    category, subject, reason = engine.db.execute(
        "select category_code, subject, reason from governance_problem"
    ).fetchone()
    assert (category, subject) == ("event_route", "r")
    assert "payload.what.raw: this names data" in reason


def test_an_event_whose_job_cannot_be_enqueued_stops_no_other_tenant(engine: Engine):
    """Both have the route; the database accepts no job of the first."""
    engine.db.execute("insert into tenant (tenant_code) values ('other')")
    other = Engine(engine.db, 2)
    for tenant in (1, 2):
        engine.db.execute(
            "select fn_event_route_set(%s, 'made', 'workflow.published', 'announce')", (tenant,)
        )
    engine.db.execute(
        "alter table job_detail add constraint not_for_one check (tenant_id <> 1 or created_by <> 'engine')"
    )
    engine.publish("w", operation("a"))
    other.publish("w", operation("a"))
    assert follow(engine) == 1
    assert engine.one("select tenant_id from job_queue") == 2
    assert engine.db.execute("select tenant_id, subject, error_code from governance_problem").fetchall() == [
        (1, "made", "23514")
    ]
    assert follow(engine) == 0


def test_a_route_that_gets_another_type_begins_again(engine: Engine):
    """The position is behind an event that another type would route; it came before the change."""
    route(engine, "r", "seen", "look")
    engine.publish("w", operation("a"))
    route(engine, "r", "workflow.published", "look")
    assert follow(engine) == 0
    engine.publish("x", operation("a"))
    assert follow(engine) == 1


def test_jobs_that_follow_each_other_without_end_are_stopped(engine: Engine):
    engine.db.execute("update dot_config set config_value = '3' where config_key = 'limits.route_depth'")
    engine.db.execute("select fn_event_type_register(1, 'ping')")
    route(engine, "loop", "ping", "pong")
    engine.enqueue("pong")
    worker = engine.worker(serves=["pong"])
    jobs = 0
    for _ in range(10):
        for lease in engine.claim(worker):
            jobs += 1
            emit_event(engine, worker, lease, "ping", {})
            engine.report(worker, (lease, "completed", {}))
        follow(engine)
    assert jobs == 4
    assert "3 jobs of routes followed each other" in engine.one("select reason from governance_problem")


@pytest.mark.parametrize(
    ("name", "event_type", "fields", "message"),
    [
        ("R", "seen", [], "route_name: 1 to 100"),
        (None, "seen", [], "route_name: 1 to 100"),
        ("r", "a b", [], "event_type: 1 to 200 letters"),
        ("r", "job.completed", [], "event_type: job.completed is written for every job"),
        ("r", "event.emitted", [], "event_type: event.emitted is written for every job"),
        ("r", "seen", ["a b"], "fields: at most 20 names"),
        ("r", "seen", [f"f{at}" for at in range(21)], "fields: at most 20 names"),
        ("r", "seen", ["content"], "fields.content: this names data"),
    ],
)
def test_a_route_that_is_not_sound_is_refused(
    engine: Engine, name: Any, event_type: str, fields: list[str], message: str
):
    with pytest.raises(psycopg.Error) as caught, engine.db.transaction():
        engine.one(SET, (name, event_type, "op", fields))
    assert caught.value.sqlstate == "SW001"
    assert message in str(caught.value)


def test_a_route_is_deleted(engine: Engine):
    route(engine, "r", "seen", "look")
    assert engine.one("select fn_event_route_delete(1, 'r')") is True
    assert engine.one("select fn_event_route_delete(1, 'r')") is False
