"""Many parents, many graphs, and runs that are no graphs: nothing is read that is not needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from stepwell.store.calls import graphs as calls
from tests.sql import binding
from tests.sql.drive import Engine, operation
from tests.sql.job_graphs.graphing import any_of, emit, finish, job, register, states

GRAPHS = 60
READ = "select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) from pg_stat_xact_user_tables"


@contextmanager
def reading(engine: Engine, at_most: int) -> Iterator[None]:
    """The rows that the block reads; it is in one transaction."""
    before = engine.one(READ)
    yield
    assert engine.one(READ) - before <= at_most


@pytest.fixture
def many(engine: Engine) -> list[int]:
    register(engine, "t", job("a"), job("b", "a"))
    return [emit(engine, "t")["workflow_id"] for _ in range(GRAPHS)]


def test_what_depends_on_many_parents_is_cancelled_with_one_look_at_each(engine: Engine):
    """All parents of an any-of die in one statement: none is read once for each of the others."""
    count = 200
    middle = [job(f"m{at}", "a", job_kind="m") for at in range(count)]
    register(engine, "wide", job("a"), *middle, any_of("z", *(one["local_id"] for one in middle)))
    number = emit(engine, "wide")["workflow_id"]
    worker = engine.worker()
    leases = engine.claim(worker)
    with engine.db.transaction(), reading(engine, 60 * count):
        finish(engine, worker, leases, "dead")
    assert states(engine, number)["z"] == "cancelled"


def test_a_run_that_is_no_graph_pays_nothing_for_joins(engine: Engine):
    engine.publish("plain", operation("a"), operation("b"))
    engine.start("plain")
    worker = engine.worker()
    leases = engine.claim(worker)
    engine.db.execute("set track_functions = 'all'")
    with engine.db.transaction():
        finish(engine, worker, leases, "dead")
        called = engine.db.execute(
            "select funcname from pg_stat_xact_user_functions where funcname ~ '^_(joins|graph|params)_'"
        ).fetchall()
    engine.db.execute("reset track_functions")
    assert called == []


@pytest.mark.parametrize("role", [None, "stepwell_api"])
def test_one_graph_and_one_job_are_read_without_those_of_others(
    engine: Engine, many: list[int], role: str | None
):
    engine.db.execute("analyze")
    number = many[GRAPHS // 2]
    job_id = (number << 20) + 1
    queries: dict[str, Any] = {
        "the graph": calls.job_workflow(1, number),
        "a page": calls.job_workflows(1, [number]),
        "its jobs": calls.graph_jobs(1, number, None, 100),
    }
    text = binding.token(engine.db, 1)
    with engine.db.transaction():
        # Tables of a test are so small that a plan reads them whole.
        engine.db.execute("set local enable_seqscan = off")
        if role is not None:
            engine.db.execute(f"set local role {role}")
            binding.bind(engine.db, text)
        for call in queries.values():
            with reading(engine, 60):
                assert engine.db.execute(call.text.encode(), call.parameters).fetchall()
        with reading(engine, 60):
            found = engine.one(
                "select template_id from stepwell.job_queue where tenant_id = 1 and job_id = %s", (job_id,)
            )
    assert found == "t"


def test_a_list_of_one_status_has_those_that_are_stored_and_those_that_are_not_yet(
    engine: Engine, many: list[int]
):
    worker = engine.worker(serves=["a", "b"])
    ends: dict[int, str] = {}
    for lease in engine.claim(worker, GRAPHS)[:3]:
        outcome = "dead" if len(ends) < 2 else "completed"
        finish(engine, worker, [lease], outcome)
        ends[lease.unit_id >> 20] = outcome
    failed = [number for number, outcome in ends.items() if outcome == "dead"]
    # One of them is refreshed: its status is stored; the other is stored as active.
    engine.one("select fn_job_workflow_refresh(1, %s)", (failed[0],))

    def listed(status: str | None, template_id: str | None = None, before: int | None = None) -> list[int]:
        call = calls.find_workflows(1, template_id=template_id, status=status, before=before, limit=1000)
        return call.decode(engine.db.execute(call.text.encode(), call.parameters).fetchall())

    assert listed("failed") == sorted(failed, reverse=True)
    assert listed("failed", before=max(failed)) == [min(failed)]
    assert listed("failed", template_id="none") == []
    assert listed("active") == sorted(set(many) - set(failed), reverse=True)
    assert listed(None) == sorted(many, reverse=True)
    # A retry opens it again, and its stored status with it.
    engine.db.execute("select fn_person_set(1, 'asks', array['reviewer'])")
    engine.db.execute(
        "update dot_config set config_value = 'false' where config_key = 'approval.required.replay'"
    )
    engine.one("select fn_job_workflow_retry(1, %s, 'asks')", (failed[0],))
    assert listed("failed") == [failed[1]]
    assert failed[0] in listed("active")
