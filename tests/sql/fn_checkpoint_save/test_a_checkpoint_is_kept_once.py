"""Checkpoints of a handler are saved under its lease, once for each name, and given to the next attempt."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation
from tests.support.clock import Clock

SAVE = "select fn_checkpoint_save(%s, 1, %s, %s, %s, %s)"


@pytest.fixture
def held(engine: Engine):
    engine.publish("w", operation("a", retry={"max_attempts": 3, "initial_seconds": 0}))
    engine.start("w")
    session = engine.worker(lease_seconds=30)
    return session, engine.claim(session)[0]


def test_the_first_value_saved_under_a_name_is_kept(engine: Engine, held):
    session, lease = held
    values = [
        engine.one(SAVE, (session, lease.unit_id, lease.lease_no, "fetch", Jsonb(value))) for value in (1, 2)
    ]
    assert values == [1, 1]
    assert engine.events(lease.unit_id).count("checkpoint.saved") == 1


def test_the_next_attempt_receives_the_checkpoints(engine: Engine, held):
    session, lease = held
    engine.one(SAVE, (session, lease.unit_id, lease.lease_no, "fetch", Jsonb({"n": 1})))
    engine.report(session, (lease, "failed", {"error": {"type": "E"}}))
    engine.timers()
    (again,) = engine.claim(session)
    assert again.checkpoints == {"fetch": {"n": 1}}


def test_without_the_lease_nothing_is_saved(engine: Engine, held, clock: Clock):
    session, lease = held
    late = (session, lease.unit_id, lease.lease_no, "x", Jsonb(1))
    for change in ((session + 1, *late[1:]), (session, lease.unit_id, 9, "x", Jsonb(1))):
        with pytest.raises(psycopg.Error) as caught:
            engine.one(SAVE, change)
        assert caught.value.sqlstate == "SW005"
    clock.advance(seconds=31)
    for query, parameters in (
        (SAVE, late),
        ("select fn_event_emit(%s, 1, %s, %s, 'told', %s)", (*late[:3], Jsonb({}))),
    ):
        with pytest.raises(psycopg.Error) as caught:
            engine.one(query, parameters)
        assert caught.value.sqlstate == "SW005"
    assert engine.one("select count(*) from unit_checkpoint") == 0


@pytest.mark.parametrize("name", ["", "n" * 201])
def test_a_checkpoint_name_that_is_empty_or_too_long_is_refused(engine: Engine, held, name: str):
    session, lease = held
    with pytest.raises(psycopg.Error) as caught:
        engine.one(SAVE, (session, lease.unit_id, lease.lease_no, name, Jsonb(1)))
    assert caught.value.sqlstate == "SW006"


def test_a_handler_emits_an_event_of_its_own(engine: Engine, held):
    session, lease = held
    engine.db.execute("select fn_event_type_register(1, 'parcel.packed')")
    engine.db.execute(
        "select fn_event_emit(%s, 1, %s, %s, 'parcel.packed', %s)",
        (session, lease.unit_id, lease.lease_no, Jsonb({"boxes": 2})),
    )
    row = engine.db.execute(
        "select unit_id, actor_class, payload from event_log where event_type = 'event.emitted'"
    ).fetchone()
    assert row == (lease.unit_id, "executor_worker", {"type": "parcel.packed", "payload": {"boxes": 2}})
