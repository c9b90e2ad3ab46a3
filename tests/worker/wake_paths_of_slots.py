"""All calls that make room for a unit or release it: slots, caps and leases. Generators as in wake_paths."""

from __future__ import annotations

from psycopg.types.json import Jsonb

from stepwell.define import Conditional
from tests.sql.drive import Engine, Lease
from tests.sql.graphs.publishing import publish
from tests.support.wait import until_row
from tests.worker.resting_stage import BY_HAND, Stage
from tests.worker.wake_paths import AFTER


def line(s: Stage, key: str) -> Lease:
    """The test has the lease of one job; a job for the worker waits behind it for the concurrency key."""
    s.engine.enqueue("by_hand", p_concurrency_key=key, p_max_concurrency=1)
    lease = s.taken()
    s.engine.enqueue("after", p_concurrency_key=key, p_max_concurrency=1)
    return lease


def a_slot_that_a_report_frees(s: Stage):
    lease = line(s, "completed")
    yield
    s.engine.complete(s.hand, lease)


def a_slot_that_a_wait_frees(s: Stage):
    lease = line(s, "parked")
    yield
    s.engine.report(s.hand, (lease, "waiting", {"event": "never"}))


def a_slot_that_a_cancelled_job_frees(s: Stage):
    lease = line(s, "cancelled")
    yield
    s.call("fn_job_cancel", lease.unit_id, "ada")


def a_slot_that_a_unit_set_aside_frees(s: Stage):
    lease = line(s, "set aside")
    yield
    s.db.execute(
        "select fn_job_report_set_aside(%s, %s, %s, %s, 'XX000', 'it cannot be accepted')",
        (s.hand, lease.tenant_id, lease.unit_id, lease.lease_no),
    )


def a_unit_set_aside_whose_time_has_come(s: Stage):
    other, lease = leased_by_another(s)
    s.db.execute(
        "select fn_job_report_set_aside(%s, %s, %s, %s, 'XX000', 'it cannot be accepted')",
        (other, lease.tenant_id, lease.unit_id, lease.lease_no),
    )
    yield
    s.fire(lease.unit_id)


def a_slot_that_a_lost_worker_frees(s: Stage):
    lost = s.engine.worker("lost", ["process"])
    s.engine.enqueue("by_hand", p_concurrency_key="lost", p_max_concurrency=1, p_max_attempts=1)
    s.engine.claim(lost, 1)
    s.engine.enqueue("after", p_concurrency_key="lost", p_max_concurrency=1)
    s.lose(lost)
    yield
    s.db.execute("select fn_leases_recover()")


def a_rate_that_allows_the_next_job(s: Stage):
    rate = {"p_concurrency_key": "rate", "p_rate_count": 1, "p_rate_seconds": 3600.0}
    s.engine.enqueue("by_hand", **rate)
    s.engine.complete(s.hand, s.taken())
    s.engine.enqueue("after", **rate)
    yield
    s.db.execute("update rate_token set back_at = stepwell.now()")
    s.engine.timers()


def capped(s: Stage, name: str) -> int:
    """A workflow with a cap of one step: the test has the step of its first run, the worker's step waits."""
    publish(s.engine, Conditional("$.input.hand == true", BY_HAND, AFTER), name)
    s.call("fn_workflow_caps_set", name, Jsonb({"max_concurrency": 1}))
    first = s.engine.start(name, {"hand": True})
    s.taken()
    s.engine.start(name, {"hand": False})
    return first


def a_cap_of_a_workflow_that_is_raised(s: Stage):
    capped(s, "raised")
    yield
    s.call("fn_workflow_caps_set", "raised", Jsonb({"max_concurrency": 2}))


def a_cap_of_a_workspace_that_is_raised(s: Stage):
    publish(s.engine, Conditional("$.input.hand == true", BY_HAND, AFTER), "in_retail")
    s.call("fn_workspace_set", "retail", Jsonb({"max_concurrency": 1}))
    for hand in (True, False):
        s.db.execute(
            "select fn_run_start(1, 'in_retail', %s::jsonb[], p_workspace => 'retail')",
            ([Jsonb({"hand": hand})],),
        )
        if hand:
            s.taken()
    yield
    s.call("fn_workspace_set", "retail", Jsonb({"max_concurrency": 2}))


