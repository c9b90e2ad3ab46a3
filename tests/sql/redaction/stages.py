"""What some functions need before they accept a call: receives an engine, returns values of parameters.

Each stage runs in the transaction of the attack and is rolled back with it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, Lease, human, operation
from tests.support.deciding import deciding
from tests.support.wait import until
from tests.worker.acting import put_in_force, rule

Values = dict[str, Any]
DIGEST = "0" * 64
PASSWORD_HASH = "$argon2id$v=19$m=19456,t=2,p=1$" + "a" * 22 + "$" + "b" * 43
ACTION: Values = {
    "connector": "ledger", "operation": "put", "target": "A", "call": "put#1", "reversible": True,
    "fields": {"amount": 1, "note": "x"},
}  # fmt: skip


def leased(engine: Engine, name: str = "leased") -> tuple[int, Lease]:
    engine.publish(name, operation(name))
    engine.start(name)
    session = engine.worker(name, serves=[name])
    (lease,) = engine.claim(session)
    return session, lease


def proposed(engine: Engine) -> Values:
    """A lease, a policy that allows everything, and the intended receipt of an action."""
    put_in_force(engine.db, rule("all", "allow"))
    session, lease = leased(engine)
    answer = engine.one(
        "select fn_action_propose(%s, 1, %s, %s, %s)", (session, lease.unit_id, lease.lease_no, Jsonb(ACTION))
    )
    return {
        "p_session_key": session,
        "p_unit_id": lease.unit_id,
        "p_lease_no": lease.lease_no,
        "p_receipt_id": answer["receipt_id"],
        "p_outcome": "confirmed",
        "p_action": Jsonb(ACTION),
        "p_effect": Jsonb({}),
    }


def in_doubt(engine: Engine) -> Values:
    found = proposed(engine)
    given = [found[f"p_{name}"] for name in ("session_key", "unit_id", "lease_no", "receipt_id")]
    engine.db.execute("select fn_action_settle(%s, 1, %s, %s, %s, 'unconfirmed')", given)
    return {"p_receipt_id": found["p_receipt_id"], "p_outcome": "void"}


def confirmed(engine: Engine) -> Values:
    found = proposed(engine)
    given = [found[f"p_{name}"] for name in ("session_key", "unit_id", "lease_no", "receipt_id")]
    effect = {"external_id": "e", "reversal": {"operation": "remove", "target": "A", "fields": {}}}
    engine.db.execute("select fn_action_settle(%s, 1, %s, %s, %s, 'confirmed', %s)", (*given, Jsonb(effect)))
    return {"p_receipt_id": found["p_receipt_id"]}


def failed(engine: Engine) -> Values:
    session, lease = leased(engine)
    engine.kill(session, lease)
    return {"p_unit_id": lease.unit_id, "p_run_id": lease.unit_id >> 20}


def bundle_due(engine: Engine) -> Values:
    """A finished run that waits for its bundle."""
    session, lease = leased(engine)
    engine.complete(session, lease)
    engine.db.execute("select fn_evidence_request(1, %s)", (lease.unit_id >> 20,))
    return {"p_run_id": lease.unit_id >> 20, "p_digest": DIGEST}


def bundle_sealed(engine: Engine) -> Values:
    found = bundle_due(engine)
    engine.db.execute("select fn_evidence_due_seal(1, %s, %s)", (found["p_run_id"], DIGEST))
    return found | {"p_sha256": DIGEST, "p_url": "https://bundles.example/1", "p_size_bytes": 1}


def contents(engine: Engine) -> Values:
    for code in ("one", "two"):
        engine.db.execute("select fn_content_write(1, %s, 'first', 'ada')", (code,))
        engine.db.execute("select fn_content_write(1, %s, 'second', 'ada')", (code,))
    return {
        "p_code": "one",
        "p_codes": ["one", "two"],
        "p_into": "both",
        "p_parts": Jsonb([{"code": "a", "body": "sec"}, {"code": "b", "body": "ond"}]),
    }


def versions(engine: Engine) -> Values:
    return contents(engine) | {"p_version_no": 1}


def failed_cut(engine: Engine) -> Values:
    """A cut whose parts are not the text of its source."""
    contents(engine)
    parts = Jsonb([{"code": "a", "body": "x"}, {"code": "b", "body": "y"}])
    answer = engine.one("select fn_iu_op_split(1, 'one', %s, 'ada')", (parts,))
    assert answer["state_code"] == "failed", answer
    return {"p_cut_request_id": answer["cut_request_id"]}


def graph(engine: Engine) -> Values:
    found = engine.one("select graph_hash from workflow_version where tenant_id = 1 limit 1")
    return {
        "p_graph_hash": found,
        "p_lanes_by": "role",
        "p_layout_version": 1,
        "p_drawing": Jsonb({}),
    }


def link(engine: Engine) -> Values:
    made = engine.one("select link from fn_link_create(1, 'ben')")
    return {"p_link": made, "p_secret_hash": PASSWORD_HASH}


def proposal(engine: Engine) -> Values:
    made = engine.one("select fn_policy_propose(1, %s, null, 'ada')", (Jsonb([rule("all", "allow")]),))
    return {"p_version_no": made["version_no"]}


def judged(engine: Engine) -> Values:
    put_in_force(engine.db, rule("all", "allow"))
    return {"p_rules": Jsonb([rule("all", "allow")]), "p_action": Jsonb(ACTION)}


def problem(engine: Engine) -> Values:
    failed_cut(engine)
    return {"p_problem_id": engine.one("select max(problem_id) from governance_problem")}


def scheduled(engine: Engine) -> Values:
    engine.db.execute(
        "select fn_schedule_set(1, 'nightly', 'w', '0 * * * *', 'UTC', '{}', 'skip', 1,"
        " '2100-01-01T00:00Z', 'ada')"
    )
    return {"p_schedule_name": "nightly", "p_is_paused": True}


def slack_account(engine: Engine) -> Values:
    engine.db.execute("select fn_slack_user_map(1, 'U123', 'ben', 'ada')")
    return {"p_slack_user_id": "U123", "p_decision": "approve"}


def slack_callback(engine: Engine) -> Values:
    sent = engine.one("select extract(epoch from stepwell.now())::bigint")
    return {"p_signature": "v0=" + DIGEST, "p_sent_epoch": sent}


def door(engine: Engine) -> Values:
    run_id = engine.start("w")
    return {
        "p_run_id": run_id << 20,
        "p_run_kind": "workflow_run",
        "p_from_state": "in_progress",
        "p_to_state": "paused",
        "p_actor_class": "reviewer",
        "p_trigger_kind": "rpc",
        "p_trigger_ref": "workflow_pause",
        "p_evidence": Jsonb({"actor": "ada", "audit_ref": "actor:ada"}),
    }


def human_step(engine: Engine, **more: Any) -> int:
    engine.publish("hand", human("sign", role="office", **more))
    step = engine.unit(engine.start("hand"), "sign")
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (step,))
    return step


def blocked(engine: Engine) -> Values:
    step = human_step(engine)
    engine.db.execute("select fn_step_block(1, %s, 'ada', 'other')", (step,))
    return {"p_unit_id": step, "p_resolution_ref": "ticket 1"}


def waiting(engine: Engine) -> Values:
    step = human_step(engine)
    engine.db.execute("select fn_step_wait(1, %s, 'ada', array['waiting_human'])", (step,))
    return {"p_unit_id": step, "p_resolution_ref": "ticket 1"}


def escalated(engine: Engine) -> Values:
    levels = [{"after": 600, "tell": "lead"}, {"after": 1200, "tell": "director"}]
    return {"p_unit_id": human_step(engine, escalation=levels)}


def ended(engine: Engine) -> Values:
    """A completed step, with an approval to open it again."""
    engine.publish("hand", human("sign", role="office"), human("after", role="office"))
    step = engine.unit(engine.start("hand"), "sign")
    engine.db.execute("select fn_step_claim(1, %s, 'ada')", (step,))
    engine.db.execute("select fn_step_complete(1, %s, 'ada', '{}')", (step,))
    asked = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (step,))
    engine.one(deciding("approve", "ben"), (asked,))
    return {"p_unit_id": step, "p_actor": "ben", "p_reason": "data_error", "p_approval_id": asked}


def trigger(engine: Engine) -> Values:
    settings = Jsonb({"workflow": "w", "as": "ada"})
    row = engine.db.execute(
        "select address, secret from fn_trigger_set(1, 'hook', %s)", (settings,)
    ).fetchone()
    assert row is not None
    address, secret = row
    signed_at = engine.one("select extract(epoch from stepwell.now())::bigint")
    body = b'{"a": 1}'
    signature = hmac.new(secret.encode(), f"{signed_at}.".encode() + body, hashlib.sha256).hexdigest()
    return {"p_address": address, "p_signed_at": signed_at, "p_signature": signature, "p_body": body}


def read_so_far(engine: Engine) -> Values:
    # An open transaction of another test hides the events after its begin.
    rows = until(lambda: engine.db.execute("select tx, event_id from fn_events_read(1) limit 1").fetchall())
    return {"p_tx": rows[0][0], "p_event_id": rows[0][1]}


def graph_to_publish(engine: Engine) -> Values:
    graph = {"format": 2, "name": "fresh", "steps": [{"no": 1, **operation("a")}], "edges": []}
    return {"p_graph": Jsonb(graph)}


def a_token(engine: Engine) -> Values:
    made = engine.one("select token from fn_token_create(1, 'ben', 'laptop', 60)")
    return {"p_token": made, "p_verb": "read", "p_digest": b"x"}


def decision(engine: Engine) -> Values:
    return {"p_decision": "approve", "p_actor": "ben"}


def dead_letter(engine: Engine) -> Values:
    session = engine.worker("dying")
    (job,) = engine.enqueue("dying")
    engine.kill(session, *(lease for lease in engine.claim(session) if lease.unit_id == job))
    return {}


def replay_plan(engine: Engine) -> Values:
    dead_letter(engine)
    required = "update dot_config set config_value = 'false' where config_key = 'approval.required.replay'"
    engine.db.execute(required)
    made = engine.one("select fn_replay_propose(1, '{}', 'ada', 'why')")
    return {"p_plan_id": int(made["plan_id"])}


def held(engine: Engine) -> Values:
    made = engine.one("select fn_hold_open(1, 'connector', 'books', 'why', 'cli:ops')")
    return {"p_hold_id": int(made["hold_id"]), "p_share": 10}


def template(engine: Engine) -> Values:
    """A template that is sound, and params for it."""
    job = {"local_id": "a", "job_kind": "a", "source_ref": "$.input.order", "target_ref": "erp:orders"}
    params = {"order": {"type": "string"}}
    given = {"template_id": "intake", "description": "orders", "params": params, "jobs": [job]}
    return {"p_template": Jsonb(given)}


def emitting(engine: Engine) -> Values:
    engine.db.execute("select fn_job_template_register(1, %s, 'ada')", (template(engine)["p_template"],))
    engine.db.execute("select fn_person_set(1, 'planner', array['MOT_template_generator'])")
    return {
        "p_template_id": "intake",
        "p_template_params": Jsonb({"order": "o-1"}),
        "p_actor": "planner",
    }


def dead_graph(engine: Engine) -> Values:
    given = emitting(engine)
    made = engine.one(
        "select fn_mot_graph_emit(1, 'intake', %s, p_actor => 'planner')", (given["p_template_params"],)
    )
    session = engine.worker("graphs", serves=["a"])
    leases = [one for one in engine.claim(session, 100) if one.unit_id >> 20 == made["workflow_id"]]
    engine.kill(session, *leases)
    return {"p_workflow_id": made["workflow_id"]}


def event_route(engine: Engine) -> Values:
    return {
        "p_route_name": "found",
        "p_event_type": "order.found",
        "p_operation_name": "a",
        "p_fields": ["order"],
    }


def refused_name(engine: Engine) -> Values:
    """Somebody with a name of an earlier release that is not accepted any more."""
    engine.db.execute("alter table principal disable trigger names_can_be_told_apart")
    engine.db.execute(
        "insert into principal (tenant_id, principal_name, is_active, created_at)"
        " values (1, 'Zoe:', false, now())"
    )
    engine.db.execute("alter table principal enable trigger names_can_be_told_apart")
    return {"p_name": "Zoe:", "p_new_name": "zoe"}


def stopped(engine: Engine) -> Values:
    """A worker and an executor that are frozen."""
    number = engine.session_id(engine.worker("stopped"))
    engine.db.execute("select fn_worker_stop(1, %s, 'frozen', 'ada', 'x')", (number,))
    engine.db.execute("select fn_executor_freeze(1, 'default', 'ada', 'x')")
    return {"p_worker_id": number, "p_stop_kind": "frozen", "p_executor": "default"}


def said(engine: Engine) -> Values:
    """A sentence about a worker, made from the newest event."""
    number = engine.session_id(engine.worker("told"))
    ref = engine.one(
        "select concat_ws(':', 'event', run_id, event_id) from event_log where tenant_id = 1"
        " order by event_id desc limit 1"
    )
    return {
        "p_subject_kind": "worker", "p_subject": str(number), "p_colour": "yellow", "p_sentence_en": "slow",
        "p_sentence_vi": "chậm", "p_source_event_count": 1, "p_source_event_total": 1,
        "p_source_event_refs": [ref], "p_window_start_at": engine.one("select now() - interval '1 day'"),
        "p_window_end_at": engine.one("select stepwell.now()"), "p_summarizer_version": "1",
        "p_confidence": 1.0,
    }  # fmt: skip


STAGES: dict[str, Callable[[Engine], Values]] = {
    "fn_action_propose": proposed,
    "fn_action_settle": proposed,
    "fn_approval_decide": decision,
    "fn_event_route_set": event_route,
    "fn_event_type_schema": lambda engine: {"p_event_type": "step.completed"},
    "fn_events_ack": read_so_far,
    "fn_evidence_due_seal": bundle_due,
    "fn_evidence_due_store": bundle_sealed,
    "fn_evidence_record": bundle_sealed,
    "fn_iu_op_cancel": failed_cut,
    "fn_iu_op_merge": contents,
    "fn_iu_op_restage": versions,
    "fn_iu_op_retry": failed_cut,
    "fn_iu_op_split": contents,
    "fn_job_retry": failed,
    "fn_job_template_register": template,
    "fn_job_workflow_retry": dead_graph,
    "fn_layout_keep": graph,
    "fn_link_enter": link,
    "fn_link_use": link,
    "fn_hold_open": lambda engine: {"p_kind": "connector", "p_value": "books"},
    "fn_hold_reach": lambda engine: {"p_kind": "connector", "p_value": "books"},
    "fn_hold_release": held,
    "fn_mot_graph_emit": emitting,
    "fn_password_set": lambda engine: {"p_principal_name": "ben", "p_secret_hash": PASSWORD_HASH},
    "fn_principal_rename": refused_name,
    "fn_policy_activate": proposal,
    "fn_policy_evaluate": judged,
    "fn_policy_trace": judged,
    "fn_policy_try": judged,
    "fn_problem_close": problem,
    "fn_receipt_reverse": confirmed,
    "fn_receipt_settle": in_doubt,
    "fn_rehearsal_flight": lambda engine: {"p_executors": ["default"], "p_operations": ["a"]},
    "fn_replay_propose": dead_letter,
    "fn_replay_stop": replay_plan,
    "fn_request_open": a_token,
    "fn_run_retry": failed,
    "fn_schedule_delete": scheduled,
    "fn_schedule_pause": scheduled,
    "fn_session_bind": a_token,
    "fn_slack_approval_decide": slack_account,
    "fn_slack_callback_accept": slack_callback,
    "fn_state_transition_validate": door,
    "fn_step_block_escalate": blocked,
    "fn_step_escalate": escalated,
    "fn_step_reopen_for_correction": ended,
    "fn_step_resume": waiting,
    "fn_step_unblock": blocked,
    "fn_tenant_find": lambda engine: {"p_tenant_code": "default"},
    "fn_trigger_fire": trigger,
    "fn_workflow_publish": graph_to_publish,
    "fn_worker_stop": stopped,
    "fn_worker_go_on": stopped,
    "fn_executor_unfreeze": stopped,
    "fn_summary_write": said,
}
