"""Retention deletes old ended work with all its rows, counts it, and deletes nothing else."""

from __future__ import annotations

from tests.sql.drive import Engine, operation, subworkflow, wait
from tests.support.clock import Clock


def sweep(engine: Engine) -> dict[str, int]:
    rows = engine.db.execute("select swept, removed_count from fn_retention_sweep() where removed_count > 0")
    return dict(rows.fetchall())


def tables_with_rows(engine: Engine) -> set[str]:
    names = [
        name
        for (name,) in engine.db.execute(
            """select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
               where c.relnamespace = 'stepwell'::regnamespace and c.relkind = 'r' and not c.relispartition
                   and a.attname in ('unit_id', 'run_id', 'job_id', 'run_id', 'approval_id')"""
        )
    ]
    # How far the checks of invariants have come is one row.
    return {
        name for name in names if name != "integrity_watch" and engine.one(f"select count(*) from {name}")
    }


def test_an_ended_run_is_deleted_with_all_its_rows(engine: Engine, clock: Clock):
    engine.publish("inner", operation("x"))
    engine.publish(
        "w", operation("a", group=1, retry={"max_attempts": 2, "initial_seconds": 0}), wait("parcel", "came"),
        subworkflow("call", "inner"), groups=[{"no": 1, "max_concurrency": 1}],
    )  # fmt: skip
    run_id = engine.start("w")
    session = engine.worker(lease_seconds=1000)
    (lease,) = engine.claim(session)
    engine.one("select fn_checkpoint_save(%s, 1, %s, 1, 'x', '1')", (session, lease.unit_id))
    engine.report(session, (lease, "failed", {"error": {"type": "E"}}))
    engine.timers()
    engine.drain(session)
    engine.db.execute("select fn_signal(1, %s, 'came', '{}', 'k')", (run_id,))
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    engine.one("select fn_worker_close(%s)", (session,))
    clock.advance(days=89)
    engine.db.execute("select fn_partitions_ensure()")
    assert "runs" not in sweep(engine)
    clock.advance(days=2)
    removed = sweep(engine)
    assert removed["runs"] == 2
    assert tables_with_rows(engine) == set()
    assert engine.one("select count(*) from concurrency_slot") == 0
    assert sweep(engine) == {}


def test_every_table_with_rows_of_units_is_swept(engine: Engine):
    """A table that a later migration adds must be named in `_units_delete`."""
    source = engine.one("select prosrc from pg_proc where proname = '_units_delete'")
    tables = engine.db.execute(
        """select c.relname from pg_constraint k join pg_class c on c.oid = k.conrelid
           where c.relnamespace = 'stepwell'::regnamespace and k.contype = 'p' and not c.relispartition
               and (select array_agg(a.attname::text order by x.place)
                    from unnest(k.conkey) with ordinality as x (number, place)
                    join pg_attribute a on a.attrelid = c.oid and a.attnum = x.number)[1:2]
                   = '{tenant_id,unit_id}'"""
    ).fetchall()
    # Dead letters have their own retention.
    assert [name for (name,) in tables if f"'{name}'" not in source] == ["job_dead_letter"]


def test_the_items_and_limits_of_a_map_are_deleted_with_their_run(engine: Engine, clock: Clock):
    engine.publish(
        "w", {"id": "each", "kind": "map", "over": "$.input.items", "max_concurrency": 1},
        operation("x", scope=1), edges=[],
    )  # fmt: skip
    engine.start("w", {"items": [1, 2, 3]})
    session = engine.worker()
    engine.drain(session)
    assert engine.one("select count(*) from map_item") == 3
    clock.advance(days=91)
    engine.db.execute("select fn_partitions_ensure()")
    assert sweep(engine)["runs"] == 1
    assert engine.one("select count(*) from map_item") == 0
    assert engine.one("select count(*) from concurrency_slot") == 0


def test_open_work_is_kept_however_old_it_is(engine: Engine, clock: Clock):
    engine.publish("w", wait("parcel", "came"))
    run_id = engine.start("w")
    engine.enqueue("op", 3)
    clock.advance(days=380)
    engine.db.execute("select fn_partitions_ensure()")
    assert sweep(engine) == {}
    assert engine.states(run_id) == {"parcel": "waiting"}
    assert engine.one("select count(*) from job_ready") == 3


