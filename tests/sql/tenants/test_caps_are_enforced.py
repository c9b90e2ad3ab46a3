"""Caps of tenants and workflows limit claims and starts, and can change while units are leased."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation
from tests.support.clock import Clock

pytestmark = pytest.mark.requirement("RT-04")


def caps(engine: Engine, **settings: int | None) -> None:
    engine.db.execute("select fn_tenant_set('default', %s)", (Jsonb(settings),))


def workflow_caps(engine: Engine, name: str, **settings: int | None) -> None:
    engine.db.execute("select fn_workflow_caps_set(1, %s, %s)", (name, Jsonb(settings)))


def test_a_tenant_never_has_more_leased_than_its_cap(engine: Engine):
    caps(engine, max_concurrency=3)
    engine.enqueue("job", 10)
    one, two = engine.worker("one"), engine.worker("two")
    first = engine.claim(one, 2)
    second = engine.claim(two, 100)
    assert (len(first), len(second)) == (2, 1)
    assert engine.claim(one) == []
    assert len(engine.report(one, (first[0], "completed", None), claim_limit=100)) == 1
    engine.complete(two, *second)
    assert len(engine.claim(two)) == 1
    assert engine.faults() == {}


def test_a_cap_counts_the_leases_of_all_executors(engine: Engine):
    engine.db.execute("select fn_operation_register(1, %s)", (Jsonb([{"name": "p", "executor": "process"}]),))
    caps(engine, max_concurrency=3)
    engine.enqueue("job", 10)
    engine.enqueue("p", 10)
    assert len(engine.claim(engine.worker("both", ["default", "process"]))) == 3


def test_a_report_leases_released_steps_only_up_to_the_cap(engine: Engine):
    steps = [operation("a"), *(operation(f"b{n}") for n in range(5))]
    engine.publish("w", *steps, edges=[("a", f"b{n}") for n in range(5)])
    caps(engine, max_concurrency=2)
    engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    assert len(engine.report(session, (lease, "completed", None), claim_limit=10)) == 2
    assert engine.faults() == {}


def test_units_leased_before_the_cap_was_set_count(engine: Engine):
    engine.enqueue("job", 10)
    session = engine.worker()
    leased = engine.claim(session, 4)
    caps(engine, max_concurrency=5)
    assert len(engine.claim(session)) == 1
    caps(engine, max_concurrency=None)
    assert len(engine.claim(session)) == 5
    engine.complete(session, *leased)


def test_a_recovered_lease_no_longer_counts(engine: Engine, clock: Clock):
    caps(engine, max_concurrency=1)
    engine.enqueue("job", 2)
    engine.claim(engine.worker("lost", lease_seconds=10))
    clock.advance(minutes=1)
    engine.db.execute("select fn_leases_recover()")
    assert len(engine.claim(engine.worker("next"))) == 1


def test_the_reason_names_the_cap(engine: Engine):
    caps(engine, max_concurrency=1)
    _, second = engine.enqueue("job", 2)
    engine.claim(engine.worker())
    code, sentence, *_ = engine.why(second)
    assert code == "tenant_cap"
    assert sentence.endswith("but its tenant has 1 leased already, which is its cap.")


def test_more_runs_than_allowed_in_a_minute_are_refused(engine: Engine, clock: Clock):
    engine.publish("w", operation("a"))
    caps(engine, max_runs_per_min=3)
    for _ in range(3):
        engine.start("w")
    with pytest.raises(psycopg.Error, match="tenant default may start 3 runs a minute") as refused:
        engine.start("w")
    assert (refused.value.sqlstate, refused.value.diag.column_name) == ("SW006", "max_runs_per_min")
    clock.advance(seconds=61)
    engine.start("w")


def test_a_start_with_a_known_key_does_not_count(engine: Engine):
    engine.publish("w", operation("a"))
    caps(engine, max_runs_per_min=1)
    first = engine.start("w", ref="A-1")
    assert engine.start("w", ref="A-1") == first


def test_a_refused_start_writes_nothing(engine: Engine):
    engine.publish("w", operation("a"))
    caps(engine, max_runs_per_min=2)
    with pytest.raises(psycopg.Error, match="runs a minute"):
        engine.db.execute("select * from fn_run_start(1, 'w', array_fill('{}'::jsonb, array[3]))")
    assert engine.one("select count(*) from work_unit") == 0


def test_a_workflow_has_its_own_caps(engine: Engine):
    engine.publish("w", operation("a"))
    engine.publish("other", operation("a"))
    caps(engine, max_runs_per_min=1)
    workflow_caps(engine, "w", max_runs_per_min=3)
    for _ in range(3):
        engine.start("w")
    with pytest.raises(psycopg.Error, match="workflow w may start 3 runs a minute"):
        engine.start("w")
    with pytest.raises(psycopg.Error, match="tenant default may start 1 runs a minute"):
        engine.start("other")


def test_a_workflow_never_has_more_steps_leased_than_its_cap(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), edges=[])
    engine.publish("other", operation("c"))
    workflow_caps(engine, "w", max_concurrency=3)
    for _ in range(4):
        engine.start("w")
    engine.start("other")
    session = engine.worker()
    found = engine.claim(session)
    assert sorted(str(lease.step_id) for lease in found) == ["a", "a", "b", "c"]
    workflow_caps(engine, "w", max_concurrency=4)
    assert len(engine.claim(session)) == 1
    workflow_caps(engine, "w", max_concurrency=None)
    assert len(engine.claim(session)) == 4
    assert engine.faults() == {}


def test_two_starts_at_the_same_time_are_counted_one_after_the_other(engine: Engine, dsn: str):
    engine.publish("w", operation("a"))
    caps(engine, max_runs_per_min=1)
    start = "select * from stepwell.fn_run_start(1, 'w', array['{}'::jsonb])"
    with psycopg.connect(dsn) as first, psycopg.connect(dsn) as second:
        first.execute(start)
        second.execute("set lock_timeout = '100ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            second.execute(start)
        second.rollback()
        first.commit()
        with pytest.raises(psycopg.Error, match="runs a minute"):
            second.execute(start)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_concurrency": 0}, "max_concurrency: 0 is not accepted; a whole number from 1 to 1000000 is"),
        ({"weight": None}, "weight: null is not accepted; a whole number from 1 to 1000 is"),
        ({"max_runs_per_min": "many"}, 'max_runs_per_min: "many" is not accepted'),
        ({"speed": 3}, "speed: is not a setting; known settings are weight, max_concurrency"),
    ],
)
def test_an_error_names_the_wrong_setting(engine: Engine, settings, message):
    with pytest.raises(psycopg.Error, match=message) as refused:
        engine.db.execute("select fn_tenant_set('default', %s)", (Jsonb(settings),))
    assert refused.value.sqlstate == "SW001"
