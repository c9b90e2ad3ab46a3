"""A worker or an executor that is frozen, or a worker that drains, claims nothing; what it has goes on."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation
from tests.support.clock import Clock

STOP = "select fn_worker_stop(1, %s, %s, 'ada', 'its disk is full')"
GO_ON = "select fn_worker_go_on(1, %s, %s, 'ada', 'it has room again')"


@pytest.fixture(autouse=True)
def people(engine: Engine) -> None:
    engine.person("ada")


def told(engine: Engine) -> list[tuple[str, str]]:
    rows = engine.db.execute(
        "select event_type, payload ->> 'name' from event_log where event_type like 'worker.%'"
        " order by event_id"
    )
    return rows.fetchall()


@pytest.mark.requirement("GV-07")
@pytest.mark.parametrize("kind", ["frozen", "drain"])
def test_a_worker_finishes_what_it_has_and_claims_no_more(engine: Engine, kind: str):
    session, other = engine.worker("orders:1"), engine.worker("orders:2")
    engine.enqueue("a")
    (held,) = engine.claim(session)
    engine.db.execute(STOP, (engine.session_id(session), kind))
    engine.enqueue("a", 2)
    assert engine.claim(session) == []
    assert engine.report(session, (held, "completed", None), claim_limit=5) == []
    assert engine.state(held.unit_id) == "completed"
    # It is told at its next heartbeat, each time.
    assert engine.beat(session) == [kind]
    assert engine.beat(session) == [kind]
    assert engine.beat(other) == []
    assert len(engine.claim(other, 1)) == 1
    engine.db.execute(GO_ON, (engine.session_id(session), kind))
    assert engine.beat(session) == []
    assert len(engine.claim(session)) == 1
    begun, ended = {
        "frozen": ("worker.frozen", "worker.unfrozen"),
        "drain": ("worker.drain_asked", "worker.drain_ended"),
    }[kind]
    assert told(engine) == [(begun, "orders:1"), (ended, "orders:1")]


@pytest.mark.requirement("GV-07")
def test_a_stopped_worker_takes_no_direct_lease_either(engine: Engine):
    engine.publish("w", operation("a"), operation("b"))
    session, other = engine.worker("orders:1"), engine.worker("orders:2")
    engine.start("w")
    (first,) = engine.claim(session)
    engine.db.execute(STOP, (engine.session_id(session), "frozen"))
    # The step behind it is released into the queue, for another worker.
    assert engine.report(session, (first, "completed", None), claim_limit=5) == []
    rows = engine.db.execute(
        "select row_kind from fn_run_start_here(%s, 5, 1, 'w', array['{}']::jsonb[], p_actor => 'ada')",
        (session,),
    ).fetchall()
    assert rows == [("started",)]
    assert [lease.step_id for lease in engine.claim(other)] == ["b", "a"]


@pytest.mark.requirement("GV-07")
def test_a_frozen_executor_stops_only_its_own_units(engine: Engine):
    both = engine.worker("orders:1", classes=("default", "process"))
    engine.db.execute(
        "select fn_operation_register(1, %s)", (Jsonb([{"name": "crunch", "executor": "process"}]),)
    )
    engine.enqueue("a")
    engine.enqueue("crunch")
    engine.db.execute("select fn_executor_freeze(1, 'process', 'ada', 'a bad release')")
    assert [lease.operation for lease in engine.claim(both)] == ["a"]
    # It still claims, so it is not told to release anything.
    assert engine.beat(both) == []
    late = engine.worker("orders:2", classes=("process",))
    assert engine.claim(late) == []
    assert engine.beat(late) == ["frozen"]
    engine.db.execute("select fn_executor_unfreeze(1, 'process', 'ada', 'rolled back')")
    assert [lease.operation for lease in engine.claim(late)] == ["crunch"]
    assert told(engine) == [("worker.frozen", "process"), ("worker.unfrozen", "process")]


@pytest.mark.requirement("GV-07")
def test_a_new_session_of_the_worker_is_stopped_too(engine: Engine):
    session = engine.worker("orders:1")
    engine.db.execute(STOP, (engine.session_id(session), "drain"))
    engine.one("select fn_worker_close(%s)", (session,))
    again = engine.worker("orders:1")
    engine.enqueue("a")
    assert engine.claim(again) == []
    # Two reasons to stop: one that ends leaves the other.
    engine.db.execute(STOP, (engine.session_id(again), "frozen"))
    engine.db.execute(GO_ON, (engine.session_id(again), "drain"))
    assert engine.claim(again) == []
    engine.db.execute(GO_ON, (engine.session_id(again), "frozen"))
    assert len(engine.claim(again)) == 1


def test_a_stopped_worker_is_not_idle_so_no_commit_notifies_for_it(engine: Engine):
    session = engine.worker("orders:1")
    idle = "select is_idle from worker_session where session_id = %s"
    number = engine.session_id(session)
    assert engine.claim(session) == []
    assert engine.one(idle, (number,)) is True
    engine.db.execute(STOP, (number, "frozen"))
    assert engine.one(idle, (number,)) is False
    assert engine.claim(session) == []
    assert engine.one(idle, (number,)) is False


def test_a_worker_drained_when_it_has_nothing_left(engine: Engine, clock: Clock):
    session = engine.worker("orders:1")
    engine.enqueue("a")
    (held,) = engine.claim(session)
    number = engine.session_id(session)
    seen = "select slots_in_use, is_drained, drain_by, drain_reason from v_worker where session_id = %s"
    engine.beat(session, held)
    engine.db.execute(STOP, (number, "drain"))
    clock.advance(seconds=1)
    engine.beat(session, held)
    row = engine.db.execute(seen, (number,)).fetchone()
    assert row == (1, False, "ada", "its disk is full")
    engine.complete(session, held)
    engine.beat(session)
    row = engine.db.execute(seen, (number,)).fetchone()
    assert row == (0, True, "ada", "its disk is full")


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("select fn_worker_stop(1, 99, 'frozen', 'ada', 'x')", "SW002", "worker 99 does not exist"),
        (
            "select fn_worker_stop(1, 1, 'asleep', 'ada', 'x')",
            "SW001",
            "stop_kind: frozen and drain are accepted",
        ),
        ("select fn_worker_stop(1, 1, 'frozen', 'ada', ' ')", "SW001", "reason: say in words why"),
        ("select fn_worker_stop(1, 1, 'frozen', 'ada', repeat('x', 2001))", "SW001", "reason: 1 to 2000"),
        ("select fn_worker_go_on(1, 1, 'drain', 'ada', 'x')", "SW003", "worker orders:1 does not drain"),
        ("select fn_worker_go_on(1, 1, 'frozen', 'ada', 'x')", "SW003", "worker orders:1 is not frozen"),
        ("select fn_executor_freeze(1, 'gpu', 'ada', 'x')", "SW002", "executor gpu does not exist"),
        ("select fn_executor_unfreeze(1, 'default', 'ada', 'x')", "SW003", "the executor is not frozen"),
        ("select fn_worker_stop(2, 1, 'frozen', null, 'x')", "SW007", "only the first tenant"),
    ],
)
def test_each_wrong_call_says_what_would_be_right(engine: Engine, query: str, code: str, message: str):
    engine.worker("orders:1")
    engine.db.execute("select fn_tenant_set('other')")
    with pytest.raises(psycopg.Error, match=message) as refused:
        engine.db.execute(query)
    assert refused.value.sqlstate == code


def test_a_worker_that_ended_cannot_be_stopped(engine: Engine):
    session = engine.worker("orders:1")
    number = engine.session_id(session)
    engine.one("select fn_worker_close(%s)", (session,))
    with pytest.raises(psycopg.Error, match="has ended") as refused:
        engine.db.execute(STOP, (number, "frozen"))
    assert refused.value.sqlstate == "SW003"
