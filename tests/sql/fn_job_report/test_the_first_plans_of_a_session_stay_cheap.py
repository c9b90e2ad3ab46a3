"""Whatever a session does first, its plans read only the rows of what it changes when the tables have grown.

A session plans each statement once, and its first statements meet nearly empty tables. There a plan that
reads all runs of the tenant looks as good as any other. With such a plan a claim of 100 retries read every
run of the tenant 100 times, and a report that ended runs read all runs that had ever ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import stepwell as sw
from tests.sql.drive import Engine
from tests.sql.graphs.publishing import publish
from tests.support.clock import Clock

# It counts what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database

COUNT = 60
# So many more runs have ended when the cost is measured again.
MANY = 3000
# A change of state reads its unit, its run, its definition and its rule, some of them more than once.
MOST_READ = 20
# Dead entries of an index count too while another test keeps its transaction open; never a part of all rows.
MOST_MORE = 8

FAILED = {"error": {"type": "ConnectionError", "message": "no answer"}}
Work = Callable[[Engine, int, Clock], object]


def complete_all(engine: Engine, session: int) -> None:
    while leases := engine.claim(session, 100):
        engine.complete(session, *leases, output=1)


def run_flat(engine: Engine, session: int, clock: Clock) -> None:
    engine.start("flat")
    complete_all(engine, session)


def run_subs(engine: Engine, session: int, clock: Clock) -> None:
    engine.start("subs")
    complete_all(engine, session)


def run_many(engine: Engine, session: int, clock: Clock, count: int = COUNT) -> None:
    engine.db.execute("select fn_run_start(1, 'child', array_fill('{}'::jsonb, array[%s]))", (count,))
    complete_all(engine, session)


def fail_and_retry(engine: Engine, session: int, clock: Clock) -> None:
    engine.db.execute("select fn_run_start(1, 'again', array_fill('{}'::jsonb, array[%s]))", (COUNT,))
    leases = engine.claim(session, COUNT)
    engine.report(session, *((lease, "failed", FAILED) for lease in leases))
    clock.advance(seconds=60)
    engine.timers()
    complete_all(engine, session)


def wait_and_time_out(engine: Engine, session: int, clock: Clock) -> None:
    engine.db.execute("select fn_run_start(1, 'waits', array_fill('{}'::jsonb, array[%s]))", (COUNT,))
    clock.advance(seconds=60)
    engine.timers()


def lose_a_worker(engine: Engine, session: int, clock: Clock) -> None:
    engine.db.execute("select fn_run_start(1, 'child', array_fill('{}'::jsonb, array[%s]))", (COUNT,))
    engine.claim(engine.worker("lost", lease_seconds=5), COUNT)
    clock.advance(seconds=6)
    assert engine.one("select fn_leases_recover()") == COUNT
    complete_all(engine, session)


WORKS: dict[str, Work] = {
    "steps of one run": run_flat,
    "sub-workflows": run_subs,
    "many runs": run_many,
    "retries": fail_and_retry,
    "waits": wait_and_time_out,
    "lost leases": lose_a_worker,
}


def end_what_was_counted_open(engine: Engine, session: int, clock: Clock) -> None:
    """The statistics were taken while no run had ended: to read all that have ended looks like nothing."""
    engine.db.execute("select fn_run_start(1, 'child', array_fill('{}'::jsonb, array[%s]))", (COUNT,))
    engine.db.execute("analyze work_unit, run_detail, run_progress")
    complete_all(engine, session)


FIRST = {**WORKS, "runs, analysed before their end": end_what_was_counted_open}


def counted(engine: Engine) -> tuple[int, int]:
    """Index entries read in the tables of units and runs, and state changes."""
    engine.db.execute("select pg_stat_force_next_flush()")
    row: Any = engine.db.execute(
        "select (select sum(idx_tup_read)::int from pg_stat_user_indexes where schemaname = 'stepwell'"
        " and relname in ('work_unit', 'run_detail', 'run_progress')),"
        " (select count(*)::int from event_log where to_state is not null)"
    ).fetchone()
    return row[0], row[1]


def read_for_each_change(engine: Engine, session: int, clock: Clock) -> dict[str, float]:
    read: dict[str, float] = {}
    for name, work in WORKS.items():
        before = counted(engine)
        work(engine, session, clock)
        entries, changes = (new - old for new, old in zip(counted(engine), before, strict=True))
        read[name] = entries / changes
    return read


@pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
def test_a_change_reads_a_few_rows_whatever_was_done_first(engine: Engine, clock: Clock, first: Work):
    publish(engine, sw.Operation("op", id="leaf"), name="child")
    publish(engine, sw.Operation("op", id="leaf", retry=sw.Retry(max_attempts=3, initial="1s")), name="again")
    publish(engine, sw.Wait("go", timeout="1s"), name="waits")
    last = sw.Operation("op", id="last")
    steps = [sw.Operation("op", id=f"s{number}") for number in range(COUNT)]
    publish(engine, sw.Sequential(sw.Parallel(*steps), last), name="flat")
    children = [sw.SubWorkflow("child", id=f"s{number}") for number in range(COUNT)]
    publish(engine, sw.Sequential(sw.Parallel(*children), last), name="subs")
    # The clock moves by minutes, and this session stays.
    session = engine.worker(lease_seconds=86_400)
    first(engine, session, clock)
    # The other statements are planned, and the tables grow.
    for work in WORKS.values():
        work(engine, session, clock)
    run_many(engine, session, clock)
    read = read_for_each_change(engine, session, clock)
    assert max(read.values()) <= MOST_READ, read
    run_many(engine, session, clock, MANY)
    later = read_for_each_change(engine, session, clock)
    assert {name: later[name] for name in read if later[name] > read[name] + MOST_MORE} == {}, read
    assert engine.faults() == {}
