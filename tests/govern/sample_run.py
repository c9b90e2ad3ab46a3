"""Makes a run with everything that a bundle can hold: receives a connection, returns the run id.

Receipts and verdicts are inserted as rows: the functions that write them have their own tests.
"""

from __future__ import annotations

import psycopg
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, operation

CANARY = "CANARY-7f3a91-secret"


def make_sample_run(db: psycopg.Connection) -> int:
    """An order: a payment that fails once, a human step, an approval by two persons, two model calls."""
    engine = Engine(db)
    engine.publish(
        "order.process",
        operation("validate"),
        operation("charge", retry={"max_attempts": 3, "initial_seconds": 0}),
        human("sign-off", role="warehouse", inputs={"card": "$.input.card", "lines": "$.input.items"}),
        operation("pack"),
    )
    engine.start("order.process", {"order_id": "A-0"}, ref="A-0")
    given = {
        "order_id": "A-1",
        "card": CANARY,
        "items": [{"sku": "x", "price": 9.5}, {"sku": CANARY, "price": 1}],
    }
    run_id = engine.start("order.process", given, ref="A-1")
    session = engine.worker()
    while engine.states(run_id)["sign-off"] in ("not_started",):
        for lease in engine.claim(session):
            if lease.operation == "charge" and lease.attempt == 1:
                error = {"type": "Timeout", "message": f"no answer for {CANARY}"}
                engine.report(session, (lease, "failed", {"error": error}))
            else:
                engine.complete(session, lease, output={"token": CANARY, "ok": True, "lines": [1, 2]})
        engine.timers()
    db.execute("select fn_person_set(1, 'ada', array['warehouse'])")
    step = engine.unit(run_id, "sign-off")
    db.execute("select fn_step_claim(1, %s, 'ada')", (step,))
    db.execute("select fn_step_complete(1, %s, 'ada', %s)", (step, Jsonb({"signed": CANARY})))
    engine.drain(session)
    approval = engine.one(
        "select fn_approval_request(1, 'reopen', %s, 'ada', 'a label is wrong', 2)", (step,)
    )
    for voter in ("bob", "cleo"):
        db.execute("select fn_approval_decide(1, %s, 'approve', %s, 'agreed')", (approval, voter))
    _act(engine, run_id, "charge", 1, "http", "post", "https://pay.example/charges", None)
    _act(engine, run_id, "pack", 2, "model", "complete", "gpt-small", ("acme", "gpt-small", 1200, 300, 4500))
    _act(engine, run_id, "pack", 3, "model", "complete", "gpt-small", ("acme", "gpt-small", 800, 100, 2500))
    assert engine.run_state(run_id) == "completed"
    return run_id


def _act(
    engine: Engine, run_id: int, step_id: str, number: int, connector: str, verb: str, target: str,
    cost: tuple[str, str, int, int, int] | None,
) -> None:  # fmt: skip
    unit_id = engine.unit(run_id, step_id)
    verdict_id = engine.one(
        "insert into policy_verdict (tenant_id, unit_id, lease_no, idempotency_key, connector, operation,"
        " target, action_hash, effect, reason_code, reason, rule_name, tier, decided_at)"
        " values (1, %s, 1, %s, %s, %s, %s, 'ab', 'allow', 'rule', 'within the limit', 'small sums', 'low',"
        " stepwell.now()) returning verdict_id",
        (unit_id, f"k:{number}", connector, verb, target),
    )
    receipt_id = (engine.one("select nextval('run_seq')")) << 20
    engine.db.execute(
        "insert into work_unit (tenant_id, unit_id, scope, state_machine_id, state_code, last_transition_at)"
        " values (1, %s, 'receipt', 'receipt.1', 'confirmed', stepwell.now())",
        (receipt_id,),
    )
    for event_type, before, after in (
        ("receipt.intended", None, "intended"), ("receipt.confirmed", "intended", "confirmed")
    ):  # fmt: skip
        engine.db.execute(
            "insert into event_log (tenant_id, at, run_id, unit_id, event_type, from_state, to_state,"
            " actor_class, payload) values (1, stepwell.now(), %s, %s, %s, %s, %s, 'executor_worker', %s)",
            (receipt_id >> 20, receipt_id, event_type, before, after, Jsonb({"note": CANARY})),
        )
    engine.db.execute(
        "insert into action_receipt (tenant_id, receipt_id, unit_id, run_id, step_id, lease_no,"
        " idempotency_key, connector, operation, target, action_hash, writes, reversible, request_metadata,"
        " response_metadata, external_id, provider, model, input_tokens, output_tokens, cost_micros,"
        " currency, verdict_id, requested_by, acting, intended_at, settled_at)"
        " values (1, %s, %s, %s, %s, 1, %s, %s, %s, %s, 'ab', true, true, %s, %s, %s, %s, %s, %s, %s, %s,"
        " %s, %s, 'ada', 'worker', stepwell.now(), stepwell.now())",
        (
            receipt_id, unit_id, run_id, step_id, f"k:{number}", connector, verb, target,
            Jsonb({"fields": {"amount": 105, "card": CANARY}}), Jsonb({"status": 201, "body": CANARY}),
            f"ext-{number}", *(cost or (None,) * 5), "USD" if cost else None, verdict_id,
        ),
    )  # fmt: skip
