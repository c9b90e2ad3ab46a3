"""Every event has a registered type: no routine writes past the registry; rejects are kept and bounded."""

from __future__ import annotations

import asyncio
import re

import psycopg
import pytest
from psycopg.types.json import Jsonb

import stepwell as sw
from stepwell.client import Client
from stepwell.people import People
from tests.sql.drive import Engine, human, operation
from tests.support.clock import Clock
from tests.tidy.sources import files, read

WRITES = re.compile(r"insert into\s+(?:stepwell\.)?event_log\b", re.IGNORECASE)
FUNCTION = re.compile(r"create or replace function stepwell\.(\w+)\(.*?\n\$\$;", re.DOTALL)
# These look up the registry for every event they write: the one appender, and the core by its rules.
CHECKED = {"_event_born", "_transition_apply"}


@pytest.mark.requirement("SM-18")
def test_no_routine_appends_an_event_past_the_registry():
    found: dict[str, list[str]] = {}
    for path in files(".sql", under="src/stepwell/sql/routines"):
        for match in FUNCTION.finditer(read(path)):
            for write in WRITES.finditer(match[0]):
                # Its event types are written out in the statement; each must be checked in the same function.
                statement = match[0][write.end() :].split(";")[0].split("\n    ), ")[0]
                types = re.findall(r"'([a-z_]+\.[a-z_]+)'", statement)
                found.setdefault(match[1], []).extend(types or ["?"])
        assert len(WRITES.findall(read(path))) == sum(
            len(WRITES.findall(match[0])) for match in FUNCTION.finditer(read(path))
        )
    assert set(found) >= CHECKED
    text = "\n".join(read(path) for path in files(".sql", under="src/stepwell/sql/routines"))
    for name in set(found) - CHECKED:
        body = next(match[0] for match in FUNCTION.finditer(text) if match[1] == name)
        for event_type in found[name]:
            assert f"_event_type_check('{event_type}')" in body, (
                f"{name} writes {event_type} past the registry"
            )
    for checked in CHECKED:
        body = next(match[0] for match in FUNCTION.finditer(text) if match[1] == checked)
        assert "_event_type_check(" in body or "_transition_problems(" in body


@pytest.mark.requirement("SM-18")
@pytest.mark.parametrize(
    ("event_type", "call"),
    [
        ("job.enqueued", "select fn_job_enqueue(1, 'op', array['{}'::jsonb])"),
        ("approval.requested", "select fn_approval_request(1, 'check', 1 << 20, 'ada', 'why')"),
    ],
)
def test_an_unregistered_type_stops_the_call_that_would_write_it(engine: Engine, event_type: str, call: str):
    engine.person("ada")
    engine.publish("w", human("sign"))
    engine.start("w")
    engine.db.execute(
        "update event_type_registry set is_registered = false where event_type = %s", (event_type,)
    )
    with pytest.raises(psycopg.Error, match=f"event type {event_type} is not registered"):
        engine.db.execute(call)
    assert engine.one("select count(*) from event_log where event_type = %s", (event_type,)) == 0


@pytest.mark.requirement("SM-18")
@pytest.mark.parametrize("payload", [None, {}, {"comment_id": "seven"}, [7]])
def test_an_event_that_breaks_its_contract_is_not_written(engine: Engine, payload: object):
    engine.publish("w", human("sign"))
    unit = engine.unit(engine.start("w"), "sign")
    append = "select _event_append(1, %s, 'step.commented', 'ada', %s)"
    with pytest.raises(psycopg.Error, match=r"event step\.commented: ") as caught:
        engine.db.execute(append, (unit, None if payload is None else Jsonb(payload)))
    assert caught.value.sqlstate == "SW004"
    assert "step.commented" not in engine.events(unit)
    engine.db.execute(append, (unit, Jsonb({"comment_id": 7})))
    assert "step.commented" in engine.events(unit)


