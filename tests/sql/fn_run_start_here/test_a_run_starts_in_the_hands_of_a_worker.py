"""A run and the lease of its first steps in one commit: the same run, the same claim, no detour."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, Lease, operation


def start_here(engine: Engine, session_id: int, workflow: str, limit: int = 100, **named: Any) -> list[Lease]:
    names = "".join(f", {name} => %s" for name in named)
    rows = engine.db.execute(
        f"select * from fn_run_start_here(%s, %s, %s, %s, %s::jsonb[]{names})",
        (session_id, limit, engine.tenant_id, workflow, [Jsonb({"a": 1})], *named.values()),
    ).fetchall()
    return [Lease(*row) for row in rows]


def heard(db: psycopg.Connection) -> list[str]:
    return [word.channel for word in db.notifies(timeout=0)]


def history(engine: Engine, run_id: int) -> list[Any]:
    return engine.db.execute(
        "select unit_id & 1048575, event_type, from_state, to_state, actor_class, split_part(actor, ':', 1)"
        " from event_log where stream_id = %s order by event_id",
        (run_id,),
    ).fetchall()


@pytest.mark.requirement("RT-01", "RT-02")
def test_the_first_steps_are_leased_and_the_log_is_that_of_a_start_and_a_claim(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), operation("c"), edges=[("a", "c"), ("b", "c")])
    session_id = engine.worker()
    started, *leases = start_here(engine, session_id, "w", p_actor="client")
    assert (started.row_kind, started.lease_no) == ("started", 1)
    assert [(lease.row_kind, lease.step_id, lease.input) for lease in leases] == [
        ("lease", "a", {"a": 1}),
        ("lease", "b", {"a": 1}),
    ]
    apart = engine.one(
        "select run_id from fn_run_start(1, 'w', %s::jsonb[], p_actor => 'client')", ([Jsonb({"a": 1})],)
    )
    engine.claim(session_id)
    assert history(engine, started.unit_id) == history(engine, apart)
    engine.complete(session_id, *leases)
    assert engine.states(started.unit_id) == {"a": "completed", "b": "completed", "c": "ready"}


def test_a_key_seen_before_starts_nothing(engine: Engine):
    engine.publish("w", operation("a"))
    session_id = engine.worker()
    first = engine.start("w", ref="K")
    started, *leases = start_here(engine, session_id, "w", p_trigger_refs=["K"])
    assert (started.unit_id, started.lease_no) == (first, 0)
    # What any claim would get: also what somebody else started before.
    assert [lease.unit_id >> 20 for lease in leases] == [first]


def test_nothing_is_started_for_a_session_that_has_ended(engine: Engine):
    engine.publish("w", operation("a"))
    session_id = engine.worker()
    engine.one("select fn_worker_close(%s)", (session_id,))
    with pytest.raises(psycopg.Error) as refusal:
        start_here(engine, session_id, "w")
    assert refusal.value.sqlstate == "SW005"
    assert engine.one("select count(*) from run_detail") == 0


def test_a_bad_input_is_refused_as_by_any_start(engine: Engine):
    engine.publish("w", operation("a"))
    session_id = engine.worker()
    with pytest.raises(psycopg.Error) as refusal:
        start_here(engine, session_id, "w", p_priority=100_000)
    assert refusal.value.sqlstate == "SW001"
    with pytest.raises(psycopg.Error) as missing:
        start_here(engine, session_id, "no such workflow")
    assert missing.value.sqlstate == "SW002"
    assert engine.one("select count(*) from run_detail") == 0


@pytest.mark.parametrize(("limit", "left"), [(100, []), (1, ["stepwell_ready"])])
def test_others_are_woken_for_what_is_left_and_only_then(engine: Engine, db, limit: int, left: list[str]):
    engine.publish("w", operation("a"), operation("b"), edges=[])
    idle = engine.worker("idle")
    assert engine.claim(idle) == []
    session_id = engine.worker()
    db.execute("listen stepwell_ready")
    _, *leases = start_here(engine, session_id, "w", limit)
    assert len(leases) == min(limit, 2)
    assert heard(db) == left
