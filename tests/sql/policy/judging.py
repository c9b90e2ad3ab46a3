"""Judges actions by rules: receives an action, returns the verdict of the database."""

from __future__ import annotations

from typing import Any

from psycopg.types.json import Jsonb

from tests.sql.drive import Engine

ACTION: dict[str, Any] = {
    "tenant": "default", "workflow": "order", "step": "charge", "run_id": 7, "connector": "http",
    "operation": "POST", "target": "/orders/7", "fields": {"amount": 50, "currency": "EUR"},
    "reversible": True, "writes": True, "actor": "worker:w", "started_by": "ada", "attempt": 1,
    "input": {"customer": "C-1"},
}  # fmt: skip


def judged(engine: Engine, action: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = engine.one(
        "select fn_policy_evaluate(%s, %s)", (engine.tenant_id, Jsonb(ACTION if action is None else action))
    )
    return found


def tried(engine: Engine, rules: Any, action: Any = None) -> dict[str, Any]:
    found: dict[str, Any] = engine.one(
        "select fn_policy_try(%s, %s)", (Jsonb(rules), Jsonb(ACTION if action is None else action))
    )
    return found


def tamper(engine: Engine, rules: Any, *, with_hash: bool = True) -> None:
    """Replaces the approved rules in the table, as only its owner can, with the trigger switched off."""
    engine.db.execute("alter table policy_set disable trigger policy_sets_are_final")
    engine.db.execute("update policy_set set rules = %s", (Jsonb(rules),))
    if with_hash:
        engine.db.execute("update policy_set set rules_hash = _policy_hash(rules)")