def test_a_sub_run_is_kept_as_long_as_its_parent_run(engine: Engine, clock: Clock):
    engine.publish("inner", operation("x"))
    engine.publish("w", subworkflow("call", "inner"), wait("parcel", "came"))
    engine.start("w")
    engine.drain(engine.worker())
    clock.advance(days=100)
    engine.db.execute("select fn_partitions_ensure()")
    assert "runs" not in sweep(engine)


def test_a_run_with_an_unresolved_dead_letter_is_kept_longer(engine: Engine, clock: Clock):
    engine.publish("w", operation("a"))
    engine.start("w")
    (job_id,) = engine.enqueue("op")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    clock.advance(days=100)
    engine.db.execute("select fn_partitions_ensure()")
    assert not {"runs", "jobs", "dead_letters"} & set(sweep(engine))
    assert engine.state(job_id) == "cannot_complete"
    clock.advance(days=90)
    engine.db.execute("select fn_partitions_ensure()")
    removed = sweep(engine)
    assert (removed["runs"], removed["jobs"], removed["dead_letters"]) == (1, 1, 2)


def test_ended_jobs_are_deleted_in_bounded_batches(engine: Engine, clock: Clock):
    engine.enqueue("op", 25)
    engine.drain(engine.worker())
    clock.advance(days=91)
    engine.db.execute("select fn_partitions_ensure()")
    counts = [
        engine.one("select removed_count from fn_retention_sweep(10) where swept = 'jobs'") for _ in range(4)
    ]
    assert counts == [10, 10, 5, 0]


def test_keys_events_and_sessions_have_their_own_retention(engine: Engine, clock: Clock):
    engine.publish("w", wait("one", "came"), wait("two", "late"))
    run_id = engine.start("w")
    engine.db.execute("select fn_signal(1, %s, 'came', '{}', 'taken')", (run_id,))
    engine.db.execute("select fn_signal(1, %s, 'other', '{}', 'kept')", (run_id,))
    engine.db.execute(
        "select fn_state_transition_validate(%s, 'workflow_run', 'in_progress', 'paused', 'reviewer', 'rpc', "
        "'workflow_pause', '{\"idempotency_key\": \"k\"}')",
        (run_id << 20,),
    )
    engine.one("select fn_worker_close(%s)", (engine.worker(),))
    clock.advance(days=8)
    assert sweep(engine) == {"transition_idempotency": 1, "worker_session": 1}
    clock.advance(days=23)
    engine.db.execute("select fn_partitions_ensure()")
    assert sweep(engine) == {"event_inbox": 1}
    assert engine.one("select event_key from event_inbox") == "kept"


def test_settled_replays_are_deleted_with_their_approvals(engine: Engine, clock: Clock):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    session = engine.worker()
    engine.kill(session, *engine.claim(session))
    engine.one("select fn_run_retry(1, %s, 'cli:ada')", (run_id,))
    engine.drain(session)
    clock.advance(days=401)
    engine.db.execute("select fn_partitions_ensure()")
    removed = sweep(engine)
    assert (removed["runs"], removed["replays"], removed["dead_letters"]) == (1, 1, 1)
    assert tables_with_rows(engine) == set()


def test_a_run_that_is_older_than_the_log_is_no_fault(engine: Engine, clock: Clock):
    """It waits for longer than the log is stored: its events are gone, and its states hold."""
    engine.publish("w", wait("parcel", "came"))
    run_id = engine.start("w")
    engine.db.execute("select fn_audit_seal(1)")
    clock.advance(days=450)
    engine.db.execute("select fn_partitions_ensure()")
    assert sweep(engine)["event_log_months"] >= 1
    assert engine.one("select count(*) from event_log where run_id = %s", (run_id,)) == 0
    assert engine.faults() == {}
    engine.db.execute("select fn_signal(1, %s, 'came', '{}', 'k')", (run_id,))
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}
