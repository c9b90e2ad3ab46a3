"""The core judges units inside its own statement, without a function call for each unit."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, operation

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database


def test_a_claim_and_a_report_call_no_function_for_each_unit(engine: Engine):
    engine.publish("w", operation("a"), operation("b"))
    session_key = engine.worker()
    engine.db.execute("set track_functions = 'all'")
    engine.start("w")
    assert engine.drain(session_key) == 2
    engine.db.execute("select pg_stat_force_next_flush()")
    engine.db.execute("select pg_stat_clear_snapshot()")
    called = dict(engine.db.execute("select funcname, calls from pg_stat_user_functions").fetchall())
    assert called["_transition_apply"] >= 4
    assert (
        not {"_transition_problems", "_run_of", "_run_unit", "_run_last", "_unit_no", "_has_ended"}
        & called.keys()
    )
