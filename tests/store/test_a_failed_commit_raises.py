"""A call whose commit fails raises: what follows it, such as an effect in another system, is not done."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from stepwell.errors import StepwellError
from stepwell.store.connection.call import Call
from stepwell.store.connection.perform import on_pool

# The constraint is checked when the transaction commits, after the function has returned.
SETUP = """
    create table public.parent (id int primary key);
    create table public.child (id int references public.parent deferrable initially deferred);
    create function public.put(p_id int) returns int language sql
    as 'insert into public.child values (p_id) returning id';
"""


@pytest.mark.parametrize("bounded", [False, True])
def test_an_answer_is_returned_only_after_its_commit(dsn: str, db: psycopg.Connection, bounded: bool):
    db.execute(SETUP)

    async def put() -> int:
        call: Call[int] = Call("select public.put(%s)", (5,), lambda rows: rows[0][0])
        async with AsyncConnectionPool(dsn, min_size=1, max_size=1, kwargs={"autocommit": True}) as pool:
            return await on_pool(pool, call, bounded=bounded)

    with pytest.raises(StepwellError):
        asyncio.run(put())
    assert db.execute("select count(*) from public.child").fetchone() == (0,)
