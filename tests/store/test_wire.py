"""A wire returns the same values as the driver, works after errors, and reports a cut connection at once."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from stepwell.errors import DatabaseFailure, DatabaseUnavailable, StepwellError
from stepwell.store.connection.wire import Connection, Wire, connect
from tests.support.wait import until_async

LIMIT_SECONDS = 60.0
LOCK = "select pg_advisory_lock($1::bigint)"
TYPES = (
    "select {0}::int, {1}::bigint, {2}::real, {3}::float8, {4}::text, {5}::jsonb, {6}::timestamptz,"
    " {7}::text, {8}::bool from generate_series(1, 2)"
)
VALUES = (
    "-7", str(2**62), "0.1", "0.1", "năm \\ \" ' %s", json.dumps({"a": [1, None, 1.5, "é"]}),
    "2026-11-16 05:06:07.000008+02", None, "t",
)  # fmt: skip


def play(dsn: str, scenario: Callable[[Wire, Connection], Awaitable[Any]]) -> Any:
    """Runs a scenario with a wire and the connection it owns."""

    async def whole() -> Any:
        async with asyncio.timeout(LIMIT_SECONDS):
            connection = await connect(dsn)
            wire = Wire(connection)
            try:
                return await scenario(wire, connection)
            finally:
                await wire.close()

    return asyncio.run(whole())


@asynccontextmanager
async def waiting(wire: Wire, connection: Connection, dsn: str):
    """A call that waits for a lock of another session; returns its task and that session."""
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("select pg_advisory_lock(1)")
        call = asyncio.create_task(wire.rows(LOCK, (b"1",), tuple))
        pid = connection.info.backend_pid
        await until_async(
            lambda: other.execute("select cardinality(pg_blocking_pids(%s))", (pid,)).fetchone() == (1,)
        )
        yield call, other


def terminate(dsn: str, connection: Connection) -> None:
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("select pg_terminate_backend(%s, 30000)", (connection.info.backend_pid,))


def shut(connection: Connection) -> None:
    """Closes the socket, as a failing network does, without a reason."""
    with socket.socket(fileno=os.dup(connection.pgconn.socket)) as same:
        same.shutdown(socket.SHUT_RDWR)


def is_alive(other: psycopg.Connection, pid: int) -> bool:
    return other.execute("select count(*) from pg_stat_activity where pid = %s", (pid,)).fetchone() == (1,)


def test_values_have_the_same_types_as_those_of_the_driver(empty_dsn):
    async def scenario(wire, connection):
        text = TYPES.format(*(f"${n}" for n in range(1, 10)))
        parameters = [None if value is None else value.encode() for value in VALUES]
        got = [await wire.rows(text, parameters, tuple) for _ in range(2)]
        driver = await connect(empty_dsn)
        cursor = await driver.execute(TYPES.format(*["%s"] * 9), VALUES)
        expected = await cursor.fetchall()
        await driver.close()
        return got, expected

    got, expected = play(empty_dsn, scenario)
    assert len(expected) == 2
    assert got == [expected, expected]
    assert [type(value) for value in got[0][0]] == [type(value) for value in expected[0]]
    assert got[0][0][2:6] == (0.1, 0.1, VALUES[4], {"a": [1, None, 1.5, "é"]})


def test_each_row_is_made_by_the_given_maker(empty_dsn):
    async def scenario(wire, connection):
        return await wire.rows("select n, n * 2 from generate_series(1, $1::int) as n", (b"3",), sum)

    assert play(empty_dsn, scenario) == [3, 6, 9]


def test_a_statement_is_prepared_once(empty_dsn):
    async def scenario(wire, connection):
        for _ in range(3):
            await wire.rows("select $1::int", (b"1",), tuple)
        held = "select count(*) from pg_prepared_statements where statement = $1"
        return await wire.rows(held, (b"select $1::int",), tuple)

    assert play(empty_dsn, scenario) == [(1,)]


def test_a_statement_without_rows_returns_an_empty_list(empty_dsn):
    async def scenario(wire, connection):
        return await wire.rows("do $$ begin raise notice 'listen'; end $$", (), tuple)

    assert play(empty_dsn, scenario) == []


@pytest.mark.parametrize(
    ("text", "parameter", "sqlstate"),
    [
        ("select from $1", b"0", "42601"),
        ("select 1 / $1::int", b"0", "22012"),
        ("select $1::int", b"one", "22P02"),
        ("select $1::text", b"cut \0 here", None),
        ("select 'infinity'::timestamptz, $1::text", b"", None),
    ],
    ids=["prepare", "execute", "parameter", "nul", "load"],
)
def test_the_wire_works_after_an_error(empty_dsn, text, parameter, sqlstate):
    async def scenario(wire, connection):
        await wire.rows("select $1::int", (b"3",), tuple)
        with pytest.raises(DatabaseFailure) as raised:
            await wire.rows(text, (parameter,), tuple)
        return raised.value.sqlstate, await wire.rows("select $1::int", (b"4",), tuple)

    assert play(empty_dsn, scenario) == (sqlstate, [(4,)])


def test_megabytes_are_sent_and_received(empty_dsn):
    payload = "wide é " * 2_000_000

    async def scenario(wire, connection):
        text = "select $1::text, $2::int"
        for number in (b"1", b"2"):
            assert await wire.rows(text, (payload.encode(), number), tuple) == [(payload, int(number))]
        return await wire.rows("select length($1::text)", (payload.encode(),), tuple)

    assert play(empty_dsn, scenario) == [(len(payload),)]


def test_a_backend_that_ends_during_a_call_is_reported_with_its_reason(empty_dsn):
    async def scenario(wire, connection):
        async with waiting(wire, connection, empty_dsn) as (call, _):
            terminate(empty_dsn, connection)
            with pytest.raises(DatabaseUnavailable, match="terminating connection"):
                await call
        with pytest.raises(DatabaseUnavailable):
            await wire.rows("select 1", (), tuple)

    play(empty_dsn, scenario)


def test_a_socket_that_closes_during_a_call_is_reported(empty_dsn):
    async def scenario(wire, connection):
        async with waiting(wire, connection, empty_dsn) as (call, _):
            shut(connection)
            with pytest.raises(DatabaseUnavailable, match="closed the connection unexpectedly"):
                await call

    play(empty_dsn, scenario)


def test_a_socket_that_closes_while_megabytes_are_sent_is_reported(empty_dsn):
    async def scenario(wire, connection):
        await wire.rows("select length($1::text)", (b"",), tuple)
        call = asyncio.create_task(wire.rows("select length($1::text)", (b"x" * 50_000_000,), tuple))
        await asyncio.sleep(0)
        shut(connection)
        with pytest.raises(DatabaseUnavailable):
            await call

    play(empty_dsn, scenario)


@pytest.mark.parametrize("is_known", [True, False], ids=["has prepared", "prepares"])
@pytest.mark.parametrize("cut", [lambda dsn, connection: shut(connection), terminate], ids=["shut", "ended"])
def test_the_next_call_reports_a_cut_that_the_loop_has_not_seen(empty_dsn, cut, is_known):
    async def scenario(wire, connection):
        if is_known:
            await wire.rows("select 1", (), tuple)
        cut(empty_dsn, connection)
        for _ in range(2):
            with pytest.raises(DatabaseUnavailable):
                await wire.rows("select 1", (), tuple)

    play(empty_dsn, scenario)


@pytest.mark.parametrize("cut", [lambda dsn, connection: shut(connection), terminate], ids=["shut", "ended"])
def test_a_cut_between_calls_ends_the_reader_and_the_next_call_reports_it(empty_dsn, cut):
    async def scenario(wire, connection):
        number = connection.pgconn.socket
        cut(empty_dsn, connection)
        await until_async(lambda: connection.closed)
        assert not asyncio.get_running_loop().remove_reader(number)
        with pytest.raises(DatabaseUnavailable, match="closed the connection unexpectedly"):
            await wire.rows("select 1", (), tuple)

    play(empty_dsn, scenario)


def test_a_cut_wire_does_not_touch_another_socket_with_the_same_number(empty_dsn):
    async def scenario(wire, connection):
        loop, number = asyncio.get_running_loop(), connection.pgconn.socket
        shut(connection)
        await until_async(lambda: connection.closed)
        reading, writing = socket.socketpair()
        with reading, writing:
            if reading.fileno() != number:
                os.dup2(reading.fileno(), number)
            heard = asyncio.Event()
            loop.add_reader(number, heard.set)
            with pytest.raises(DatabaseUnavailable):
                await wire.rows("select 1", (), tuple)
            await wire.close()
            writing.send(b"!")
            await heard.wait()
            assert loop.remove_reader(number)
            if reading.fileno() != number:
                os.close(number)

    play(empty_dsn, scenario)


def test_after_a_cancelled_call_no_call_is_accepted_and_its_statement_stops(empty_dsn):
    async def scenario(wire, connection):
        pid = connection.info.backend_pid
        async with waiting(wire, connection, empty_dsn) as (call, other):
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            with pytest.raises(DatabaseUnavailable, match="a call was abandoned"):
                await wire.rows("select 1", (), tuple)
            assert is_alive(other, pid)
            await wire.close()
            # The other session still holds the lock, so the statement did not end by getting it.
            await until_async(lambda: not is_alive(other, pid))
        with pytest.raises(DatabaseUnavailable):
            await wire.rows("select 1", (), tuple)

    play(empty_dsn, scenario)


def test_closing_a_wire_during_a_call_ends_the_call_with_an_error(empty_dsn):
    async def scenario(wire, connection):
        async with waiting(wire, connection, empty_dsn) as (call, _):
            await wire.close()
            with pytest.raises(DatabaseUnavailable, match="closed"):
                await call

    play(empty_dsn, scenario)


def test_a_second_call_at_the_same_time_is_refused(empty_dsn):
    async def scenario(wire, connection):
        async with waiting(wire, connection, empty_dsn) as (call, other):
            for _ in range(2):
                with pytest.raises(RuntimeError, match="one call at a time"):
                    await wire.rows("select 1", (), tuple)
            other.execute("select pg_advisory_unlock(1)")
            assert len(await call) == 1
        return await wire.rows("select 1", (), tuple)

    assert play(empty_dsn, scenario) == [(1,)]


def test_the_error_for_a_wire_that_cannot_be_opened_gives_the_reason():
    with pytest.raises(StepwellError, match="cannot be reached"):
        asyncio.run(Wire.open("host=127.0.0.1 port=1 dbname=x"))
