"""Pools give connections without session state; an error gives the reason if no connection is possible."""

from __future__ import annotations

import asyncio

import pytest
from psycopg_pool import PoolTimeout

from stepwell.errors import DatabaseUnavailable
from stepwell.store.connection import pool as pools


def test_connections_are_named_and_in_autocommit(empty_dsn):
    with pools.sync_pool(empty_dsn) as pool, pool.connection() as connection:
        assert connection.autocommit
        assert connection.execute("show application_name").fetchone() == ("stepwell",)


def test_a_given_application_name_is_kept(empty_dsn):
    with pools.sync_pool(f"{empty_dsn} application_name=mine") as pool, pool.connection() as connection:
        assert connection.execute("show application_name").fetchone() == ("mine",)


def test_the_async_pool_works_the_same(empty_dsn):
    async def scenario() -> tuple:
        async with pools.async_pool(empty_dsn) as pool, pool.connection() as connection:
            found = await connection.execute("show application_name")
            return await found.fetchone()

    assert asyncio.run(scenario()) == ("stepwell",)


def test_a_pool_does_not_grow_beyond_its_limit(empty_dsn):
    with pools.sync_pool(empty_dsn, max_size=2) as pool:
        taken = [pool.getconn(), pool.getconn()]
        with pytest.raises(PoolTimeout):
            pool.getconn(timeout=0.01)
        for connection in taken:
            pool.putconn(connection)


def test_the_error_names_an_unreachable_database(monkeypatch):
    monkeypatch.setattr(pools, "OPEN_LIMIT_SECONDS", 0.2)
    with (
        pytest.raises(DatabaseUnavailable, match="port 1 failed"),
        pools.sync_pool("host=127.0.0.1 port=1 dbname=x"),
    ):
        pass


def test_a_probe_names_the_reason_at_once():
    with pytest.raises(DatabaseUnavailable, match="port 1 failed"):
        pools.probe("host=127.0.0.1 port=1 dbname=x")
