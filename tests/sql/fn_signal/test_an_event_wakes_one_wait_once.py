"""Signals: each is accepted once, kept when it is early, wakes one wait, and is refused by an ended run."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation, wait


def signal(engine: Engine, run_id: int, key: str, event: str = "came", payload=None):
    return engine.db.execute(
        "select accepted, woken_unit_id from fn_signal(1, %s, %s, %s, %s)",
        (run_id, event, Jsonb(payload or {}), key),
    ).fetchone()


@pytest.mark.requirement("LN-10")
def test_an_event_wakes_the_wait_and_becomes_its_output(engine: Engine):
    engine.publish("w", wait("parcel", "came"), operation("after"))
    run_id = engine.start("w")
    unit_id = engine.unit(run_id, "parcel")
    assert signal(engine, run_id, "k", payload={"n": 1}) == (True, unit_id)
    assert engine.states(run_id) == {"parcel": "completed", "after": "ready"}
    assert engine.one("select output from step_run where step_id = 'parcel'") == {"n": 1}
    assert engine.faults() == {}


@pytest.mark.requirement("LN-10")
def test_the_second_delivery_of_an_event_changes_nothing(engine: Engine):
    engine.publish("w", wait("one", "came"), wait("two", "came"))
    run_id = engine.start("w")
    first = signal(engine, run_id, "k")
    assert signal(engine, run_id, "k") == (False, first[1])
    assert engine.states(run_id) == {"one": "completed", "two": "waiting"}
    assert engine.one("select count(*) from event_log where event_type = 'signal.received'") == 1


@pytest.mark.requirement("LN-10")
def test_an_early_event_is_kept_until_a_step_waits_for_it(engine: Engine):
    engine.publish("w", operation("a"), wait("parcel", "came"))
    run_id = engine.start("w")
    assert signal(engine, run_id, "k", payload={"n": 1}) == (True, None)
    engine.drain(engine.worker())
    assert engine.run_state(run_id) == "completed"
    assert engine.one("select output from step_run where step_id = 'parcel'") == {"n": 1}


@pytest.mark.requirement("LN-10")
def test_each_event_wakes_the_oldest_wait(engine: Engine):
    engine.publish("w", wait("one", "came"), wait("two", "came"), edges=[])
    run_id = engine.start("w")
    signal(engine, run_id, "k1")
    assert engine.states(run_id) == {"one": "completed", "two": "waiting"}
    signal(engine, run_id, "k2")
    assert engine.run_state(run_id) == "completed"


@pytest.mark.requirement("LN-10")
def test_an_event_of_another_type_or_run_wakes_no_wait(engine: Engine):
    engine.publish("w", wait("parcel", "came"))
    run_id, other = engine.start("w"), engine.start("w")
    signal(engine, other, "k1", event="went")
    signal(engine, other, "k2")
    assert engine.states(run_id) == {"parcel": "waiting"}


def test_a_waiting_job_is_woken_too(engine: Engine):
    (job_id,) = engine.enqueue("op")
    session = engine.worker()
    engine.report(session, (engine.claim(session)[0], "waiting", {"event": "paid"}))
    assert signal(engine, job_id >> 20, "k", event="paid", payload={"n": 2}) == (True, job_id)
    assert engine.claim(session)[0].wake["payload"] == {"n": 2}


@pytest.mark.parametrize(
    ("event", "key", "sqlstate"), [("", "k", "SW001"), ("came", "", "SW001"), ("e" * 201, "k", "SW001")]
)
def test_an_event_without_type_or_key_is_refused(engine: Engine, event: str, key: str, sqlstate: str):
    engine.publish("w", wait("parcel", "came"))
    with pytest.raises(psycopg.Error) as caught:
        signal(engine, engine.start("w"), key, event)
    assert caught.value.sqlstate == sqlstate


def test_a_run_that_ended_or_does_not_exist_refuses_the_event(engine: Engine):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    engine.drain(engine.worker())
    for number, sqlstate in ((run_id, "SW003"), (99, "SW002")):
        with pytest.raises(psycopg.Error) as caught:
            signal(engine, number, "k")
        assert caught.value.sqlstate == sqlstate
