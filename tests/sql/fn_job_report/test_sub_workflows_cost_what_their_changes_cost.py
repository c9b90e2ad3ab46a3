"""300 sub-workflows start and end in batches; each state change costs at most 1.5 times that of a flat graph.

A sub-workflow has three units and eight state changes where a flat step has one and three, so WAL is compared
by state change, and with the parts: the same 300 steps in a flat graph, and 300 runs of the child that nobody
waits for. Calls of the transition core show whether sub-runs start and end together or one by one. The server
belongs to this test alone, because the position of the WAL counts what all databases of a server write.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

import stepwell as sw
from stepwell.store.schema import migrate
from tests.sql.drive import Engine
from tests.sql.graphs.publishing import publish
from tests.support import run as test_run
from tests.support.cluster import Cluster
from tests.support.server import TEST_SETTINGS, bin_dir

COUNT = 300


class Cost(NamedTuple):
    core_calls: int
    entries_read: float
    wal_bytes: float
    all_wal_bytes: float


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An engine on a server that no other test uses."""
    cluster = Cluster(Path(tempfile.mkdtemp(dir=test_run.folder())), bin_dir(), TEST_SETTINGS)
    cluster.start()
    try:
        conninfo = cluster.conninfo("postgres")
        migrate.migrate(conninfo)
        with psycopg.connect(conninfo, autocommit=True, options="-csearch_path=stepwell,public") as db:
            yield Engine(db)
    finally:
        cluster.stop()


def counted(engine: Engine) -> tuple[int, int, int]:
    """Calls of the core, index entries read, state changes."""
    engine.db.execute("select pg_stat_force_next_flush()")
    row = engine.db.execute(
        "select (select coalesce(sum(calls), 0)::int from pg_stat_user_functions"
        " where funcname = '_transition_apply'),"
        " (select sum(idx_tup_read)::int from pg_stat_user_indexes where schemaname = 'stepwell'),"
        " (select count(*)::int from event_log where to_state is not null)"
    ).fetchone()
    assert row is not None
    return row  # type: ignore[return-value]


def lookups(engine: Engine) -> int:
    """Scans of an index, in all tables."""
    engine.db.execute("select pg_stat_force_next_flush()")
    found: int = engine.one(
        "select sum(idx_scan)::int from pg_stat_user_tables where schemaname = 'stepwell'"
    )
    return found


def run(engine: Engine, session: int, name: str = "fan", count: int = 1) -> Cost:
    """What runs cost from start to end: calls of all of them, entries and WAL of each state change."""
    before = counted(engine)
    place = engine.one("select pg_current_wal_insert_lsn()")
    begun = "select min(run_id) from fn_run_start(1, %s, array_fill('{}'::jsonb, array[%s]))"
    run_id = engine.one(begun, (name, count))
    while leases := engine.claim(session, 50):
        engine.complete(session, *leases, output=1)
    written = float(engine.one("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", (place,)))
    assert engine.run_state(run_id) == "completed"
    calls, entries, changes = (after - old for after, old in zip(counted(engine), before, strict=True))
    return Cost(calls, entries / changes, written / changes, written)


def costs(engine: Engine, part: type[sw.Operation] | type[sw.SubWorkflow], name: str) -> list[Cost]:
    parts = [part(name, id=f"s{number}") for number in range(COUNT)]
    publish(engine, sw.Sequential(sw.Parallel(*parts), sw.Operation("op", id="last")), name="fan")
    session = engine.worker()
    return [run(engine, session) for _ in range(3)]


def test_sub_workflows_cost_for_each_change_what_a_flat_graph_costs(engine: Engine):
    engine.db.execute("set track_functions = 'all'")
    publish(engine, sw.Operation("op", id="leaf"), name="child")
    # First, on young tables: the plans that are made now stay for the life of the connection.
    subs = costs(engine, sw.SubWorkflow, "child")
    flat = costs(engine, sw.Operation, "op")[-1]
    assert max(found.core_calls for found in subs) <= 4 * flat.core_calls, (subs, flat)
    assert max(found.wal_bytes for found in subs) <= 1.5 * flat.wal_bytes, (subs, flat)
    alone = run(engine, engine.worker(), "child", COUNT)
    parts = flat.all_wal_bytes + alone.all_wal_bytes
    assert max(found.all_wal_bytes for found in subs[1:]) <= 1.5 * parts, (subs, flat, alone)
    # Nothing reads all units of the tenant.
    assert max(found.entries_read for found in subs) <= 4 * flat.entries_read, (subs, flat)
    assert engine.faults() == {}


def test_sub_workflows_read_no_more_after_a_flat_graph_that_was_planned_first(engine: Engine):
    """The first run of a connection is one large run: its plans then serve many small runs."""
    publish(engine, sw.Operation("op", id="leaf"), name="child")
    last = sw.Operation("op", id="last")
    for name, part in (("flat", "op"), ("deep", "child")):
        kind = sw.Operation if name == "flat" else sw.SubWorkflow
        parts = [kind(part, id=f"s{number}") for number in range(COUNT)]
        publish(engine, sw.Sequential(sw.Parallel(*parts), last), name=name)
    session = engine.worker()
    read: dict[str, int] = {}
    for name in ("flat", "deep", "flat", "deep"):
        before = counted(engine)
        engine.start(name)
        while leases := engine.claim(session, COUNT):
            for at in range(0, len(leases), 100):
                engine.complete(session, *leases[at : at + 100], output={"n": 1})
        _, entries, changes = (after - old for after, old in zip(counted(engine), before, strict=True))
        read[name] = entries // changes
    assert read["deep"] <= 4 * read["flat"], read


def test_what_all_children_of_a_run_share_is_not_looked_up_for_each_child(engine: Engine):
    """A child has 8 state changes of two lookups each; the rest is what start, claim and end read of it."""
    publish(engine, sw.Operation("op", id="leaf"), name="child")
    parts = [sw.SubWorkflow("child", id=f"s{number}") for number in range(COUNT)]
    publish(engine, sw.Sequential(sw.Parallel(*parts), sw.Operation("op", id="last")), name="fan")
    session = engine.worker()
    found = []
    for _ in range(5):
        before = lookups(engine)
        cost = run(engine, session)
        found.append(((lookups(engine) - before) / COUNT, cost.entries_read))
    assert max(count for count, _ in found[1:]) < 56, found
    # The plans of the first run stay for the life of the connection. What they read does not grow with
    # the past runs.
    assert found[-1][1] < 1.1 * found[1][1], found
