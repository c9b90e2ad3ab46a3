"""With a stopped clock no time passes between two changes, and the engine still works correctly."""

from __future__ import annotations

from datetime import timedelta

import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, operation, wait
from tests.sql.people.asking import People


@pytest.fixture(autouse=True)
def stopped(engine: Engine) -> None:
    engine.db.execute("insert into clock_shift (shift, stopped_at) values ('0', clock_timestamp())")


def jump(engine: Engine, delta: timedelta) -> None:
    engine.db.execute("update clock_shift set shift = shift + %s", (delta,))


def test_time_passes_only_when_it_is_moved(engine: Engine):
    before = engine.one("select stepwell.now()")
    assert engine.one("select clock_timestamp()") > before
    assert engine.one("select stepwell.now()") == before
    jump(engine, timedelta(days=40))
    assert engine.one("select stepwell.now()") == before + timedelta(days=40)


def test_events_of_one_type_are_consumed_in_the_order_of_arrival(engine: Engine):
    engine.publish("w", operation("first"), *(wait(f"w{no}", "came") for no in range(5)))
    run_id = engine.start("w")
    for no, key in enumerate("ebdac"):
        engine.db.execute("select fn_signal(1, %s, 'came', %s, %s)", (run_id, Jsonb({"no": no}), key))
    engine.drain(engine.worker())
    found = engine.db.execute(
        "select output ->> 'no' from step_run where step_kind = 'wait' order by step_no"
    )
    assert [no for (no,) in found] == ["0", "1", "2", "3", "4"]


def test_a_job_can_die_be_replayed_and_fail_again_at_the_same_time(engine: Engine):
    (job_id,) = engine.enqueue("op")
    session = engine.worker()
    for _ in range(2):
        engine.kill(session, *engine.claim(session))
        engine.db.execute("select fn_job_retry(1, %s, 'cli:ada', 'fixed')", (job_id,))
    error = {"error": {"type": "E"}, "delay_seconds": 60}
    engine.report(session, (engine.claim(session)[0], "failed", error))
    # The new failure is not confused with the earlier ones, which happened at the same time.
    assert engine.state(job_id) == "failed"
    assert engine.one("select due_at - stepwell.now() from timer") == timedelta(seconds=60)
    assert engine.one("select count(*) from job_dead_letter where resolution = 'replayed'") == 2
    assert engine.faults() == {}


def test_a_timer_fires_exactly_when_due_and_the_next_one_counts_from_then(engine: Engine):
    engine.publish("w", operation("nap"))
    engine.start("w")
    session = engine.worker(lease_seconds=86_400)
    began_at = engine.one("select stepwell.now()")
    for no in range(1, 4):
        asleep = {"seconds": 3600, "checkpoint": f"sleep:{no}"}
        engine.report(session, (engine.claim(session)[0], "sleep", asleep))
        assert engine.one("select due_at from timer") == began_at + timedelta(hours=no)
        jump(engine, timedelta(hours=1))
        assert engine.timers() == 1
    assert engine.faults() == {}


def test_a_deadline_has_passed_at_exactly_its_time(engine: Engine):
    people = People(engine)
    people.add("ada", "office")
    engine.publish("w", human("sign", role="office", deadline=3600))
    unit = engine.unit(engine.start("w"), "sign")
    people.claim(unit, "ada")
    jump(engine, timedelta(seconds=3600))
    assert engine.timers() == 1
    assert engine.state(unit) == "overdue"
    assert engine.one("select is_late from v_human_step where step_run_id = %s", (unit,))
    assert engine.faults() == {}


def test_an_approval_is_cancelled_when_its_step_completes_at_the_same_time(engine: Engine):
    people = People(engine)
    people.add("ada", "office")
    engine.publish("w", human("sign", role="office"))
    unit = engine.unit(engine.start("w"), "sign")
    approval = engine.one("select fn_approval_request(1, 'escalate', %s, 'ada')", (unit,))
    people.claim(unit, "ada")
    people.complete(unit, "ada", {})
    assert engine.state(approval) == "cancelled"
    assert engine.faults() == {}
