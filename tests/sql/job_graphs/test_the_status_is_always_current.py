"""The status of a job workflow is derived, and equal to a recompute from its jobs at every instant."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sql.drive import Engine
from tests.sql.job_graphs.graphing import emit, emitted, finish, job, perform, register, states, status
from tests.support.clock import Clock
from tests.support.sample import sample

WORDS = {"completed": "succeeded", "cannot_complete": "dead_letter", "cancelled": "cancelled"}


def by_the_document(found: dict[str, str], is_cancelled: bool) -> str:
    """What document 001 derives from the jobs alone."""
    jobs = [WORDS.get(state, "open") for state in found.values()]
    if is_cancelled:
        return "cancelled"
    if "open" in jobs:
        return "active"
    if set(jobs) == {"succeeded"}:
        return "succeeded"
    if "succeeded" in jobs:
        return "partially_failed"
    return "failed" if "dead_letter" in jobs else "cancelled"


@st.composite
def graphs(draw: st.DrawFn) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    for at in range(draw(st.integers(1, 6))):
        names = [one["local_id"] for one in jobs]
        parents = draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if names else []
        more = {"join": "any"} if parents and draw(st.booleans()) else {}
        jobs.append(job(f"j{at}", *parents, max_attempts=draw(st.sampled_from([1, 2])), **more))
    return jobs


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["completed", "completed", "dead", "failed", "cancel", "retry", "time", "stop"]),
        st.integers(0, 5),
    ),
    min_size=3,
    max_size=14,
)


@pytest.mark.requirement("JW-07")
@sample(8)
@given(jobs=graphs(), steps=STEPS)
def test_any_sequence_of_ends_keeps_the_status_equal_to_a_recompute(
    engine: Engine, clock: Clock, jobs: list[dict[str, Any]], steps: list[tuple[str, int]]
):
    with engine.db.transaction(force_rollback=True):
        number = emitted(engine, *jobs)
        engine.db.execute("select fn_person_set(1, 'rev', array['reviewer'])")
        engine.db.execute("select fn_person_set(1, 'asks', array['reviewer'])")
        worker = engine.worker(lease_seconds=86400)
        held: list[Any] = []
        check(engine, number)
        for act, at in steps:
            held += engine.claim(worker)
            if act in ("completed", "dead", "failed") and held:
                finish(engine, worker, [held.pop(at % len(held))], act)
            elif act == "cancel":
                unit = (number << 20) + 1 + at % len(jobs)
                attempt(engine, "select fn_job_cancel(1, %s, 'asks')", unit)
                held = [lease for lease in held if lease.unit_id != unit]
            elif act == "retry":
                retry(engine, number)
            elif act == "time":
                clock.advance(seconds=300)
                engine.one("select fn_timers_fire()")
            elif act == "stop" and at == 0:
                attempt(engine, "select fn_run_cancel(1, %s, 'asks')", number)
                held = []
            check(engine, number)


def attempt(engine: Engine, query: str, number: int) -> Any:
    try:
        with engine.db.transaction():
            return engine.one(query, (number,))
    except psycopg.Error as error:
        if error.sqlstate not in ("SW003", "SW004"):
            raise
        return None


def retry(engine: Engine, number: int) -> None:
    answer = attempt(engine, "select fn_job_workflow_retry(1, %s, 'asks')", number)
    if answer is not None and answer["state"] == "approval_requested":
        engine.db.execute("select fn_approval_decide(1, %s, 'rev', 'approve')", (answer["approval_id"],))


def check(engine: Engine, number: int) -> None:
    found = status(engine, number)
    is_cancelled = (
        engine.one("select state_code from workflow_run where run_id = %s", (number,)) == "cancelled"
    )
    assert found == by_the_document(states(engine, number), is_cancelled)
    assert found == engine.one("select _graph_status_computed(1, %s)", (number,))
    assert engine.db.execute("select * from fn_invariants_check() where not ok").fetchall() == []
    # A refresh finds what is there already: it changes no status and no unit.
    with engine.db.transaction(force_rollback=True):
        before = states(engine, number)
        assert engine.one("select fn_job_workflow_refresh(1, %s)", (number,))["status"] == found
        assert states(engine, number) == before
        assert engine.one("select status from job_workflow_detail where workflow_id = %s", (number,)) == found


@pytest.mark.requirement("JW-07")
def test_dead_jobs_of_a_partially_failed_workflow_are_retried_and_freeze_nothing(engine: Engine):
    number = emitted(engine, job("a"), job("b"), job("c", "b"), job("d"))
    worker = engine.worker()
    held = {lease.step_id: lease for lease in engine.claim(worker)}
    finish(engine, worker, [held["b"]], "dead")
    # The others go on, and the dead job can be retried while they do.
    finish(engine, worker, [held["a"]])
    assert status(engine, number) == "active"
    engine.db.execute("select fn_person_set(1, 'rev', array['reviewer'])")
    engine.db.execute("select fn_person_set(1, 'asks', array['reviewer'])")
    retry(engine, number)
    assert states(engine, number) == {"a": "completed", "b": "ready", "c": "not_started", "d": "in_progress"}
    perform(engine, worker, "b", outcome="dead")
    finish(engine, worker, [held["d"]])
    assert status(engine, number) == "partially_failed"
    retry(engine, number)
    assert status(engine, number) == "active"
    perform(engine, worker, "b")
    perform(engine, worker, "c")
    assert status(engine, number) == "succeeded"
    with (
        pytest.raises(psycopg.Error, match="is succeeded and has no dead job to retry"),
        engine.db.transaction(),
    ):
        engine.one("select fn_job_workflow_retry(1, %s, 'asks')", (number,))


@pytest.mark.requirement("JW-08")
def test_the_health_of_a_workflow_counts_its_jobs(engine: Engine):
    number = emitted(engine, job("a"), job("b"), job("c"), job("d", "a"), job("e", "b"), job("f", "e"))
    worker = engine.worker()
    held = {lease.step_id: lease for lease in engine.claim(worker)}
    finish(engine, worker, [held["a"]])
    finish(engine, worker, [held["b"]], "dead")
    row = engine.db.execute(
        """select generator, status, waiting_steps, queued_steps, in_progress_steps, retry_waiting_steps,
               succeeded_steps, dead_letter_steps, cancelled_steps, finished_at
           from v_job_workflow_health where workflow_id = %s""",
        (number,),
    ).fetchone()
    assert row == ("MOT:t", "active", 0, 1, 1, 0, 1, 1, 2, None)
    assert engine.db.execute(
        "select ready_count, leased_count, dead_count from v_queue_health"
        " where executor = 'default' and tenant_id = 1"
    ).fetchone() == (1, 1, 1)


@pytest.mark.requirement("JW-13")
def test_a_refresh_is_a_job_on_a_cadence(engine: Engine, clock: Clock):
    number = emitted(engine, job("a"))
    due = "select fn_job_workflow_refresh_due()"
    assert engine.one(due) == 1
    assert engine.one(due) == 0
    worker = engine.worker(serves=["job_workflow_refresh"])
    (lease,) = engine.claim(worker)
    refresh = "select fn_job_workflows_refresh(%s, 1, %s, %s)"
    assert engine.one(refresh, (worker, lease.unit_id, lease.lease_no)) == {"refreshed": 1, "changed": 0}
    assert engine.one(refresh, (worker, lease.unit_id, lease.lease_no)) == {"refreshed": 0, "changed": 0}
    finish(engine, worker, [lease])
    other = engine.worker(serves=["a"])
    perform(engine, other, "a")
    clock.advance(seconds=60)
    assert engine.one(due) == 1
    (lease,) = engine.claim(worker)
    assert engine.one(refresh, (worker, lease.unit_id, lease.lease_no)) == {"refreshed": 1, "changed": 1}
    assert (
        engine.one("select status from job_workflow_detail where workflow_id = %s", (number,)) == "succeeded"
    )
    clock.advance(seconds=60)
    assert engine.one(due) == 0
    with pytest.raises(psycopg.Error) as caught, engine.db.transaction():
        engine.one(refresh, (other, lease.unit_id, lease.lease_no))
    assert caught.value.sqlstate == "SW005"


def test_a_refresh_ends_a_workflow_that_has_not_ended_with_its_jobs(engine: Engine):
    """Nothing does that by itself; here the end of the run is taken back by hand."""
    number = emitted(engine, job("a"))
    worker = engine.worker()
    perform(engine, worker, "a")
    engine.db.execute("update work_unit set state_code = 'in_progress' where scope = 'workflow_run'")
    engine.db.execute("update run_detail set finished_at = null, finished_state = null")
    assert status(engine, number) == "active"
    assert engine.one("select fn_job_workflow_refresh(1, %s)", (number,))["status"] == "succeeded"
    assert status(engine, number) == "succeeded"


def due(engine: Engine, worker: int) -> Any:
    """Enqueues the refresh job, and what the worker does for it."""
    engine.one("select fn_job_workflow_refresh_due()")
    (lease,) = engine.claim(worker)
    return engine.one(
        "select fn_job_workflows_refresh(%s, 1, %s, %s)", (worker, lease.unit_id, lease.lease_no)
    )


@pytest.mark.requirement("JW-13")
def test_many_workflows_that_ended_are_refreshed_by_one_job(engine: Engine):
    """More than one job counts again; those that are open still have their turn."""
    register(engine, "t", job("a"))
    register(engine, "open", job("b"))
    number = emit(engine, "open")["workflow_id"]
    for _ in range(230):
        emit(engine, "t")
    worker = engine.worker(serves=["a"])
    while leases := engine.claim(worker):
        finish(engine, worker, leases)
    assert due(engine, engine.worker("refreshing", serves=["job_workflow_refresh"])) == {
        "refreshed": 231,
        "changed": 230,
    }
    assert engine.one("select count(*) from job_workflow_detail where status = 'succeeded'") == 230
    refreshed = "select refreshed_at is not null from job_workflow_detail where workflow_id = %s"
    assert engine.one(refreshed, (number,)) is True


def test_a_workflow_that_cannot_be_refreshed_stops_no_other(engine: Engine, clock: Clock):
    register(engine, "t", job("a"))
    bad, good = (emit(engine, "t")["workflow_id"] for _ in range(2))
    engine.db.execute(
        "alter table job_workflow_detail add constraint no_refresh"
        f" check (workflow_id <> {bad} or status = 'active')"
    )
    worker = engine.worker(serves=["a"])
    finish(engine, worker, engine.claim(worker))
    # Their ends are taken back by hand, so that a refresh has something to do.
    engine.db.execute("update work_unit set state_code = 'in_progress' where scope = 'workflow_run'")
    engine.db.execute("update run_detail set finished_at = null, finished_state = null")
    refreshing = engine.worker("refreshing", serves=["job_workflow_refresh"])
    assert due(engine, refreshing)["changed"] == 1
    assert [status(engine, number) for number in (bad, good)] == ["active", "succeeded"]
    assert engine.db.execute("select duty, subject, error_code from governance_problem").fetchall() == [
        ("refresh", str(bad), "23514")
    ]
    engine.db.execute("alter table job_workflow_detail drop constraint no_refresh")
    clock.advance(seconds=61)
    assert due(engine, refreshing)["changed"] == 1
    assert status(engine, bad) == "succeeded"
    assert engine.one("select fn_problems_settle()") == 1


def test_a_refresh_that_nobody_takes_is_not_enqueued_again(engine: Engine, clock: Clock):
    emitted(engine, job("a"))
    assert engine.one("select fn_job_workflow_refresh_due()") == 1
    clock.advance(seconds=61)
    assert engine.one("select fn_job_workflow_refresh_due()") == 0


@pytest.mark.requirement("JW-07")
def test_a_nested_workflow_is_retried_while_it_is_open_and_with_its_job_when_it_failed(engine: Engine):
    engine.db.execute(
        "update dot_config set config_value = 'false' where config_key = 'approval.required.replay'"
    )
    engine.db.execute("select fn_person_set(1, 'asks', array['reviewer', 'operator'])")
    register(engine, "inner", job("a"), job("b"))
    number = emitted(engine, job("sub", template="inner"), template_id="outer")
    inner = engine.one("select max(workflow_id) from job_workflow")
    worker = engine.worker()
    held = {lease.step_id: lease for lease in engine.claim(worker)}
    finish(engine, worker, [held["a"]], "dead")
    engine.one("select fn_job_workflow_retry(1, %s, 'asks')", (inner,))
    perform(engine, worker, "a", outcome="dead")
    finish(engine, worker, [held["b"]])
    assert (status(engine, inner), status(engine, number)) == ("partially_failed", "failed")
    with pytest.raises(psycopg.Error) as caught, engine.db.transaction():
        engine.one("select fn_job_workflow_retry(1, %s, 'asks')", (inner,))
    assert caught.value.sqlstate == "SW003"
    engine.one("select fn_job_workflow_retry(1, %s, 'asks')", (number,))
    again = engine.one("select max(workflow_id) from job_workflow")
    assert again != inner
    perform(engine, worker, "a", "b")
    assert (status(engine, again), status(engine, number)) == ("succeeded", "succeeded")


@pytest.mark.requirement("JW-11")
def test_everything_about_a_workflow_is_in_the_database(engine: Engine):
    """No process holds anything: another worker goes on where the first one ended."""
    register(engine, "t", job("a"), job("b", "a"))
    number = emit(engine, "t")["workflow_id"]
    first = engine.worker("first")
    perform(engine, first, "a")
    engine.claim(first)
    engine.db.execute("select fn_worker_close(%s)", (first,))
    perform(engine, engine.worker("second"), "b")
    assert status(engine, number) == "succeeded"
