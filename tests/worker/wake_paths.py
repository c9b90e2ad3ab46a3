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


def a_plan_of_replays_that_is_carried_out(s: Stage):
    run_id = s.start(Operation("mortal"), given={"dies": True})
    s.until_state(run_id << 20, "failed")
    s.db.execute("update run_detail set input = '{}' where run_id = %s", (run_id,))
    yield
    s.call("fn_replay_propose", Jsonb({"operation": "mortal"}), "ada", "fixed")
    s.engine.one("select fn_replay_plans_carry()")


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
