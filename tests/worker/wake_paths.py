"""All calls that make a unit claimable. Each is a generator: it prepares, yields, then makes the call.

The worker of the stage completes the unit once.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

from psycopg.types.json import Jsonb

from stepwell.define import Conditional, Human, Map, Operation, Sequential, Step, SubWorkflow, Wait
from tests.sql.drive import Engine, Lease
from tests.sql.graphs.publishing import publish
from tests.support.deciding import deciding
from tests.worker.acting import rule
from tests.worker.resting_stage import BY_HAND, Stage

AFTER = Operation("after")
CAUGHT = Conditional("first", Operation("by_hand", id="never"), AFTER)


def a_start(s: Stage):
    yield
    s.start(AFTER)


def a_start_whose_first_step_is_a_sub_workflow(s: Stage):
    publish(s.engine, AFTER, "inner")
    yield
    s.start(SubWorkflow("inner", id="sub"))


def a_start_whose_first_step_is_a_map(s: Stage):
    yield
    s.start(Map("$.input.items", AFTER), given={"items": [1]})


def a_start_whose_first_step_is_human_with_a_task_for_the_worker(s: Stage):
    yield
    s.engine.publish(
        "with_task",
        {"id": "pack", "kind": "human", "role": "office", "tasks": [{"id": "t", "operation": "after"}]},
    )
    s.engine.start("with_task")


def a_start_with_labels(s: Stage):
    publish(s.engine, AFTER, "labelled")
    yield
    s.db.execute(
        "select fn_run_start_labelled(%s, 1, 'labelled', array['{}'::jsonb])", (Jsonb({"team": "a"}),)
    )


def a_start_at_a_worker_of_another_executor(s: Stage):
    publish(s.engine, AFTER, "elsewhere")
    yield
    s.db.execute("select fn_run_start_here(%s, 5, 1, 'elsewhere', array['{}'::jsonb])", (s.hand,))


def a_start_of_more_runs_than_the_worker_has_room_for(s: Stage):
    publish(s.engine, AFTER, "two_runs")
    other = s.engine.worker("starter")
    yield
    s.db.execute("select fn_run_start_here(%s, 1, 1, 'two_runs', array['{}', '{}']::jsonb[])", (other,))


def posted(s: Stage, name: str, body: dict[str, Any], **settings: str) -> tuple[Any, ...]:
    """A trigger, and a signed request for it: the arguments of fn_trigger_fire."""
    address, secret = s.db.execute(
        "select address, secret from fn_trigger_set(1, %s, %s)", (name, Jsonb({"as": "ada", **settings}))
    ).fetchone()
    signed_at = s.engine.one("select extract(epoch from stepwell.now())::bigint")
    sent = json.dumps(body).encode()
    signature = hmac.new(secret.encode(), f"{signed_at}.".encode() + sent, hashlib.sha256).hexdigest()
    return address, signed_at, signature, sent


def a_request_of_a_trigger_that_starts_a_run(s: Stage):
    publish(s.engine, AFTER, "posted")
    request = posted(s, "starts", {}, workflow="posted")
    yield
    s.db.execute("select fn_trigger_fire(%s, %s, %s, %s)", request)


def a_request_of_a_trigger_that_sends_an_event(s: Stage):
    publish(s.engine, Sequential(Wait("came", id="parcel"), AFTER), "told")
    s.engine.start("told", {}, "K-1")
    request = posted(s, "tells", {"key": "K-1"}, workflow="told", event_type="came", key_path="$.key")
    yield
    s.db.execute("select fn_trigger_fire(%s, %s, %s, %s)", request)


def a_job(s: Stage):
    yield
    s.engine.enqueue("after")


def a_delayed_job_that_is_due(s: Stage):
    (job_id,) = s.engine.enqueue(
        "after", p_process_after=s.engine.one("select stepwell.now() + interval '1 day'")
    )
    yield
    s.fire(job_id)


def a_schedule_that_fires(s: Stage):
    publish(s.engine, AFTER, "scheduled")
    due = s.engine.one("select date_trunc('hour', stepwell.now())")
    s.db.execute(
        "select fn_schedule_set(1, 's', 'scheduled', '0 * * * *', 'UTC', '{}', 'latest', 1, %s, 'ada')",
        (due,),
    )
    yield
    s.db.execute("select fn_schedule_fire(1, 's', %s, %s, %s + interval '1 year')", (due, [due], due))


def a_signal_for_a_wait(s: Stage):
    run_id = s.start(Wait("came", id="parcel"), AFTER)
    yield
    s.signal(run_id)


def a_wait_whose_time_is_up(s: Stage):
    run_id = s.start(Wait("came", id="first", timeout="1d"), CAUGHT)
    yield
    s.fire(s.unit(run_id, "first"))


def a_retry_that_is_due(s: Stage):
    run_id = s.start(Operation("shaky"))
    s.until_state(s.unit(run_id, "shaky"), "failed")
    yield
    s.fire(s.unit(run_id, "shaky"))


def a_sleep_that_is_over(s: Stage):
    run_id = s.start(Operation("slept"))
    s.until_state(s.unit(run_id, "slept"), "waiting")
    yield
    s.fire(s.unit(run_id, "slept"))


def a_retry_by_hand(s: Stage):
    run_id = s.start(Operation("shaky"))
    s.until_state(s.unit(run_id, "shaky"), "failed")
    yield
    s.call("fn_job_retry", s.unit(run_id, "shaky"), "ada", "now")


def a_dead_step_that_is_replayed(s: Stage):
    run_id = s.start(BY_HAND, AFTER)
    s.engine.kill(s.hand, s.taken())
    s.call("fn_job_retry", s.unit(run_id, "by_hand"), "ada", "fixed")
    lease = s.taken()
    yield
    s.engine.complete(s.hand, lease)


def a_failed_run_that_is_retried(s: Stage):
    run_id = s.start(Operation("mortal"), given={"dies": True})
    s.until_state(run_id << 20, "failed")
    s.db.execute("update run_detail set input = '{}' where run_id = %s", (run_id,))
    yield
    s.call("fn_run_retry", run_id, "ada", "fixed")


def a_run_that_is_resumed(s: Stage):
    run_id = s.start(BY_HAND, AFTER)
    lease = s.taken()
    s.call("fn_run_pause", run_id, "ada")
    s.engine.complete(s.hand, lease)
    yield
    s.call("fn_run_resume", run_id, "ada")


def a_person_who_completes(s: Stage):
    unit = s.unit(s.start(Human("sign", role="office"), AFTER), "sign")
    s.people.claim(unit, "ada")
    yield
    s.people.complete(unit, "ada")


def a_person_who_cannot_complete(s: Stage):
    unit = s.unit(s.start(Human("first", role="office"), CAUGHT), "first")
    s.people.claim(unit, "ada")
    yield
    s.people.cannot_complete(unit, "ada", "note:1")


def fn_state_transition_validate(s: Stage):
    unit = s.unit(s.start(Human("sign", role="office"), AFTER), "sign")
    s.people.claim(unit, "ada")
    yield
    s.db.execute(
        "select fn_state_transition_validate(%s, 'step', 'in_progress', 'completed', 'pic_human', 'rpc',"
        " 'step_complete', %s)",
        (
            unit,
            Jsonb(
                {
                    "audit_ref": "a",
                    "actor_id": s.engine.one("select person_id from person where person_name = 'ada'"),
                }
            ),
        ),
    )


def a_step_that_is_reopened_for_correction(s: Stage):
    unit = s.unit(s.start(AFTER), "after")
    s.until_state(unit, "completed")
    made = s.call("fn_approval_request", "reopen", unit, "ada")
    s.engine.one(deciding("approve", "ben"), (made,))
    yield
    s.people.reopen_for_correction(unit, "ben", "data_error", made)


def asked(s: Stage, *more: Step) -> tuple[int, int]:
    """A handler of the worker waits for an approval."""
    s.policy(rule("ask", "needs_approval", expires_seconds=3600))
    run_id = s.start(Operation("book", id="first"), *more)
    s.until_state(s.unit(run_id, "first"), "waiting")
    return run_id, s.approval()


def an_approval_that_is_granted(s: Stage):
    _, approval = asked(s)
    yield
    s.engine.one(deciding("approve", "ben"), (approval,))


def an_approval_that_is_granted_in_slack(s: Stage):
    _, approval = asked(s)
    s.db.execute("select fn_slack_user_map(1, 'U123', 'ben', 'ada')")
    shown = s.engine.one("select shown_digest from v_approval where approval_id = %s", (approval,))
    yield
    s.call("fn_slack_approval_decide", "U123", approval, "approve", shown)


def an_approval_that_is_rejected(s: Stage):
    _, approval = asked(s, CAUGHT)
    yield
    s.engine.one(deciding("reject", "ben", "too much"), (approval,))


def an_approval_that_expires(s: Stage):
    _, approval = asked(s, CAUGHT)
    s.db.execute("update work_unit set deadline_at = stepwell.now() where unit_id = %s", (approval,))
    yield
    s.fire(approval)


def an_approval_that_is_withdrawn(s: Stage):
    _, approval = asked(s, CAUGHT)
    yield
    s.call("fn_approval_withdraw", approval, "test")


def a_receipt_that_a_person_settles(s: Stage):
    s.policy(rule("free", "allow"))
    run_id = s.start(
        Operation("book", inputs={"op": "$.input.op", "fail": "$.input.fail"}),
        given={"op": "blind", "fail": "unknown"},
    )
    s.until_state(s.unit(run_id, "book"), "waiting")
    receipt = s.engine.one("select receipt_id from v_action_receipt where state_code = 'unconfirmed'")
    yield
    s.call("fn_receipt_settle", receipt, "confirmed", "ben", "I looked", None, Jsonb(None))


def an_effect_that_is_reversed(s: Stage):
    s.policy(rule("free", "allow"))
    run_id = s.start(Operation("book"))
    s.until_state(run_id << 20, "completed")
    receipt = s.engine.one("select max(receipt_id) from v_action_receipt where state_code = 'confirmed'")
    yield
    s.call("fn_receipt_reverse", receipt, "ben", "wrong")


def a_report_of_another_worker(s: Stage):
    s.start(BY_HAND, AFTER)
    lease = s.taken()
    yield
    s.engine.report(s.hand, (lease, "completed", None), claim_limit=10)


def a_report_of_another_worker_that_waits_for_no_lock(s: Stage):
    s.start(BY_HAND, AFTER)
    lease = s.taken()
    yield
    s.db.execute(
        "select fn_job_report_free(%s, %s, %s, %s, array['completed'], array['null'])",
        (s.hand, [lease.tenant_id], [lease.unit_id], [lease.lease_no]),
    )


def a_failure_at_another_worker(s: Stage):
    s.start(Operation("by_hand", id="first"), CAUGHT)
    lease = s.taken()
    yield
    s.engine.kill(s.hand, lease)


def a_map_that_another_worker_opens(s: Stage):
    s.start(BY_HAND, Map("$.input.items", AFTER), given={"items": [1]})
    lease = s.taken()
    yield
    s.engine.complete(s.hand, lease)


def a_sub_workflow_that_ends_at_another_worker(s: Stage):
    publish(s.engine, BY_HAND, "inner_by_hand")
    s.start(SubWorkflow("inner_by_hand", id="sub"), AFTER)
    lease = s.taken()
    yield
    s.engine.complete(s.hand, lease)


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
