"""A step that fails, is cancelled or is tried again changes what depends on it, and reads it a few times.

The tables are young: a plan that reads all steps of the version for each edge looks as good as any other.
With it, one failure in a graph of 2,000 steps took 20 seconds, and the reports of all tenants in its batch
waited; a retry of 600 steps took 6 seconds.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sql.drive import Engine, Lease, operation

# It measures what is read, which depends on what former tests left in the files.
pytestmark = pytest.mark.new_database

STEPS = 200
# Each step has five edges. For each edge: the edge, the step after it, its unit; and a few for the change.
MOST_READ = 60

End = Callable[[Engine, int, Lease], object]
ENDS: dict[str, End] = {
    "it cannot complete": lambda engine, session, lease: engine.kill(session, lease),
    "it is cancelled": lambda engine, session, lease: engine.one(
        "select fn_job_cancel(1, %s, 'cli:ada')", (lease.unit_id,)
    ),
}


# The reinstated steps are changed one by one, each with its approval.
MOST_READ_AGAIN = 300


def rows_read(engine: Engine) -> int:
    engine.db.execute("select pg_stat_force_next_flush()")
    found: int = engine.one(
        "select (sum(coalesce(idx_tup_fetch, 0)) + sum(seq_tup_read))::int from pg_stat_user_tables"
        " where relname in ('work_unit', 'workflow_step_def', 'workflow_step_relations')"
    )
    return found


@pytest.fixture
def begun(engine: Engine) -> tuple[int, int, Lease]:
    """A run in which every step has an edge to the next five, a session, and the lease of the first step."""
    numbers = range(STEPS)
    edges = [(f"s{a}", f"s{b}") for a in numbers for b in range(a + 1, min(a + 6, STEPS))]
    engine.publish("ladder", *(operation(f"s{number}") for number in numbers), edges=edges)
    run_id = engine.start("ladder")
    session = engine.worker()
    (lease,) = engine.claim(session)
    return run_id, session, lease


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_an_end_reads_its_dependents_a_few_times(engine: Engine, begun: tuple[int, int, Lease], end: End):
    run_id, session, lease = begun
    before = rows_read(engine)
    end(engine, session, lease)
    assert rows_read(engine) - before <= MOST_READ * STEPS
    ended = "select count(*) from step_run where run_id = %s and state_code = 'cancelled'"
    assert engine.one(ended, (run_id,)) >= STEPS - 1
    assert engine.faults() == {}


def test_a_retry_and_the_invariants_read_them_a_few_times(engine: Engine, begun: tuple[int, int, Lease]):
    run_id, session, lease = begun
    engine.kill(session, lease)
    before = rows_read(engine)
    assert engine.one("select fn_run_retry(1, %s, 'cli:ada', 'again')", (run_id,))["state"] == "replayed"
    assert rows_read(engine) - before <= MOST_READ_AGAIN * STEPS
    assert engine.one("select count(*) from step_run where state_code = 'not_started'") == STEPS - 1
    before = rows_read(engine)
    assert engine.faults() == {}
    assert rows_read(engine) - before <= MOST_READ_AGAIN * STEPS
