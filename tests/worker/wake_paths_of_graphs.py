"""The calls about job graphs and event routes that make a unit claimable, as in `wake_paths`."""

from __future__ import annotations

from psycopg.types.json import Jsonb

from tests.sql.graphs.publishing import publish
from tests.sql.job_graphs.graphing import emit, job, register
from tests.support.wait import until_row
from tests.worker.resting_stage import Stage
from tests.worker.wake_paths import AFTER


def a_job_graph_that_is_emitted(s: Stage):
    register(s.engine, "emitted", job("after"))
    yield
    emit(s.engine, "emitted")


def a_job_graph_whose_dead_job_is_retried(s: Stage):
    dying = job("mortal", inputs={"dies": "$.input.dies"})
    register(s.engine, "dying", dying, params={"dies": {"type": "boolean"}})
    number = emit(s.engine, "dying", {"dies": True})["workflow_id"]
    s.until_state(number << 20, "failed")
    s.db.execute("update run_detail set input = %s where run_id = %s", (Jsonb({"dies": False}), number))
    yield
    s.call("fn_job_workflow_retry", number, "ada", "fixed")


def stuck(s: Stage, name: str) -> int:
    """A nested job graph that should have ended with its job; after its end comes a job of the worker.

    Nothing leaves one behind by itself: here the end of the job is written by hand.
    """
    register(s.engine, f"{name}-inner", job("by_hand"))
    register(s.engine, name, job("sub", template=f"{name}-inner"), job("after", "sub"))
    emit(s.engine, name)
    unit_id = s.taken().unit_id
    s.db.execute(
        "update work_unit set state_code = 'completed', completed_at = now(), lease_session_id = null"
        " where unit_id = %s",
        (unit_id,),
    )
    number: int = unit_id >> 20
    s.db.execute("update run_progress set open_count = 0, completed_count = 1 where run_id = %s", (number,))
    return number


def a_job_graph_that_is_refreshed(s: Stage):
    number = stuck(s, "refreshed")
    yield
    s.call("fn_job_workflow_refresh", number)


def a_refresh_that_is_due(s: Stage):
    register(s.engine, "due", job("by_hand"))
    emit(s.engine, "due")
    s.taken()
    yield
    s.db.execute("select fn_job_workflow_refresh_due()")


def a_refresh_of_all_job_graphs(s: Stage):
    stuck(s, "all")
    keeper = s.engine.worker("refreshing", serves=["job_workflow_refresh"])
    # In one transaction: the worker of the stage sees no job that it could take.
    with s.db.transaction():
        s.db.execute("update job_workflow_detail set refreshed_at = null where status = 'active'")
        s.db.execute("select fn_job_enqueue(1, 'job_workflow_refresh', array['{}'::jsonb])")
        (lease,) = s.engine.claim(keeper, 1)
    yield
    s.db.execute("select fn_job_workflows_refresh(%s, 1, %s, %s)", (keeper, lease.unit_id, lease.lease_no))


def an_event_that_a_route_turns_into_a_job(s: Stage):
    s.db.execute("select fn_event_route_set(1, 'news', 'workflow.published', 'after')")
    publish(s.engine, AFTER, "news")
    # A transaction that is open hides the events after its begin.
    until_row(s.db, "select pg_snapshot_xmin(pg_current_snapshot()) > coalesce(max(tx), '0') from event_log")
    yield
    s.db.execute("select fn_event_routes_follow()")
    s.db.execute("select fn_event_route_delete(1, 'news')")
