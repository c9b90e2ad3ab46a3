"""A reader that saw open transactions reads their events by the index, not the whole log again."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.drive import Engine, operation
from tests.sql.fn_events_after.test_a_reader_misses_and_repeats_nothing import COMMENT, another, here, read

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database


def events_read(db: psycopg.Connection) -> int:
    """Rows of the log that this transaction has read so far, by a scan of the table or by an index."""
    row = db.execute(
        "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) from pg_stat_xact_user_tables"
        " where relname like 'event_log%'"
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_a_large_log_of_one_transaction_is_not_read_for_an_open_one(engine: Engine, dsn: str):
    engine.publish("w", operation("a"))
    run_id = engine.start("w")
    # One transaction wrote nearly all events: the planner expects as many of every transaction.
    engine.one("select count(*) from fn_run_start(1, 'w', array_fill('{}'::jsonb, array[1000]))")
    engine.db.execute("analyze event_log")
    with another(dsn) as idle:
        idle.execute(COMMENT, (run_id, run_id, "idle"))
        engine.start("w")
        position = here(engine.db)
        assert position.rpartition(":")[2], "the position names the open transaction"
        idle.commit()
    with engine.db.transaction():
        before = events_read(engine.db)
        _, late = read(engine.db, position, p_run_ids=[run_id])
        assert events_read(engine.db) - before <= 5
    assert len(late) == 1
