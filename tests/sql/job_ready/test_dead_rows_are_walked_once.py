"""While an open transaction keeps the rows of claimed jobs, looks at the queue read no more pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.sql.drive import Engine, operation
from tests.sql.job_ready.pinned import bury, pages, pin, warm
from tests.support.clock import Clock

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database

KINDS = ["reader", "writer", "putter"]


@pytest.fixture
def open_one(dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(dsn, options="-csearch_path=stepwell") as connection:
        yield connection
        connection.rollback()


def remembers(engine: Engine) -> bool:
    return engine.one("select current_setting('stepwell.gaps', true)") == "on"


def claims(engine: Engine, session: int, count: int = 4) -> list[int]:
    """The pages of so many claims of five."""
    return [pages(engine, "fn_job_claim(%s, 5)", session) for _ in range(count)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_claim_reads_as_much_as_without_dead_rows(engine: Engine, open_one, kind: str):
    session = engine.worker()
    engine.enqueue("op", 40)
    free = max(claims(engine, session, 8)[2:])
    pin(open_one, kind)
    bury(engine, "op")
    engine.enqueue("op", 40)
    pinned = claims(engine, session, 8)
    assert max(pinned[2:]) <= 1.5 * free, (free, pinned)
    assert remembers(engine)


@pytest.mark.parametrize("kind", KINDS)
def test_a_look_at_an_empty_queue_reads_a_few_pages(engine: Engine, open_one, kind: str):
    pin(open_one, kind)
    bury(engine, "op")
    session = engine.worker()
    warm(engine, session)
    assert pages(engine, "fn_job_claim(%s, 5)", session) <= 30


def test_the_walk_stays_short_while_more_and_more_rows_die(engine: Engine, open_one):
    pin(open_one, "writer")
    session = engine.worker()
    bury(engine, "op")
    warm(engine, session)
    read = []
    for _ in range(5):
        for _ in range(5):
            engine.enqueue("op", 200)
            engine.report(session, *((lease, "completed", None) for lease in engine.claim(session, 200)))
        engine.enqueue("op", 5)
        read += claims(engine, session, 1)
    assert max(read) <= 1.5 * min(read), read


def test_an_old_unit_before_the_dead_rows_does_not_bring_the_walk_back(engine: Engine, open_one):
    """Its lane ends in dead rows: a claim that asks for more than the lane has reaches its end."""
    session = engine.worker()
    first = engine.enqueue("op", 30)
    engine.report(session, *((lease, "released", None) for lease in engine.claim(session, 0)))
    pin(open_one, "reader")
    bury(engine, "op")
    read = [pages(engine, "fn_job_claim(%s, %s)", session, len(first) + 5)]
    assert engine.one("select count(*) from job_ready") == 0
    assert claims(engine, session, 3)[-1] <= 30, read


@pytest.mark.parametrize("kind", KINDS)
def test_reports_and_starts_beside_a_worker_read_as_much(engine: Engine, open_one, kind: str):
    """They look whether they may lease directly, and whether idle workers must be notified."""
    engine.publish("w", operation("a"), operation("b"))
    session = engine.worker("one")
    assert engine.claim(engine.worker("idle")) == []

    def rounds() -> list[int]:
        read = []
        for _ in range(6):
            started = pages(engine, "fn_run_start_here(%s, 1, 1, 'w', array['{}'::jsonb])", session)
            unit, lease_no = engine.db.execute(
                "select unit_id, lease_no from work_unit where lease_session_id = _session_id_of(%s)",
                (session,),
            ).fetchone()  # type: ignore[misc]
            given = (session, [1], [unit], [lease_no], ["completed"], [None])
            reported = pages(
                engine,
                "fn_job_report(%s, %s::int[], %s::bigint[], %s::int[], %s::text[], %s::text[], 1)",
                *given,
            )
            (last,) = engine.db.execute(
                "select unit_id, lease_no from work_unit where lease_session_id = _session_id_of(%s)",
                (session,),
            ).fetchall()
            assert last[0] == unit + 1, "the step after it was leased directly"
            given = (session, [1], [last[0]], [last[1]], ["completed"], [None])
            ended = pages(
                engine,
                "fn_job_report(%s, %s::int[], %s::bigint[], %s::int[], %s::text[], %s::text[], 0)",
                *given,
            )
            read.append(started + reported + ended)
        return read

    free = max(rounds()[2:])
    pin(open_one, kind)
    bury(engine, "a")
    bury(engine, "b")
    pinned = rounds()
    assert max(pinned[2:]) <= 1.5 * free, (free, pinned)


def test_a_put_beside_idle_workers_walks_over_nothing(engine: Engine, db, open_one, dsn: str):
    """A client puts a job: its session never claims, so it remembers nothing, and it need not."""
    assert engine.claim(engine.worker()) == []
    pin(open_one, "reader")
    bury(engine, "op")
    with psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell") as client:
        other = Engine(client)
        read = [pages(other, "fn_job_enqueue(1, 'op', array['{}'::jsonb])") for _ in range(4)]
    assert read[-1] <= 120, read


def test_lanes_that_nobody_serves_cost_no_walk(engine: Engine, open_one):
    """Live rows of others between the dead rows."""
    session = engine.worker(serves=["a", "c"])
    engine.enqueue("c", 40)
    free = max(claims(engine, session, 8)[2:])
    pin(open_one, "reader")
    for name in ("a", "b", "c"):
        bury(engine, name, 5000)
        engine.enqueue(name, 40)
        bury(engine, name, 5000)
    pinned = claims(engine, session, 12)
    assert max(pinned[3:]) <= 2 * free, (free, pinned)
    assert engine.one("select count(*) from job_ready") == 60
    assert {lease.operation for lease in engine.claim(session)} <= {"a", "c"}


def test_many_tenants_cost_no_more(engine: Engine, open_one):
    """Dead rows of three hundred tenants, work of a few of them."""
    for number in range(300):
        engine.db.execute("insert into tenant (tenant_code) values (%s)", (f"t{number}",))
    tenants = [Engine(engine.db, number) for (number,) in engine.db.execute("select tenant_id from tenant")]
    session = engine.worker()
    busy = tenants[::100]
    for tenant in busy:
        tenant.enqueue("op", 40)
    free = max(claims(engine, session, 8)[2:])
    pin(open_one, "reader")
    for tenant in tenants:
        bury(tenant, "op", 50)
    for tenant in busy:
        tenant.enqueue("op", 40)
    pinned = claims(engine, session, 8)
    assert max(pinned[3:]) <= 1.5 * free, (free, pinned)


def test_when_the_transaction_has_ended_nothing_is_remembered_any_more(
    engine: Engine, clock: Clock, open_one
):
    pin(open_one, "reader")
    bury(engine, "op")
    session = engine.worker(lease_seconds=80_000)
    warm(engine, session)
    assert remembers(engine)
    clock.advance(minutes=6)
    warm(engine, session)
    assert remembers(engine), "the dead rows are still there"
    open_one.rollback()
    engine.db.execute("vacuum job_ready")
    for _ in range(2):
        clock.advance(minutes=6)
        engine.enqueue("op", 3)
        assert len(engine.claim(session, 3)) == 3
    assert not remembers(engine)
    assert engine.one("select to_regclass('pg_temp.queue_gap')") is None
