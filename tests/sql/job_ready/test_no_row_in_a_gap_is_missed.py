"""A session that remembers gaps in the queue still finds every row that enters one, and at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from tests.sql.drive import Engine, operation, subworkflow, wait
from tests.sql.job_ready.pinned import bury, lane, pin, warm
from tests.support.clock import Clock

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database

FAILED = {"error": {"type": "E", "message": "no"}}
Opens = Callable[..., psycopg.Connection[Any]]


@pytest.fixture
def opens(dsn: str) -> Iterator[Opens]:
    """Opens connections; without `autocommit` each has a transaction of its own."""
    with ExitStack() as stack:
        yield lambda autocommit=False: stack.enter_context(
            psycopg.connect(dsn, autocommit=autocommit, options="-csearch_path=stepwell")
        )


@pytest.fixture(params=["reader", "writer"])
def session(request: pytest.FixtureRequest, engine: Engine, opens: Opens) -> int:
    """A worker that remembers that the whole queue is a gap."""
    pin(opens(), request.param)
    bury(engine, "op", 5000)
    made = engine.worker()
    warm(engine, made)
    assert engine.one("select count(*) from pg_temp.queue_gap") == 1
    return made


def units(engine: Engine, session: int, limit: int = 100) -> list[int]:
    return [lease.unit_id for lease in engine.claim(session, limit)]


def test_a_slow_commit_is_found_when_it_comes(engine: Engine, session: int, opens: Opens):
    """Its transaction is older than the walk, and younger ones have committed since."""
    slow, slower = opens(), opens()
    first, second = Engine(slow).enqueue("op", 3), Engine(slower).enqueue("op", 2)
    third = engine.enqueue("op")
    assert units(engine, session) == third
    bury(engine, "op", 100)
    assert units(engine, session) == []
    slow.commit()
    assert units(engine, session) == first
    assert units(engine, session) == []
    slower.commit()
    assert units(engine, session) == second


def test_a_slow_commit_is_found_that_was_open_before_the_first_walk(engine: Engine, opens: Opens):
    lane(engine, "op")
    slow = opens()
    late = Engine(slow).enqueue("op", 3)
    bury(engine, "op", 5000)
    session = engine.worker()
    warm(engine, session)
    slow.commit()
    assert units(engine, session) == late


def test_every_kind_of_step_ends_as_without_gaps(engine: Engine, session: int):
    """The engine releases steps too: after a Map, a conditional, a wait, a sub-workflow, a slot."""
    engine.publish("child", operation("inner"))
    engine.publish(
        "kinds",
        operation("first"),
        {"id": "map", "kind": "map", "over": "$.input.items", "reads": []},
        {"id": "test", "kind": "conditional", "test": "$.input.yes", "reads": []},
        wait("wait", "go"),
        subworkflow("sub", "child"),
        operation("last"),
        operation("each", scope=2),
        edges=[("first", "map"), ("map", "test"), ("test", "wait"), ("wait", "sub"), ("sub", "last")],
    )
    run_id = engine.start("kinds", {"items": [1, 2, 3], "yes": True})
    engine.one("select fn_signal(1, %s, 'go', 'null', 'k')", (run_id,))
    engine.enqueue("op", 3, p_concurrency_key="one", p_max_concurrency=1)
    assert engine.drain(session) == 1 + 3 + 1 + 1 + 3
    assert engine.one("select current_setting('stepwell.gaps')") == "on"
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_what_was_rolled_back_is_not_found(engine: Engine, session: int, opens: Opens):
    slow = opens()
    Engine(slow).enqueue("op", 3)
    assert units(engine, session) == []
    slow.rollback()
    assert units(engine, session) == []
    assert engine.faults() == {}


def test_the_own_transaction_puts_after_it_has_looked(engine: Engine, session: int):
    with engine.db.transaction():
        first = engine.enqueue("op")
        assert units(engine, session) == first
        second = engine.enqueue("op")
        assert units(engine, session) == second
        third = engine.enqueue("op")
    assert units(engine, session) == third


def test_a_younger_transaction_commits_between_a_look_and_a_put(engine: Engine, session: int, opens: Opens):
    """The number of the own transaction is then below the highest that a look has seen."""
    other = Engine(opens(autocommit=True))
    with engine.db.transaction():
        engine.db.execute("select pg_current_xact_id()")
        theirs = other.enqueue("op")
        assert units(engine, session) == theirs
        ours = engine.enqueue("op")
    assert units(engine, session) == ours


def test_a_claim_that_is_rolled_back_leaves_its_rows(engine: Engine, session: int):
    put = engine.enqueue("op", 3)
    with engine.db.transaction(force_rollback=True):
        assert units(engine, session) == put
        assert units(engine, session) == []
    with engine.db.transaction():
        with engine.db.transaction(force_rollback=True):
            assert units(engine, session) == put
            assert units(engine, session) == []
        assert units(engine, session) == put


def test_rows_that_another_claim_holds_are_no_gap(engine: Engine, session: int, opens: Opens):
    holder = opens()
    put = engine.enqueue("op", 200)
    assert len(Engine(holder).claim(engine.worker("other"), 150)) == 150
    assert units(engine, session) == put[150:]
    assert units(engine, session) == []
    holder.rollback()
    assert len(units(engine, session, 200)) == 150


def test_a_retry_comes_before_newer_units(engine: Engine, session: int):
    """Its unit is older than the dead rows, so it enters the gap from the other side."""
    engine.publish("w", operation("op", retry={"max_attempts": 3, "initial_seconds": 0}))
    engine.start("w")
    (old,) = engine.claim(session)
    bury(engine, "op", 500)
    newer = engine.enqueue("op", 5)
    engine.report(session, (old, "failed", FAILED))
    engine.timers()
    assert units(engine, session, 1) == [old.unit_id]
    assert units(engine, session) == newer


def test_a_higher_priority_comes_first(engine: Engine, session: int):
    low = engine.enqueue("op", 5)
    assert units(engine, session, 1) == low[:1]
    high = engine.enqueue("op", 2, p_priority=10)
    assert units(engine, session, 1) == high[:1]
    assert units(engine, session) == [*low[1:], high[1]]


def test_other_lanes_begin_inside_the_gap(engine: Engine, session: int):
    """Another operation, another tenant, another executor class."""
    other = Engine(engine.db, engine.one("select fn_tenant_set('other')"))
    put = engine.enqueue("new") + other.enqueue("op") + engine.enqueue("op")
    assert units(engine, session) == sorted(put)
    engine.db.execute("""select fn_operation_register(1, '[{"name": "heavy", "executor": "process"}]')""")
    heavy = engine.enqueue("heavy")
    assert units(engine, session) == []
    assert units(engine, engine.worker(classes=["process", "default"])) == heavy


def test_what_nobody_serves_waits_and_is_found(engine: Engine, session: int):
    put = engine.enqueue("theirs", 3)
    ours = engine.worker(serves=["op"])
    engine.db.execute("select fn_worker_close(%s)", (session,))
    assert units(engine, ours) == []
    assert engine.why(put[0])[0] == "no_handler"
    assert "theirs" in engine.why(put[0])[1]
    assert units(engine, engine.worker(serves=["theirs"])) == put


def test_a_row_with_an_old_number_is_found_within_five_minutes(engine: Engine, clock: Clock, opens: Opens):
    """As after somebody loaded rows of another database. No function of the engine does this."""
    pin(opens(), "reader")
    bury(engine, "op", 5000)
    session = engine.worker(lease_seconds=80_000)
    warm(engine, session)
    put = engine.enqueue("op")
    engine.db.execute("update job_ready set put_by = '3'")
    assert units(engine, session) == []
    clock.advance(minutes=6)
    assert units(engine, session) == put


def test_tables_of_another_role_are_neither_believed_nor_read(engine: Engine):
    engine.db.execute("create temporary table queue_gap (executor_class_id int)")
    engine.db.execute("create temporary table queue_seen (upto_id xid8)")
    engine.db.execute("alter table pg_temp.queue_gap owner to stepwell_reader")
    engine.db.execute("set stepwell.gaps = 'on'")
    put = engine.enqueue("op", 2)
    assert units(engine, engine.worker()) == put
    assert engine.one("select current_setting('stepwell.gaps')") == "off"
    bury(engine, "op", 5000)
    session = engine.worker()
    warm(engine, session)
    assert units(engine, session) == []


@pytest.mark.parametrize("forget", ["discard all", "discard temp", "reset all", "set stepwell.gaps = ''"])
def test_a_connection_that_is_cleaned_begins_again(engine: Engine, session: int, forget: str):
    """As a pooler does between two clients."""
    engine.db.execute(forget)  # type: ignore[call-overload]
    engine.db.execute("set search_path = stepwell")
    put = engine.enqueue("op", 2)
    assert units(engine, session) == put
    warm(engine, session)
    assert engine.one("select current_setting('stepwell.gaps', true)") == "on"
