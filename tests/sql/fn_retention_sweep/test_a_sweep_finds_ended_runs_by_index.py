"""A sweep reads the runs that ended before its cutoff, not all runs."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, operation

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database


def test_runs_that_have_not_ended_are_not_read(engine: Engine, clock):
    engine.publish("w", operation("a"))
    engine.one("select count(*) from fn_run_start(1, 'w', array_fill('{}'::jsonb, array[1000]))")
    session = engine.worker()
    engine.complete(session, *engine.claim(session, 2))
    clock.advance(days=4000)
    engine.db.execute("vacuum analyze run_detail, run_progress")
    engine.db.execute("select pg_stat_reset()")
    engine.one("select count(*) from fn_retention_sweep()")
    engine.db.execute("select pg_stat_force_next_flush()")
    assert engine.one("select count(*) from run_detail") == 998
    read = "select idx_tup_read from pg_stat_user_indexes where indexrelname = 'runs_by_end'"
    assert 2 <= engine.one(read) <= 10
    assert engine.one("select seq_tup_read from pg_stat_user_tables where relname = 'run_detail'") <= 998
