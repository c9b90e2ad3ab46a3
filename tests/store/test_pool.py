"""Pools give connections without session state; an error gives the reason if no connection is possible."""

from __future__ import annotations

import asyncio

import pytest
from psycopg_pool import PoolTimeout

from stepwell.errors import DatabaseUnavailable
from stepwell.store.connection import pool as pools


@pytest.mark.parametrize(("given", "name"), [("", "stepwell"), (" application_name=mine", "mine")])
def test_connections_are_in_autocommit_and_keep_a_given_name(empty_dsn, given, name):
    async def scenario() -> tuple:
        async with pools.async_pool(empty_dsn + given) as pool, pool.connection() as connection:
            assert connection.autocommit
            found = await connection.execute("show application_name")
            return await found.fetchone()

    assert asyncio.run(scenario()) == (name,)


def test_a_pool_does_not_grow_beyond_its_limit(empty_dsn):
    async def scenario() -> None:
        async with pools.async_pool(empty_dsn, max_size=2) as pool:
            taken = [await pool.getconn(), await pool.getconn()]
            with pytest.raises(PoolTimeout):
                await pool.getconn(timeout=0.01)
            for connection in taken:
                await pool.putconn(connection)

    asyncio.run(scenario())


def test_a_served_pool_gives_the_connection_that_was_used_last(empty_dsn):
    """Its session has the plans already; the others are left to be closed."""

    async def scenario() -> list[int]:
        async with pools.served_pool(empty_dsn, max_size=3) as pool:
            taken = [await pool.getconn() for _ in range(3)]
            for connection in taken:
                await pool.putconn(connection)
            used = []
            for _ in range(4):
                async with pool.connection() as connection:
                    used.append(connection.info.backend_pid)
            assert used[0] == taken[-1].info.backend_pid
            return used

    assert len(set(asyncio.run(scenario()))) == 1


def test_the_error_names_an_unreachable_database(monkeypatch):
    monkeypatch.setattr(pools, "OPEN_LIMIT_SECONDS", 0.2)

    async def scenario() -> None:
        async with pools.async_pool("host=127.0.0.1 port=1 dbname=x"):
            pass

    with pytest.raises(DatabaseUnavailable, match="port 1 failed"):
        asyncio.run(scenario())


def test_a_probe_names_the_reason_at_once():
    with pytest.raises(DatabaseUnavailable, match="port 1 failed"):
        pools.probe("host=127.0.0.1 port=1 dbname=x")


def test_the_connection_of_a_command_is_made_again_after_it_was_lost(empty_dsn):
    async def scenario() -> tuple[int, int]:
        async with pools.one_connection(empty_dsn) as one:
            async with one.connection() as before:
                pid = before.info.backend_pid
                await before.close()
            async with one.connection() as after:
                return pid, after.info.backend_pid

    before, after = asyncio.run(scenario())
    assert before != after
