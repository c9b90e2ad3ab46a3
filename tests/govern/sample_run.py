"""Makes a run with everything that a bundle can hold: receives a connection, returns the run id."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, Lease, human, operation
from tests.support.deciding import PLACE, deciding
from tests.worker.acting import put_in_force, rule

CANARY = "CANARY-7f3a91-secret"
USAGE = ("provider", "model", "input_tokens", "output_tokens", "cost_micros", "currency")


def make_sample_run(db: psycopg.Connection) -> int:
    """An order: a payment that is refused once, a human step, approvals by two persons, three model calls."""
    engine = Engine(db)
    for person in ("ada", "bob", "cleo"):
        db.execute("select fn_person_set(1, %s, array['warehouse'])", (person,))
    put_in_force(
        db,
        rule("ask", "needs_approval", '$.target == "gpt-large"', 5, two_person=True, tier="high"),
        rule("no", "deny", '$.target == "gpt-huge"', 6, reason="too dear"),
        rule("small sums", "allow", reason="within the limit"),
    )
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
            if lease.operation == "charge" and lease.unit_id >> 20 == run_id:
                _charge(engine, session, lease)
            elif lease.operation == "charge" and lease.attempt == 1:
                engine.report(session, (lease, "failed", {"error": {"type": "Timeout", "message": CANARY}}))
            else:
                engine.complete(session, lease, output={"token": CANARY, "ok": True, "lines": [1, 2]})
        engine.timers()
    step = engine.unit(run_id, "sign-off")
    db.execute("select fn_step_claim(1, %s, 'ada')", (step,))
    db.execute("select fn_step_complete(1, %s, 'ada', %s)", (step, Jsonb({"signed": CANARY})))
    for lease in engine.claim(session):
        if lease.unit_id == engine.unit(run_id, "pack"):
            _pack(engine, session, lease)
        engine.complete(session, lease, output={"token": CANARY})
    engine.drain(session)
    approval = engine.one(
        "select fn_approval_request(1, 'reopen', %s, 'ada', 'a label is wrong', 2)", (step,)
    )
    engine.person("bob", "cleo")
    for voter in ("bob", "cleo"):
        db.execute(deciding("approve", PLACE, "agreed"), (approval, voter))
    assert engine.run_state(run_id) == "completed"
    return run_id


def _charge(engine: Engine, session: int, lease: Lease) -> None:
    """Refused at the first attempt, confirmed at the second."""
    receipt = _propose(engine, session, lease, "http", "post", "https://pay.example/charges")
    if lease.attempt == 1:
        _settle(engine, session, lease, receipt, "void", {"reason": f"no answer for {CANARY}"})
        error = {"type": "Timeout", "message": f"no answer for {CANARY}"}
        engine.report(session, (lease, "failed", {"error": error}))
        return
    effect = {
        "result": {"status": 201, "body": CANARY}, "external_id": "ext-1", "prior": {"sum": 0},
        "reversal": {"operation": "refund", "target": "https://pay.example/refunds", "fields": {"sum": 9}},
    }  # fmt: skip
    _settle(engine, session, lease, receipt, "confirmed", effect)
    engine.complete(session, lease, output={"token": CANARY, "ok": True, "lines": [1, 2]})


def _pack(engine: Engine, session: int, lease: Lease) -> None:
    """Two calls of a model, one that two persons must allow, and one that policy denies."""
    for number, tokens in ((2, (1200, 300, 4500)), (3, (800, 100, 2500))):
        receipt = _propose(engine, session, lease, "model", "complete", "gpt-small", number)
        usage = dict(zip(USAGE, ("acme", "gpt-small", *tokens, "USD"), strict=True))
        effect = {"result": CANARY, "external_id": f"ext-{number}", "usage": usage}
        _settle(engine, session, lease, receipt, "confirmed", effect)
    answer = _answer(engine, session, lease, "model", "complete", "gpt-large", 4)
    assert answer["answer"] == "wait", answer
    for voter in ("bob", "cleo"):
        engine.db.execute(deciding("approve", PLACE, "once"), (answer["approval_id"], voter))
    receipt = _propose(engine, session, lease, "model", "complete", "gpt-large", 4)
    _settle(engine, session, lease, receipt, "unconfirmed", {"reason": f"lost: {CANARY}"})
    assert _answer(engine, session, lease, "model", "complete", "gpt-huge", 5)["answer"] == "deny"


def _answer(
    engine: Engine, session: int, lease: Lease, connector: str, verb: str, target: str, number: int = 1
) -> Any:
    action = {
        "connector": connector, "operation": verb, "target": target, "call": f"{connector}.{verb}#{number}",
        "fields": {"amount": 105, "card": CANARY}, "reversible": True,
    }  # fmt: skip
    return engine.one(
        "select fn_action_propose(%s, 1, %s, %s, %s)", (session, lease.unit_id, lease.lease_no, Jsonb(action))
    )


def _propose(engine: Engine, session: int, lease: Lease, *what: Any) -> int:
    answer = _answer(engine, session, lease, *what)
    assert answer["answer"] == "go", answer
    return int(answer["receipt_id"])


def _settle(engine: Engine, session: int, lease: Lease, receipt: int, outcome: str, effect: Any) -> None:
    engine.one(
        "select fn_action_settle(%s, 1, %s, %s, %s, %s, %s)",
        (session, lease.unit_id, lease.lease_no, receipt, outcome, Jsonb(effect)),
    )
