"""The keeper looks at thousands of dead letters in a time that grows with their number, not with its square.

A tenant whose steps all fail has as many problems as dead letters. A look that compared each with all of them
took the keeper minutes, and the duties of all tenants waited.
"""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine

# It counts what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database

COUNT = 300
# A dead letter is read in two lists, and looked up with its unit to be opened and to be closed.
MOST_READ = 12


def entries_read(engine: Engine) -> int:
    engine.db.execute("select pg_stat_force_next_flush()")
    found: int = engine.one(
        "select (select sum(idx_tup_read) from pg_stat_user_indexes where schemaname = 'stepwell'"
        "   and relname in ('governance_problem', 'job_dead_letter', 'work_unit'))::int"
        " + (select sum(seq_tup_read) from pg_stat_user_tables where schemaname = 'stepwell'"
        "   and relname in ('governance_problem', 'job_dead_letter'))::int"
    )
    return found


def test_a_look_at_many_dead_letters_reads_each_a_few_times(engine: Engine):
    session = engine.worker()
    # The first look plans its statements: there is one dead letter.
    engine.enqueue("op")
    engine.kill(session, *engine.claim(session))
    assert engine.one("select fn_problems_watch()") == 1
    engine.enqueue("op", COUNT)
    while leases := engine.claim(session):
        engine.kill(session, *leases)
    before = entries_read(engine)
    assert engine.one("select fn_problems_watch()") == COUNT
    opened = entries_read(engine)
    assert engine.one("select fn_problems_watch()") == 0
    again = entries_read(engine)
    assert max(opened - before, again - opened) <= MOST_READ * COUNT, (opened - before, again - opened)
    assert engine.one("select count(*) from governance_problem where closed_at is null") == COUNT + 1
