"""fn_events_recent reads few pages of a log of 200,000 events: the newest, by type, by actor, by time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.databases import Databases

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database

EVENTS = 200_000
MINUTES = 200
# The log of this test has about 4,000 pages.
PAGES_LIMIT = 150
# A walk back over 20,000 events, which is the limit of one read.
WALK_LIMIT = 1_500

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def log(databases: Databases, template: str) -> Iterator[Connection]:
    """1,000 ordinary events a minute, each minute one transaction, and six rare ones, of one tenant.

    A second tenant has one event, older than all others.
    """
    with (
        databases.fresh(template) as dsn,
        psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as db,
    ):
        db.execute("select fn_clock_stop('2026-03-01 00:00+00')")
        db.execute("select fn_partitions_ensure('2026-02-01 00:00+00')")
        db.execute("select fn_tenant_set('quiet')")
        append(db, 2, "signal.received", "zoe", "reviewer")
        for minute in range(MINUTES):
            db.execute("select fn_clock_move(stepwell.now() + interval '1 minute')")
            with db.transaction():
                append(db, 1, "event.emitted", "session:1", "executor_worker", EVENTS // MINUTES)
                if minute % 40 == 25:
                    append(db, 1, "signal.received", "ada", "reviewer")
                if minute == 30:
                    append(db, 1, "worker.silent", "ben", "reviewer")
        db.execute("vacuum analyze event_log")
        yield db


def append(db: Connection, tenant: int, kind: str, actor: str, actor_class: str, count: int = 1) -> None:
    db.execute(
        "select count(_event_append(%s, n << 20, %s, %s, '{}', %s)) from generate_series(1, %s::bigint) as n",
        (tenant, kind, actor, actor_class, count),
    )


def read(db: Connection, tenant: int = 1, **named: Any) -> list[tuple[Any, ...]]:
    """(tx, event_id, type, actor) of each row."""
    names = "".join(f", p_{name} => %s" for name in named)
    return db.execute(
        f"select tx, event_id, event_type, actor, at from fn_events_recent(%s{names})",
        (tenant, *named.values()),
    ).fetchall()


def pages(db: Connection, tenant: int = 1, **named: Any) -> int:
    """How many pages the call looks at."""
    read(db, tenant, **named)
    names = "".join(f", p_{name} => %s" for name in named)
    (plan,) = db.execute(
        f"explain (analyze, buffers, timing off, format json) select * from fn_events_recent(%s{names})",
        (tenant, *named.values()),
    ).fetchone()  # type: ignore[misc]
    root = plan[0]["Plan"]
    return int(root["Shared Hit Blocks"] + root["Shared Read Blocks"])


def at(minute: int) -> str:
    return f"2026-03-01 {minute // 60:02}:{minute % 60:02}+00"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, 50),
        ({"types": ["signal.received"]}, 5),
        ({"types": ["signal.received", "worker.silent"]}, 6),
        ({"types": ["approval.requested"]}, 0),
        ({"actor": "ada"}, 5),
        ({"actor": "nobody"}, 0),
        ({"types": ["signal.received"], "actor": "ben"}, 0),
        ({"types": ["signal.received"], "from": at(60), "until": at(110)}, 2),
        ({"actor": "ada", "from": at(60), "until": at(110)}, 2),
        ({"until": at(3)}, 50),
        ({"until": "2020-01-01 00:00+00"}, 0),
        ({"from": "2030-01-01 00:00+00"}, 0),
    ],
    ids=str,
)
def test_few_pages_are_read(log: Connection, asked: dict[str, Any], expected: int):
    total = log.execute(
        "select sum(relpages) from pg_class where relname like 'event_log_%' and relkind = 'r'"
    )
    assert total.fetchone()[0] > 20 * PAGES_LIMIT  # type: ignore[index]
    assert len(read(log, **asked)) == expected
    assert pages(log, **asked) <= (
        PAGES_LIMIT if "until" not in asked and "from" not in asked else WALK_LIMIT
    )


def test_a_quiet_tenant_beside_a_busy_one_reads_few_pages(log: Connection):
    assert [row[2:4] for row in read(log, 2)] == [("signal.received", "zoe")]
    assert pages(log, 2) <= PAGES_LIMIT
    assert pages(log, 2, actor="zoe") <= PAGES_LIMIT


def test_a_walk_for_what_every_step_writes_is_bounded_and_continues(log: Connection):
    """The oldest events of a hot kind: each read looks at 20,000 events and says where to go on."""
    asked: dict[str, Any] = {"types": ["event.emitted"], "actor": "session:2"}
    (position,) = read(log, **asked)
    assert position[2:] == (None, None, None)
    assert pages(log, **asked) <= WALK_LIMIT
    reads = 1
    while rows := read(log, **asked, before_tx=position[0], before_event_id=position[1]):
        (position,) = rows
        reads += 1
    assert reads == EVENTS // 20_000


def test_what_a_client_without_a_name_did_is_found_by_walking(log: Connection):
    with log.transaction(force_rollback=True):
        append(log, 1, "job.enqueued", "client", "system", 3)
        rows = read(log, actor="client")
        assert [row[2:4] for row in rows[:3]] == [("job.enqueued", "client")] * 3
        # No event of this kind is left above the position where the walk ended.
        assert [row[2] for row in rows[3:]] == [None]
        assert pages(log, actor="client") <= WALK_LIMIT


def test_pages_follow_each_other_without_gap_or_repeat(log: Connection):
    expected = log.execute(
        "select tx::text::bigint, event_id from event_log where tenant_id = 1 and at >= %s and at < %s"
        " order by tx desc, event_id desc",
        (at(100), at(103)),
    ).fetchall()
    found: list[tuple[Any, ...]] = []
    more: dict[str, Any] = {}
    while rows := read(log, **{"from": at(100), "until": at(103), "limit": 700}, **more):
        found += [row[:2] for row in rows]
        more = {"before_tx": rows[-1][0], "before_event_id": rows[-1][1]}
    assert found == expected
    assert len(found) == 3_001 - 1


def test_the_limit_of_a_walk_is_a_setting_and_types_are_few(log: Connection):  # limits.events_scan
    with log.transaction(force_rollback=True):
        log.execute("update dot_config set config_value = '100' where config_key = 'limits.events_scan'")
        (position,) = read(log, types=["event.emitted"], actor="session:2")
        assert position[2] is None
        assert pages(log, types=["event.emitted"], actor="session:2") <= PAGES_LIMIT
    with pytest.raises(psycopg.Error, match="types: at most 20 event types are accepted"):
        read(log, types=["a"] * 21)


def test_a_role_that_is_not_bound_sees_nothing(log: Connection):
    with log.transaction(force_rollback=True):
        log.execute("set local role stepwell_reader")
        assert read(log) == []
