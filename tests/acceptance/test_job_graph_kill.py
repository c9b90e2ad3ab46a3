"""A storm of kill -9 with job graphs in it: every job runs once, every graph ends as the document says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import psycopg
import pytest

from stepwell.testing import check_invariants
from tests.acceptance.working import worker
from tests.sql.drive import Engine
from tests.sql.job_graphs.graphing import any_of, emit, job, register
from tests.support.sample import some
from tests.support.wait import until_row

APP = str(Path(__file__).with_name("graph_app.py"))
GRAPHS = some(6, 60)
KILLS = some(3, 30)
JOBS = 7
REPEATED_WITHOUT_A_LOSS = """
select e.step, count(*) from public.effect as e
group by e.step, e.unit_id
having count(*) > 1 + (select count(*) from stepwell.event_log as l
    where l.unit_id = e.unit_id and l.event_type = 'step.lease_expired')
"""


def done_count(db: psycopg.Connection) -> int:
    row = db.execute("select count(*) from stepwell.v_graph_job where state_code = 'completed'").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.requirement("JW-11")
def test_a_storm_of_kills_loses_no_job_and_repeats_only_what_a_killed_worker_left(
    dsn: str, db: psycopg.Connection, tmp_path: Path
):
    db.execute("create table public.effect (step text not null, unit_id bigint not null)")
    engine = Engine(db)
    kinds = {"job_kind": "mark"}
    register(engine, "inner", job("x", **kinds), job("y", "x", **kinds), params={"graph": {"type": "string"}})
    register(
        engine, "storm", job("a", **kinds), job("b", "a", **kinds), job("c", "a", **kinds),
        job("bad", "a", job_kind="give_up"), any_of("first", "bad", "b", "c", **kinds),
        job("nested", "b", template="inner", params={"graph": "$.input.graph"}),
        job("last", "c", "nested", **kinds),
        job("never", "bad", **kinds), params={"graph": {"type": "string"}},
    )  # fmt: skip
    for at in range(GRAPHS):
        emit(engine, "storm", {"graph": f"g{at}"}, p_key=f"g{at}")
    goal = GRAPHS * JOBS
    for kill in range(KILLS):
        # Killed while jobs are under way: after a part of them has completed.
        with worker(dsn, tmp_path / f"{kill}.log", "--lease-seconds", "2", "--slots", "4", app=APP):
            until_row(
                db,
                "select count(*) >= %s from stepwell.v_graph_job where state_code = 'completed'",
                (min(done_count(db) + max(goal // (KILLS + 1), 1), goal - 1),),
            )
    with worker(dsn, tmp_path / "last.log", "--lease-seconds", "2", app=APP):
        until_row(db, "select count(*) = 0 from stepwell.job_workflow where status = 'active'")
    found = Counter(
        db.execute(
            "select template_id, status from stepwell.job_workflow where parent_workflow_id is null"
        ).fetchall()
    )
    assert found == {("storm", "partially_failed"): GRAPHS}
    assert Counter(db.execute("select state_code from stepwell.v_graph_job").fetchall()) == {
        ("completed",): GRAPHS * 8, ("cannot_complete",): GRAPHS, ("cancelled",): GRAPHS,
    }  # fmt: skip
    assert db.execute("select count(distinct unit_id) from effect").fetchone() == (GRAPHS * 7,)
    # A worker that is killed between an effect and its checkpoint leaves both to the next attempt.
    assert db.execute(REPEATED_WITHOUT_A_LOSS).fetchall() == []
    assert check_invariants(dsn) == []
