"""A key is looked up by itself: a call costs the same beside many jobs or runs of its tenant."""

from __future__ import annotations

from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation

BESIDE = 600
KEYS = 10
READ = "select sum(idx_tup_read)::int from pg_stat_user_indexes where relname = %s"


def rows_read(engine: Engine, table: str, call: str, *arguments: object) -> int:
    """How many index entries of the table the call reads."""
    engine.db.execute("select pg_stat_force_next_flush()")
    before = engine.one(READ, (table,))
    engine.db.execute(call, arguments)
    engine.db.execute("select pg_stat_force_next_flush()")
    after: int = engine.one(READ, (table,))
    return after - int(before)


def keys(name: str, count: int) -> list[str]:
    return [f"{name}:{number}" for number in range(count)]


def test_jobs_with_keys(engine: Engine):
    call = "select fn_job_enqueue(1, 'op', %s::jsonb[], %s)"
    engine.db.execute(call, ([Jsonb({})] * BESIDE, keys("beside", BESIDE)))
    for name in ("new", "new"):
        read = rows_read(engine, "job_detail", call, [Jsonb({})] * KEYS, keys(name, KEYS))
        assert KEYS <= read <= 10 * KEYS


def test_runs_with_keys(engine: Engine):
    engine.publish("w", operation("a"))
    call = "select fn_run_start(1, 'w', %s::jsonb[], %s)"
    engine.db.execute(call, ([Jsonb({})] * BESIDE, keys("beside", BESIDE)))
    for name in ("new", "new"):
        read = rows_read(engine, "run_detail", call, [Jsonb({})] * KEYS, keys(name, KEYS))
        assert KEYS <= read <= 10 * KEYS
