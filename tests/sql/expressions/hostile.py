"""Expressions that fail or cost too much, in versions that were published before they were refused."""

from __future__ import annotations

import json
from typing import Any

from tests.sql.drive import Engine

# (path, input, part of the reason)
Hostile = tuple[str, dict[str, Any], str]

# Postgres raises an error for a date compared with a time in a zone, also in its silent mode.
ZONE: Hostile = (
    "$.input.due.datetime() < $.input.paid.datetime()",
    {"due": "2026-01-01", "paid": "2026-01-01 00:00:00+00"},
    "cannot be evaluated: cannot convert value from date to timestamptz",
)
VARIABLE: Hostile = ("$nobody == 1", {}, 'cannot be evaluated: could not find jsonpath variable "nobody"')
NESTED: Hostile = (
    "exists ($.input.a[*] ? (exists ($.input.a[*] ? (exists ($.input.a[*] ? (@ < 0))))))",
    {"a": list(range(3_000))},
    "would look at 2700",
)
BACK_REFERENCE: Hostile = (
    '$.input.text like_regex "^((a+)\\\\2)+$"',
    {"text": "a" * 401},
    "would look at too many values of this document",
)
TWO_LISTS: Hostile = (
    "$.input.a[*] == $.input.b[*]",
    {"a": list(range(30_000)), "b": list(range(30_000, 60_000))},
    "would look at 900060000 values of this document",
)
TWO_LISTS_UNWRAPPED: Hostile = ("$.input.a == $.input.b", TWO_LISTS[1], "would look at 9000")
REPETITION: Hostile = (
    '$.input.text like_regex "((a{1,200}){1,200}){1,200}$"',
    {"text": "b"},
    "a repetition inside of a repetition",
)
SUBSCRIPTS: Hostile = ("$.input.text" + "[0,0]" * 40 + ' == "b"', {"text": "a"}, "would look at too many")
KEY_VALUES: Hostile = (
    "exists ($.input" + ".keyvalue()" * 40 + ")",
    {"text": "a"},
    "would look at too many values",
)
# A comparison of two values is cheap, but not to read a time or to multiply long numbers.
TIMES: Hostile = (
    "exists ($.input.a[*] ? ($.input.a[*].datetime() < @.datetime()))",
    {"a": ["2026-01-01T00:00:00+02:00"] * 900},
    "would look at 12150000 values",
)
LONG_NUMBERS: Hostile = (
    "exists ($.input.a[*] ? ($.input.n" + " * $.input.n" * 40 + " < @))",
    {"a": [1] * 1_000, "n": int("7" * 900)},
    "values of this document; at most 1000000",
)

FAILING = {"zone": ZONE, "variable": VARIABLE}
COSTLY = {
    "nested filters": NESTED,
    "back reference": BACK_REFERENCE,
    "two lists": TWO_LISTS,
    "two lists without wildcards": TWO_LISTS_UNWRAPPED,
    "repeated repetition": REPETITION,
    "repeated subscripts": SUBSCRIPTS,
    "keys of keys": KEY_VALUES,
    "times": TIMES,
    "long numbers": LONG_NUMBERS,
}
ALL = {**FAILING, **COSTLY}


def publish_before_the_rule(engine: Engine, workflow: str, *nodes: dict[str, Any], **graph: Any) -> None:
    """Publishes the steps with harmless expressions, then stores the real expressions in their rows."""
    plain = [{**node, **_harmless(node)} for node in nodes]
    engine.publish(workflow, *plain, **graph)
    for node in nodes:
        config = {name: node[name] for name in ("test", "over", "postcondition", "tasks") if name in node}
        inputs = json.dumps(node["inputs"]) if "inputs" in node else None
        engine.db.execute(
            "update workflow_step_def as d set inputs = coalesce(%s, d.inputs), config = d.config || %s"
            " from workflow_version as v inner join workflow_registry as w using (tenant_id, workflow_id)"
            " where d.tenant_id = v.tenant_id and d.version_id = v.version_id and w.workflow_name = %s"
            " and d.step_id = %s",
            (inputs, json.dumps(config), workflow, node["id"]),
        )


def _harmless(node: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = {
        name: "true" for name in ("test", "postcondition") if isinstance(node.get(name), str)
    }
    if "over" in node:
        plain["over"] = "$.input.a"
    if "inputs" in node:
        plain["inputs"] = dict.fromkeys(node["inputs"], "$.input.a")
    if "tasks" in node:
        plain["tasks"] = [{**task, "when": "true"} for task in node["tasks"]]
    return plain
