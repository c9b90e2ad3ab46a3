"""A connector that writes to a file, so that tests can count its effects, and helpers for policies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from stepwell.connectors.base import (
    Action,
    Effect,
    EffectRefused,
    EffectUnavailable,
    EffectUnknown,
    OperationSpec,
    Reversal,
    Usage,
)
from tests.support.deciding import deciding

# idempotent: the ledger ignores a repeated key. confirmable: it can say if a key is written. blind: neither.
OPERATIONS = {
    "put": OperationSpec(writes=True, idempotent=True, reversible=True, confirmable=True),
    "add": OperationSpec(writes=True, idempotent=False, reversible=True, confirmable=True),
    "blind": OperationSpec(writes=True, idempotent=False, reversible=False, confirmable=False),
    "read": OperationSpec(writes=False, idempotent=True, reversible=False, confirmable=False),
    "remove": OperationSpec(writes=True, idempotent=True, reversible=False, confirmable=True),
}


class Ledger:
    """Appends one line per effect. `before` and `after` are called around it and may raise."""

    name = "ledger"
    operations: Mapping[str, OperationSpec] = OPERATIONS

    def __init__(self, path: Path) -> None:
        self.path = path
        self.before: Callable[[Action], None] = lambda action: None
        self.after: Callable[[Action], None] = lambda action: None
        self.asked: Callable[[Action], None] = lambda action: None

    def canonical(self, operation: str, target: str) -> str:
        return target

    async def perform(self, action: Action) -> Effect:
        self.before(action)
        if action.fields.get("fail") == "refused":
            raise EffectRefused("the ledger refuses")
        if action.fields.get("fail") == "unavailable":
            raise EffectUnavailable("the ledger is closed", retry_after_seconds=5)
        if action.operation != "read" and not (
            self.operations[action.operation].idempotent and self.find(action)
        ):
            with self.path.open("a") as stream:
                stream.write(json.dumps({"key": action.idempotency_key, "op": action.operation}) + "\n")
        if action.fields.get("fail") == "unknown":
            raise EffectUnknown("the answer was lost")
        self.after(action)
        return self.effect(action)

    async def confirm(self, action: Action) -> Effect | None:
        self.asked(action)
        return self.effect(action) if self.find(action) else None

    def effect(self, action: Action) -> Effect:
        return Effect(
            result={"entry": action.target, "amount": action.fields.get("amount")},
            external_id=f"ext-{action.target}",
            prior={"amount": 0},
            reversal=Reversal("remove", action.target, {"amount": 0}) if action.reversible else None,
            usage=Usage("ledger", "book-1", 3, 5, 1200, "EUR"),
        )

    def lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def find(self, action: Action) -> bool:
        return self.has(action.idempotency_key)

    def has(self, key: str) -> bool:
        return key in self.keys()

    def keys(self) -> list[str]:
        return [line["key"] for line in self.lines()]


def rule(name: str, effect: str, match: str = "true", priority: int = 10, **more: Any) -> dict[str, Any]:
    tier = {"tier": more.pop("tier", "med")} if effect == "needs_approval" else {}
    return {
        "name": name, "effect": effect, "match": match, "priority": priority,
        "reason": more.pop("reason", f"because of {name}"), **tier, **more,
    }  # fmt: skip


def put_in_force(db: psycopg.Connection[Any], *rules: Mapping[str, Any], tenant_id: int = 1) -> int:
    """Activates the rules: the first policy as the operator, a later one through an approval."""
    for name in ("ada", "ben", "cleo", "dan"):
        db.execute("select stepwell.fn_person_set(%s, %s)", (tenant_id, name))
    row = db.execute(
        "select stepwell.fn_policy_propose(%s, %s, null, 'ada')", (tenant_id, Jsonb(list(rules)))
    ).fetchone()
    assert row is not None
    made = row[0]
    if db.execute("select from stepwell.policy_active where tenant_id = %s", (tenant_id,)).fetchone() is None:
        db.execute("select stepwell.fn_policy_activate(%s, %s, 'operator')", (tenant_id, made["version_no"]))
    else:
        db.execute(deciding("approve", "ben", tenant=tenant_id), (made["approval_id"],))
    version: int = made["version_no"]
    return version


def state_of(db: psycopg.Connection[Any], step_id: str = "book") -> str:
    row = db.execute("select state_code from step_run where step_id = %s", (step_id,)).fetchone()
    assert row is not None
    return str(row[0])


def failure(db: psycopg.Connection[Any]) -> Any:
    """(failure class, message) of the latest failure."""
    return db.execute(
        "select failure_class, error ->> 'message' from unit_failure order by failed_at desc limit 1"
    ).fetchone()


def receipts(db: psycopg.Connection[Any]) -> list[Any]:
    return db.execute(
        "select state_code, idempotency_key from v_action_receipt order by receipt_id"
    ).fetchall()


def verdicts(db: psycopg.Connection[Any]) -> list[Any]:
    return db.execute(
        "select effect, reason_code, rule_name from policy_verdict order by verdict_id"
    ).fetchall()


def open_approval(db: psycopg.Connection[Any]) -> Any:
    row = db.execute("select approval_id from v_approval where state_code = 'requested'").fetchone()
    return row and row[0]
