"""Calls that share a round trip: each is a transaction of its own, and what was answered survives a crash."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from stepwell.errors import DatabaseUnavailable
from stepwell.store.connection.call import Call, nothing, value
from stepwell.store.connection.together import Together
from stepwell.store.schema import migrate
from tests.support import run as test_run
from tests.support.cluster import Cluster
from tests.support.server import TEST_SETTINGS, bin_dir

LIMIT_SECONDS = 60.0
# The server writes its log by itself so seldom that only a commit that waits brings anything to the disk.
SLEEPY = {**TEST_SETTINGS, "fsync": "on", "wal_writer_delay": "10000", "wal_buffers": "16MB"}


def insert(number: int) -> Call[Any]:
    return Call("insert into public.kept values (%s) returning number", (number,), value)


def refused() -> Call[Any]:
    return Call("select 1 / %s", (0,), value)


def play(dsn: str, scenario: Callable[[Together], Awaitable[Any]]) -> Any:
    async def whole() -> Any:
        async with asyncio.timeout(LIMIT_SECONDS):
            line = await Together.open(dsn)
            try:
                return await scenario(line)
            finally:
                await line.close()

    return asyncio.run(whole())


@pytest.fixture
def table(dsn: str, db: psycopg.Connection) -> str:
    db.execute("create table public.kept (number int primary key)")
    return dsn


def kept(db: psycopg.Connection) -> list[int]:
    return [number for (number,) in db.execute("select number from public.kept order by 1").fetchall()]


@pytest.mark.parametrize("at", range(4))
def test_a_call_that_fails_ends_only_itself(table: str, db: psycopg.Connection, at: int):
    calls = [(insert(1), False), (insert(2), True), (insert(3), False)]
    calls.insert(at, (refused(), at % 2 == 0))
    found = play(table, lambda line: line.each(calls))
    assert isinstance(found.pop(at).error, psycopg.errors.DivisionByZero)
    assert found == [1, 2, 3]
    assert kept(db) == [1, 2, 3]


def test_the_settings_of_one_call_are_not_those_of_the_next(table: str):
    named = ("synchronous_commit", "statement_timeout", "lock_timeout")
    show = Call(f"select array[{', '.join(f'current_setting({name!r})' for name in named)}]", (), value)

    async def scenario(line: Together) -> list[list[str]]:
        found = await line.each([(show, True), (show, False), (show, True), (show, False)])
        return [*found, *await line.each([(show, False)])]

    limited, free, again, last, alone = play(table, scenario)
    assert limited == again == ["off", "5s", "2500ms"]
    assert free == last == ["off", "0", "2s"]
    assert alone == ["on", "0", "2s"]


def test_values_are_sent_as_they_are(table: str):
    given = ("năm \\ \" ' %s $1", None, 2**62)
    echo = Call("select json_build_array(%s::text, %s::int, %s::bigint)", given, value)
    assert play(table, lambda line: line.each([(echo, False)] * 2)) == [list(given)] * 2


def test_a_lost_connection_is_said_and_the_line_is_done(table: str, db: psycopg.Connection):
    async def scenario(line: Together) -> None:
        end = Call("select pg_terminate_backend(pg_backend_pid())", (), nothing)
        for _ in range(2):
            with pytest.raises(DatabaseUnavailable):
                await line.each([(insert(1), False), (end, False), (insert(2), False)])

    play(table, scenario)
    assert 2 not in kept(db)


@pytest.fixture
def sleepy() -> Iterator[Cluster]:
    cluster = Cluster(Path(tempfile.mkdtemp(dir=test_run.folder())), bin_dir(), SLEEPY)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


READS = Call("select %s::int", (7,), value)


@pytest.mark.parametrize("last", [insert(3), refused(), READS], ids=["writes", "is refused", "only reads"])
def test_what_was_answered_survives_a_crash_of_the_server(sleepy: Cluster, last: Call[Any]):
    dsn = sleepy.conninfo("postgres")
    migrate.migrate(dsn)
    calls = [(insert(1), True), (insert(2), False), (last, True)]
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("create table public.kept (number int primary key)")

    async def scenario(line: Together) -> None:
        await line.each(calls)
        # Without a word to the processes of the server: what is only in its memory is lost.
        await asyncio.to_thread(sleepy.stop, mode="immediate")

    play(dsn, scenario)
    sleepy.start()
    with psycopg.connect(dsn, autocommit=True) as db:
        assert kept(db) == ([1, 2, 3] if "insert" in last.text else [1, 2])
