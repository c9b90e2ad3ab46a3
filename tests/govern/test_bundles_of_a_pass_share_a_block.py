"""A keeper seals the digests of all bundles of a pass in one block, and finds the events of a run once."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from stepwell.keeper.bundles import make_bundles
from stepwell.store.calls.keep import keeper_connection
from tests.govern.both_verifiers import both_verifiers
from tests.govern.sample_run import make_sample_run
from tests.govern.sealing import check, seal
from tests.sql.drive import Engine, operation

BLOCKS = "select count(*) from audit_block"


@pytest.mark.requirement("RT-16")
def test_one_block_seals_the_digests_of_all_bundles_of_a_pass(
    dsn: str, db: psycopg.Connection, tmp_path: Path
):
    engine = Engine(db)
    engine.publish("plain", operation("look"))
    runs = [make_sample_run(db), engine.start("plain"), engine.start("plain")]
    engine.drain(engine.worker())
    for run in runs:
        db.execute("select fn_evidence_request(1, %s)", (run,))
    seal(db)
    before = db.execute(BLOCKS).fetchone() or (0,)
    with keeper_connection(dsn) as connection:
        assert make_bundles(connection, dsn, str(tmp_path), lambda: False) == len(runs)
    assert db.execute(BLOCKS).fetchone() == (before[0] + 1,)
    with both_verifiers() as both:
        for run in runs:
            assert both.verify((tmp_path / f"evidence-run-{run}.zip").read_bytes()) == []
    assert check(db).problems == []


def test_the_events_of_a_run_are_found_without_a_call_for_each_row(db: psycopg.Connection):
    """A plan that reads the whole log calls what stands in its condition for each row."""
    run_id = make_sample_run(db)
    db.execute("select fn_evidence_request(1, %s)", (run_id,))
    db.execute("set track_functions = 'all'")
    db.execute("set enable_indexscan = off")
    db.execute("set enable_bitmapscan = off")
    with db.transaction():
        db.execute("select count(*) from fn_evidence_due_events(1, %s)", (run_id,))
        calls = db.execute(
            "select coalesce(sum(pg_stat_get_xact_function_calls(p.oid)), 0) from pg_proc as p"
            " where p.proname = '_evidence_due_streams'"
        ).fetchone()
    assert calls == (1,)
