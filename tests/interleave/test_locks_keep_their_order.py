"""No session waits for a row that comes before a row it holds, so no two calls can cause a deadlock."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

import stepwell as sw
from stepwell.errors import COLLISION_SQLSTATES
from stepwell.testing import check_invariants
from tests.interleave.lock_stress import ACTIONS, prepare, stress
from tests.sql.drive import Engine
from tests.sql.graphs.publishing import publish
from tests.support.lock_order import KEYS, LockWatch, lock_order

# How long the stress test runs at least; `make chaos` sets ten minutes.
SECONDS = float(os.environ.get("STEPWELL_STRESS_SECONDS", "0"))


def test_the_lock_order_names_every_table_that_the_watch_reads():
    assert set(KEYS) <= set(lock_order())


@pytest.mark.timeout(900 + SECONDS)
@pytest.mark.parametrize("seed", [1])
def test_many_sessions_with_random_calls_have_no_deadlock(dsn, db, seed):
    prepare(Engine(db))
    with LockWatch(dsn) as watch:
        counts, deadlocks = stress(dsn, seed, actors=6, calls=60, seconds=SECONDS)
    assert (deadlocks, watch.faults) == ([], set()), counts
    assert watch.wait_count > 0, "no session waited for another"
    assert {name for name, _ in ACTIONS} <= set(counts), "a call never succeeded"
    assert check_invariants(dsn) == []


def rounds(dsn: str, count: int, *acts: Callable[[Engine, int], Any]) -> Counter[str]:
    """Makes all calls at once in each round, each on its own connection; counts collisions by SQLSTATE."""
    found: Counter[str] = Counter()
    together = threading.Barrier(len(acts))
    broken: list[BaseException] = []

    def play(act: Callable[[Engine, int], Any]) -> None:
        options = "-csearch_path=stepwell,public -cdeadlock_timeout=20ms"
        try:
            with psycopg.connect(dsn, autocommit=True, options=options) as db:
                for number in range(count):
                    together.wait(60)
                    try:
                        act(Engine(db), number)
                    except psycopg.Error as error:
                        if error.sqlstate not in COLLISION_SQLSTATES:
                            raise
                        found[str(error.sqlstate)] += 1
        except BaseException as error:
            broken.append(error)
            together.abort()

    threads = [threading.Thread(target=play, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broken:
        raise broken[0]
    return found


def test_reports_with_two_keys_in_different_order_have_no_deadlock(dsn, db):
    """The slots of failed units and of released units were once locked in two rounds: b and a, or a and b."""

    def reporter(first: str, second: str) -> Callable[[Engine, int], None]:
        def act(engine: Engine, _: int) -> None:
            for key in (first, second):
                engine.enqueue("op", 5, p_concurrency_key=key, p_max_concurrency=1000)
            session = engine.worker()
            leases = engine.claim(session, 10)
            keys = dict(
                engine.db.execute(
                    "select unit_id, slot_key from work_unit where unit_id = any (%s)",
                    ([lease.unit_id for lease in leases],),
                ).fetchall()
            )
            error = {"error": {"type": "E"}, "seconds": 60}
            engine.report(
                session,
                *(
                    (lease, "failed", error)
                    if keys[lease.unit_id] == f"key:{first}"
                    else (lease, "released", None)
                    for lease in leases
                ),
            )

        return act

    found = rounds(dsn, 60, reporter("a", "b"), reporter("b", "a"))
    assert found["40P01"] == 0, found
    assert check_invariants(dsn) == []


def test_jobs_with_the_same_keys_in_different_order_do_not_collide(dsn, db):
    def enqueuer(step: int) -> Callable[[Engine, int], None]:
        def act(engine: Engine, number: int) -> None:
            keys = [f"{number}-{key}" for key in range(200)][::step]
            engine.enqueue("op", 200, p_keys=keys)

        return act

    found = rounds(dsn, 30, enqueuer(1), enqueuer(-1))
    assert found == Counter()
    assert db.execute("select count(*) from job_detail").fetchone() == (6000,)


def test_jobs_keep_the_order_of_the_call_and_not_of_their_keys(dsn, db):
    engine = Engine(db)
    made = engine.enqueue("op", 3, p_keys=["c", "a", "b"])
    assert made == sorted(made)
    rows = db.execute("select idempotency_key from job_detail order by job_id").fetchall()
    assert [key for (key,) in rows] == ["c", "a", "b"]


def test_a_cancel_locks_the_subruns_in_the_order_of_their_ids(sessions, dsn, db):
    """A subrun of a subrun can have a higher id than another subrun; the lower id is locked first."""
    engine = Engine(db)
    step = sw.Operation("op", id="s")
    publish(engine, step, name="deep")
    publish(engine, sw.Sequential(sw.Operation("op", id="first"), sw.SubWorkflow("deep")), name="left")
    publish(engine, sw.Operation("op", id="r"), name="right")
    publish(engine, sw.Parallel(sw.SubWorkflow("left"), sw.SubWorkflow("right")), name="top")
    top = engine.start("top")
    worker = engine.worker()
    (first,) = [lease for lease in engine.claim(worker) if lease.step_id == "first"]
    engine.complete(worker, first)
    names = dict(
        db.execute(
            "select workflow_name, run_id from run_detail"
            " inner join workflow_registry using (tenant_id, workflow_id)"
        ).fetchall()
    )
    assert names["left"] < names["right"] < names["deep"]
    reporting, cancelling = sessions(), sessions()
    lock = "select _runs_lock(array[1], array[%s])"
    reporting.one(lock, (names["right"] << 20,))
    cancelled = cancelling.start_blocked(
        lambda: cancelling.one("select fn_run_cancel(1, %s, 'cli:ben')", (top,))
    )
    reporting.one(lock, (names["deep"] << 20,))
    reporting.commit()
    assert cancelled.result(60) == "cancelled"
    cancelling.commit()
    assert {state for (state,) in db.execute("select state_code from workflow_run")} == {"cancelled"}
    assert check_invariants(dsn) == []


def test_a_worker_that_stops_does_not_wait_for_what_another_worker_has_now(sessions, db):
    """Its list of leases may name units that it returned before; another session reports them now."""
    engine = Engine(db)
    engine.enqueue("op", 2)
    old = engine.worker()
    engine.report(old, *((lease, "released", None) for lease in engine.claim(old)))
    new = engine.worker()
    leases = engine.claim(new)
    assert len(leases) == 2
    reporting, closing = sessions(), sessions()
    reporting.complete(new, leases[1])
    closing.db.execute("set lock_timeout = '20s'")
    assert closing.one("select fn_worker_close(%s)", (old,)) == 0
    reporting.complete(new, leases[0])
    reporting.commit()
    closing.commit()
    assert engine.faults() == {}