@pytest.mark.requirement("SM-18")
def test_handlers_emit_registered_types_only(engine: Engine):
    engine.publish("w", operation("call"))
    engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    emit = "select fn_event_emit(%s, 1, %s, %s, %s, %s)"
    given = (session, lease.unit_id, lease.lease_no)
    with pytest.raises(psycopg.Error, match=r"event type order\.shipped is not registered"):
        engine.db.execute(emit, (*given, "order.shipped", Jsonb({"n": 1})))
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    engine.db.execute("select fn_event_type_register(1, 'order.shipped', 'It left', %s)", (Jsonb(schema),))
    engine.db.execute(emit, (*given, "order.shipped", Jsonb({"n": 1})))
    with pytest.raises(psycopg.Error, match=r"event order\.shipped: payload\.n"):
        engine.db.execute(emit, (*given, "order.shipped", Jsonb({"n": "one"})))
    for taken in ("step.completed", "two words", ""):
        with pytest.raises(psycopg.Error, match="event_type:"):
            engine.db.execute("select fn_event_type_register(1, %s)", (taken,))
    assert engine.one("select count(*) from event_log where event_type = 'event.emitted'") == 1


@pytest.mark.requirement("SM-18")
def test_a_wait_that_sends_an_unregistered_event_fails_with_the_reason(engine: Engine):
    engine.publish("w", operation("call"))
    run_id = engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    body = {"event": "paid", "outbound": [{"type": "asked", "payload": {}}]}
    engine.report(session, (lease, "waiting", body))
    assert engine.run_state(run_id) == "failed"
    error = engine.one("select last_error from step_run where step_id = 'call'")
    assert error == {"type": "EventRejected", "message": "event_type_not_registered:asked"}
    kept = engine.db.execute("select event_type, problems from event_validation_audit").fetchall()
    assert kept == [("asked", ["event_type_not_registered:asked"])]
    assert engine.faults() == {}


@pytest.mark.requirement("SM-18")
def test_a_reject_survives_the_refusal(engine: Engine, dsn: str):
    """The call raises, so its transaction is gone; the client keeps what was rejected in another one."""
    engine.publish("w", human("sign"))
    engine.person("ada")
    sign = engine.unit(engine.start("w"), "sign")
    engine.one("select fn_step_claim(1, %s, 'ada')", (sign,))

    async def waits() -> None:
        client = await Client.connect(dsn)
        try:
            for _ in range(3):
                with pytest.raises(sw.Refused):
                    await People(client).step_wait(sign, "ada", ["waiting_moon"])
        finally:
            await client.close()

    asyncio.run(waits())
    row = engine.db.execute(
        """select event_type, unit_id, payload -> 'waiting_facets' ->> 0, reject_count
           from event_validation_audit"""
    ).fetchall()
    assert row == [("step.waiting", sign, "waiting_moon", 3)]


@pytest.mark.requirement("SM-18")
def test_rejects_cannot_be_invented_and_are_bounded(engine: Engine, clock: Clock):
    note = "select fn_event_reject_note(1, %s, null, %s)"
    # What the registry accepts is no reject, whoever says so.
    assert not engine.one(note, ("step.waiting", Jsonb({"waiting_facet": "waiting_human"})))
    engine.db.execute(
        "update dot_config set config_value = '5' where config_key = 'limits.event_rejects_per_hour'"
    )
    kept = [engine.one(note, (f"invented.{at}", Jsonb({}))) for at in range(8)]
    assert kept == [True] * 5 + [False] * 3
    assert engine.one(note, ("invented.0", Jsonb({"again": True})))
    assert engine.one("select array_agg(reject_count order by audit_id) from event_validation_audit") == [
        2,
        1,
        1,
        1,
        1,
    ]
    clock.advance(hours=2)
    assert engine.one(note, ("invented.9", Jsonb({"secret": "x" * 10_000})))
    assert engine.one("select payload from event_validation_audit order by audit_id desc limit 1") is None
