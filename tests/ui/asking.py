"""Requests approvals for the tests of pages: receives a few values, returns the ids of approvals."""

from __future__ import annotations

from typing import Any

from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human
from tests.support.deciding import PLACE, deciding

WORKFLOW = "order.refund"
FIELDS = {
    "amount": 40,
    "currency": "EUR",
    "values": {"group": "network", "tags": ["late", "broken"]},
    "api_token": "[redacted]",
}


def place(engine: Engine) -> int:
    """A step of a new run, as the subject of an approval, and the people who ask and decide."""
    engine.person("ada", "ben", "cleo")
    if engine.one("select 1 from workflow_registry where workflow_name = %s", (WORKFLOW,)) is None:
        engine.publish(WORKFLOW, human("sign-off", role="office"))
    return engine.unit(engine.start(WORKFLOW), "sign-off")


def ask(engine: Engine, by: str = "ada", reason: str | None = "a wrong number", **named: Any) -> int:
    """Requests an approval to reopen a step."""
    words = "".join(f", p_{name} => %s" for name in named)
    query = f"select fn_approval_request(1, 'reopen', %s, %s, %s{words})"
    made: int = engine.one(query, (place(engine), by, reason, *named.values()))
    return made


def ask_to_act(engine: Engine, target: str = "/orders/A-1/refunds", **named: Any) -> int:
    """Requests an approval for an action on another system, as `ctx.act` of a handler does."""
    about = {
        "connector": "shop",
        "operation": "refund",
        "target": target,
        "fields": named.pop("fields", FIELDS),
        "reversible": True,
        "rule": "money",
        "policy_version": 3,
    }
    given = {"tier": 3, "quorum": 1, "acting": "worker-1", **named, "about": Jsonb(about)}
    words = "".join(f", p_{name} => %s" for name in given)
    query = f"select _approval_request(1, 'act', %s, 'ada', 'money leaves the house'{words})"
    made: int = engine.one(query, (place(engine), *given.values()))
    return made


def decide(
    engine: Engine, approval: int, person: str, decision: str = "approve", reason: str | None = None
) -> str:
    """Decides without the web console, as Slack, the command line or the API do."""
    engine.person(person)
    state: str = engine.one(deciding(PLACE, PLACE, PLACE), (approval, decision, person, reason))
    return state
