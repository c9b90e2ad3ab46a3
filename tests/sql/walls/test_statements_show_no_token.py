"""PostgreSQL shows texts of a role to all its sessions: ours carry no token, another login hides them."""

from __future__ import annotations

import asyncio

import psycopg
from psycopg.conninfo import make_conninfo

from stepwell.store.calls import run_list
from stepwell.store.connection.perform import BIND, on_connection
from tests.sql.binding import token
from tests.sql.drive import Engine

SEEN = "select string_agg(query, ' ') from pg_stat_activity where pid = %s"


def test_a_bound_call_shows_no_token(engine: Engine, dsn: str):
    text = token(engine.db, 1)

    async def called() -> list[str]:
        shown = []
        async with await psycopg.AsyncConnection.connect(dsn) as own, own.transaction():
            for call in (run_list.runs(1), run_list.run(1, 1)):
                await on_connection(own, call, token=text)
                shown.append(engine.one(SEEN, (own.info.backend_pid,)))
            await own.execute(BIND, (text,))
            shown.append(engine.one(SEEN, (own.info.backend_pid,)))
        return shown

    shown = asyncio.run(called())
    assert "fn_runs_list" in shown[0]
    assert "fn_session_bind" in shown[2]
    assert [text for text in shown if "sw_" in text] == []


def test_a_login_of_its_own_hides_the_statements(engine: Engine, dsn: str):
    names = [f"acme_{engine.one('select pg_backend_pid()')}_{at}" for at in (1, 2)]
    for name in names:
        engine.db.execute(f"create role {name} login in role stepwell_api".encode())
    try:
        with psycopg.connect(make_conninfo(dsn, user=names[0])) as one:
            one.execute("select 'sw_secret', stepwell.bound_tenant()")
            found = {}
            for user in (names[0], names[1]):
                with psycopg.connect(make_conninfo(dsn, user=user)) as other:
                    found[user] = other.execute(SEEN, (one.info.backend_pid,)).fetchone()
    finally:
        for name in names:
            engine.db.execute(f"drop role {name}".encode())
    assert ["sw_secret" in str(shown) for shown in found.values()] == [True, False]
