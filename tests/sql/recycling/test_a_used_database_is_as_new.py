"""Tests share databases: what one of them wrote, changed or set is gone before the next begins."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.sql.drive import Engine, human, operation
from tests.support.recycled import Recycler

TABLES = """
select c.relname from pg_class as c where c.relnamespace = 'stepwell'::regnamespace and c.relkind = 'r'
order by c.relname
"""
SEQUENCES = """
select sequencename, last_value from pg_sequences where schemaname = 'stepwell' order by sequencename
"""


def contents(db: psycopg.Connection) -> dict[str, Any]:
    """Every row of every table as text, and where the sequences stand."""
    found: dict[str, Any] = {"sequences": db.execute(SEQUENCES).fetchall()}
    for (table,) in db.execute(TABLES).fetchall():
        rows = db.execute(f"select t::text from stepwell.{table} as t order by 1".encode()).fetchall()
        found[table] = rows
    return found


def test_what_a_test_wrote_and_changed_is_gone(recycler: Recycler):
    with recycler.used() as first:
        before, pid = contents(first.connection), first.connection.info.backend_pid
        engine = Engine(first.connection)
        engine.publish("w", operation("a"), human("b"))
        engine.start("w")
        engine.drain(engine.worker())
        first.connection.execute("update dot_config set config_value = '7' where config_key = 'limits.page'")
        first.connection.execute("set role stepwell_api")
        first.connection.autocommit = False
        first.connection.execute("set search_path = public")
    with recycler.used() as second:
        assert second.connection.info.backend_pid == pid, "it was used again"
        assert second.connection.execute("show search_path").fetchone() == ("stepwell,public",)
        assert contents(second.connection) == before


@pytest.mark.parametrize(
    "statement",
    ["drop view runtime_approval", "alter table dot_config disable trigger all", "create table extra ()"],
)
def test_a_database_with_another_schema_is_not_used_again(recycler: Recycler, statement: str):
    with recycler.used() as first:
        name = first.connection.info.dbname
        first.connection.execute(statement.encode())
    with recycler.used() as second:
        assert second.connection.info.dbname != name


def test_a_session_that_was_left_behind_is_ended(recycler: Recycler):
    with recycler.used() as first:
        left = psycopg.connect(first.dsn)
        left.execute("select count(*) from stepwell.work_unit")
        left.execute("delete from stepwell.state_def where false")
    with recycler.used(), pytest.raises(psycopg.OperationalError):
        left.execute("select 1")