def a_slot_that_a_cancelled_run_frees(s: Stage):
    first = capped(s, "cancelled")
    yield
    s.call("fn_run_cancel", first, "ada")


def a_slot_that_a_paused_run_frees(s: Stage):
    publish(s.engine, Conditional("$.input.hand == true", BY_HAND, AFTER), "paused")
    s.call("fn_workflow_caps_set", "paused", Jsonb({"max_concurrency": 1}))
    first = s.engine.start("paused", {"hand": True})
    s.engine.start("paused", {"hand": False})
    yield
    s.call("fn_run_pause", first, "ada")


def a_tenant(s: Stage, name: str) -> Lease:
    """A tenant with a cap of one unit: the test has its lease, and the unit for the worker waits."""
    tenant_id = s.engine.one("select fn_tenant_set(%s, %s)", (name, Jsonb({"max_concurrency": 1})))
    engine = Engine(s.db, tenant_id)
    s.db.execute(
        "select fn_operation_register(%s, %s)",
        (tenant_id, Jsonb([{"name": "by_hand", "executor": "process"}, {"name": "after"}])),
    )
    engine.enqueue("by_hand")
    lease = s.taken()
    engine.enqueue("after")
    return lease


def a_cap_of_a_tenant_that_is_raised(s: Stage):
    a_tenant(s, "raised")
    yield
    s.db.execute("select fn_tenant_set('raised', %s)", (Jsonb({"max_concurrency": 2}),))


def a_place_under_a_cap_that_a_report_of_another_executor_frees(s: Stage):
    lease = a_tenant(s, "reported")
    yield
    s.engine.report(s.hand, (lease, "completed", None), claim_limit=10)


def a_place_under_a_cap_that_a_cancellation_frees(s: Stage):
    lease = a_tenant(s, "cancelled")
    yield
    s.db.execute("select fn_job_cancel(%s, %s, 'cli:ada')", (lease.tenant_id, lease.unit_id))


def leased_by_another(s: Stage) -> tuple[int, Lease]:
    """Another worker of the same executor has the lease of the step; the worker of the stage is idle."""
    other = s.engine.worker("other")
    s.db.execute("update worker_session set is_idle = false where worker_name = 'resting'")
    s.start(AFTER)
    (lease,) = s.engine.claim(other, 1)
    s.db.execute("update worker_session set is_idle = true where worker_name = 'resting'")
    return other, lease


def a_unit_that_another_worker_releases(s: Stage):
    other, lease = leased_by_another(s)
    yield
    s.engine.report(other, (lease, "released", None))


def a_worker_that_closes(s: Stage):
    other, _ = leased_by_another(s)
    yield
    s.db.execute("select fn_worker_close(%s)", (other,))


def a_worker_that_is_lost(s: Stage):
    other, _ = leased_by_another(s)
    s.lose(other)
    yield
    s.db.execute("select fn_leases_recover()")


def _held(s: Stage, name: str) -> int:
    """The number of a hold of a workflow; the first step of a run of it waits beside the queue."""
    publish(s.engine, AFTER, name)
    opened = "select (fn_hold_open(1, 'workflow', %s, 'why', 'cli:ops') ->> 'hold_id')::bigint"
    hold: int = s.engine.one(opened, (name,))
    s.engine.start(name)
    # A claim that met it before the hold ends would put it there after.
    until_row(s.db, "select exists (select from job_held where hold_id = %s)", (hold,))
    return hold


def a_hold_that_is_released(s: Stage):
    hold = _held(s, "held")
    yield
    s.call("fn_hold_release", hold, 100, "why", "cli:ops")


def a_hold_that_the_keeper_carries_on(s: Stage):
    hold = _held(s, "held_later")
    s.db.execute("update dot_config set config_value = '0' where config_key = 'limits.hold_batch'")
    s.call("fn_hold_release", hold, 100, "why", "cli:ops")
    s.db.execute("update dot_config set config_value = '5000' where config_key = 'limits.hold_batch'")
    yield
    s.engine.one("select fn_holds_carry()")
