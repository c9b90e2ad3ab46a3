"""Rules are evaluated by priority, whatever their order in the file; the first that is true decides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine
from tests.sql.policy.judging import ACTION, tried
from tests.support.sample import sample
from tests.worker.acting import rule

# Match → its result for ACTION.
MATCHES = {
    "true": True,
    '$.connector == "http"': True,
    '$.connector == "mail"': False,
    "$.fields.amount > 10": True,
    "$.fields.amount > 100": False,
    "$.fields.missing == 1": None,
    "exists($.fields ? (@.missing == 1))": False,
    '$.target starts with "/orders"': True,
    '!($.workflow == "order")': False,
    "exists($.input.customer)": True,
    '$.fields.amount > "x"': None,
}
EFFECTS = ("allow", "deny", "needs_approval")


def expected(rules: list[dict[str, Any]]) -> tuple[str, str, str | None]:
    """The rule of the source document, written in Python."""
    for one in sorted(rules, key=lambda one: one["priority"]):
        match MATCHES[one["match"]]:
            case True:
                return one["effect"], "rule", one["name"]
            case None:
                return "deny", "rule_unknown", one["name"]
    return "deny", "no_match", None


rule_sets = st.lists(
    st.tuples(st.sampled_from(sorted(MATCHES)), st.sampled_from(EFFECTS), st.integers(0, 9999)),
    min_size=1,
    max_size=12,
    unique_by=lambda drawn: drawn[2],
)


@pytest.mark.requirement("RT-06")
@sample(80)
@given(drawn=rule_sets)
def test_the_database_and_the_python_version_agree(engine: Engine, drawn):
    rules = [rule(f"r{at}", effect, match, priority) for at, (match, effect, priority) in enumerate(drawn)]
    found = tried(engine, rules)
    assert (found["effect"], found["reason_code"], found.get("rule")) == expected(rules)


def test_a_verdict_holds_all_fields_of_the_rule(engine: Engine):
    large = rule(
        "large", "needs_approval", "$.fields.amount > 10", tier="high", two_person=True, role="lead",
        expires_seconds=60,
    )  # fmt: skip
    assert tried(engine, [large]) == {
        "effect": "needs_approval", "tier": "high", "two_person": True, "role": "lead",
        "expires_seconds": 60, "reason": "because of large", "reason_code": "rule", "rule": "large",
        "priority": 10,
    }  # fmt: skip


def test_the_trace_shows_every_rule_in_the_order_of_evaluation(engine: Engine):
    rules = [
        rule("b", "deny", "$.attempt > 1", 20),
        rule("a", "allow", '$.step == "x"', 5),
        rule("c", "allow", "true", 30),
    ]
    rows = engine.db.execute(
        "select rule, answer from fn_policy_trace(%s, %s)", (Jsonb(rules), Jsonb(ACTION))
    ).fetchall()
    assert rows == [("a", "false"), ("b", "false"), ("c", "true")]


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize(
    ("target", "denied", "allowed"),
    [
        ("/admin", True, True),
        ("/Admin", True, False),
        ("/admin/", True, False),
        ("/ADMIN/?x=1", True, False),
        ("/admin?x=1", True, False),
        ("/administration", False, False),
    ],
)
def test_a_rule_that_denies_reads_a_target_more_widely_than_one_that_allows(engine, target, denied, allowed):
    match = '$.target == "/admin"'
    action = {**ACTION, "target": target}
    free = rule("free", "allow", "true", 20)
    assert (tried(engine, [rule("no", "deny", match), free], action)["effect"] == "deny") is denied
    asks = rule("ask", "needs_approval", match)
    assert (tried(engine, [asks, free], action)["effect"] == "needs_approval") is denied
    assert (tried(engine, [rule("yes", "allow", match)], action)["effect"] == "allow") is allowed
