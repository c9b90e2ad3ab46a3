"""`fn_run_start_here` starts a run and leases its first steps in one commit, as a start and a claim would."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, Lease, operation


def start_here(
    engine: Engine, session_key: int, workflow: str, limit: int = 100, **named: Any
) -> list[Lease]:
    names = "".join(f", {name} => %s" for name in named)
    rows = engine.db.execute(
        f"select * from fn_run_start_here(%s, %s, %s, %s, %s::jsonb[]{names})",
        (session_key, limit, engine.tenant_id, workflow, [Jsonb({"a": 1})], *named.values()),
    ).fetchall()
    return [Lease(*row) for row in rows]


def heard(db: psycopg.Connection) -> list[str]:
    return [notice.channel for notice in db.notifies(timeout=0)]


def history(engine: Engine, run_id: int) -> list[Any]:
    """Events ordered by unit: two steps that start at the same time have no order."""
    return engine.db.execute(
        "select unit_id & 1048575, event_type, from_state, to_state, actor_class, actor, audit_ref,"
        " request_id from event_log where run_id = %s order by unit_id, event_id",
        (run_id,),
    ).fetchall()


def leases_of(engine: Engine, run_id: int) -> list[Any]:
    return engine.db.execute(
        "select unit_id & 1048575, state_code, lease_session_id, lease_no from work_unit"
        " where unit_id >> 20 = %s order by unit_id",
        (run_id,),
    ).fetchall()


def taken(leases: list[Lease]) -> list[str]:
    return sorted(lease.step_id or str(lease.operation) for lease in leases)


@pytest.mark.requirement("RT-01", "RT-02")
def test_the_first_steps_are_leased_and_the_log_equals_a_start_and_a_claim(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), operation("c"), edges=[("a", "c"), ("b", "c")])
    session_key = engine.worker()
    started, *leases = start_here(engine, session_key, "w", p_actor="client")
    assert (started.row_kind, started.lease_no) == ("started", 1)
    assert [(lease.row_kind, lease.step_id, lease.input) for lease in leases] == [
        ("lease", "a", {"a": 1}),
        ("lease", "b", {"a": 1}),
    ]
    separate = engine.one(
        "select run_id from fn_run_start(1, 'w', %s::jsonb[], p_actor => 'client')", ([Jsonb({"a": 1})],)
    )
    engine.claim(session_key)
    assert history(engine, started.unit_id) == history(engine, separate)
    assert leases_of(engine, started.unit_id) == leases_of(engine, separate)
    assert engine.faults() == {}
    engine.complete(session_key, *leases)
    assert engine.states(started.unit_id) == {"a": "completed", "b": "completed", "c": "ready"}


def test_a_known_key_starts_no_second_run(engine: Engine):
    engine.publish("w", operation("a"))
    session_key = engine.worker()
    first = engine.start("w", ref="K")
    started, *leases = start_here(engine, session_key, "w", p_trigger_refs=["K"])
    assert (started.unit_id, started.lease_no) == (first, 0)
    # The call claims as any claim does: it also leases the first step of the earlier run.
    assert [lease.unit_id >> 20 for lease in leases] == [first]


def test_a_closed_session_cannot_start_a_run(engine: Engine):
    engine.publish("w", operation("a"))
    session_key = engine.worker()
    engine.one("select fn_worker_close(%s)", (session_key,))
    with pytest.raises(psycopg.Error) as refusal:
        start_here(engine, session_key, "w")
    assert refusal.value.sqlstate == "SW005"
    assert engine.one("select count(*) from run_detail") == 0


def test_a_wrong_parameter_is_refused_as_by_fn_run_start(engine: Engine):
    engine.publish("w", operation("a"))
    session_key = engine.worker()
    with pytest.raises(psycopg.Error) as refusal:
        start_here(engine, session_key, "w", p_priority=100_000)
    assert refusal.value.sqlstate == "SW001"
    with pytest.raises(psycopg.Error) as missing:
        start_here(engine, session_key, "no such workflow")
    assert missing.value.sqlstate == "SW002"
    assert engine.one("select count(*) from run_detail") == 0


@pytest.mark.parametrize(("limit", "left"), [(100, []), (1, ["stepwell_ready"])])
def test_other_workers_are_woken_only_if_a_first_step_is_left(
    engine: Engine, db, limit: int, left: list[str]
):
    engine.publish("w", operation("a"), operation("b"), edges=[])
    idle = engine.worker("idle")
    assert engine.claim(idle) == []
    session_key = engine.worker()
    db.execute("listen stepwell_ready")
    _, *leases = start_here(engine, session_key, "w", limit)
    assert len(leases) == min(limit, 2)
    assert heard(db) == left


def test_the_first_steps_do_not_pass_through_the_queue(engine: Engine, db):
    engine.publish("w", operation("a"), operation("b"), edges=[])
    session_key = engine.worker()
    db.execute(
        "create function pg_temp.refuse() returns trigger language plpgsql as"
        " $$ begin raise exception 'queued'; end $$"
    )
    db.execute(
        "create trigger refuse before insert on job_ready for each row execute function pg_temp.refuse()"
    )
    assert taken(start_here(engine, session_key, "w")[1:]) == ["a", "b"]


def test_an_older_job_in_the_queue_comes_before_the_first_steps(engine: Engine):
    engine.publish("w", operation("a"))
    session_key = engine.worker()
    engine.enqueue("older")
    started, *leases = start_here(engine, session_key, "w", 1)
    assert taken(leases) == ["older"]
    assert engine.states(started.unit_id) == {"a": "ready"}
    assert taken(engine.claim(session_key)) == ["a"]
    assert engine.faults() == {}


def test_first_steps_are_leased_by_priority(engine: Engine):
    engine.publish("w", operation("a"), operation("b", priority=5), operation("c"), edges=[])
    session_key = engine.worker()
    assert taken(start_here(engine, session_key, "w", 1)[1:]) == ["b"]
    assert taken(engine.claim(session_key, 1)) == ["a"]


def test_a_first_step_of_another_executor_is_left_to_its_worker(engine: Engine, db):
    engine.one("select fn_operation_register(1, %s)", (Jsonb([{"name": "b", "executor": "process"}]),))
    engine.publish("w", operation("a"), operation("b"), edges=[])
    other = engine.worker("other", ["process"])
    assert engine.claim(other) == []
    db.execute("listen stepwell_ready")
    assert taken(start_here(engine, engine.worker(), "w")[1:]) == ["a"]
    assert heard(db) == ["stepwell_ready"]
    assert taken(engine.claim(other)) == ["b"]


def test_the_limit_of_a_group_applies_to_the_first_steps(engine: Engine):
    engine.publish(
        "w", operation("a", group=1), operation("b", group=1), edges=[],
        groups=[{"no": 1, "max_concurrency": 1}],
    )  # fmt: skip
    session_key = engine.worker()
    _, *leases = start_here(engine, session_key, "w")
    assert taken(leases) == ["a"]
    assert taken(engine.complete(session_key, *leases)) == []
    assert taken(engine.claim(session_key)) == ["b"]
    assert engine.faults() == {}


def test_the_cap_of_the_tenant_applies_to_the_first_steps(engine: Engine, db):
    engine.publish("w", operation("a"), operation("b"), edges=[])
    db.execute("update tenant set max_concurrency = 1 where tenant_id = 1")
    session_key = engine.worker()
    _, *leases = start_here(engine, session_key, "w")
    assert len(leases) == 1
    assert engine.claim(session_key) == []
    assert engine.faults() == {}


def test_another_tenant_in_the_queue_gets_its_share(engine: Engine):
    engine.publish("w", operation("a"), operation("b"), edges=[])
    other = Engine(
        engine.db, engine.one("insert into tenant (tenant_code) values ('other') returning tenant_id")
    )
    other.enqueue("job", 10)
    assert taken(start_here(engine, engine.worker(), "w", 2)[1:]) == ["a", "job"]
    assert engine.faults() == {}


def test_nothing_is_leased_for_a_tenant_that_does_not_exist(db: psycopg.Connection):
    unknown = Engine(db, tenant_id=77)
    unknown.publish("w", operation("a"))
    started, *leases = start_here(unknown, unknown.worker(), "w")
    assert (started.row_kind, leases) == ("started", [])
    assert leases_of(unknown, started.unit_id)[1][1:3] == ("ready", None)
