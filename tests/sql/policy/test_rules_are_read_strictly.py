"""A rule that cannot tell denies: a value that is missing, null, a list or of another type allows nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from stepwell.govern.policy_file import match_path
from tests.sql.drive import Engine
from tests.sql.people.asking import refused
from tests.sql.policy.judging import ACTION, tamper, tried
from tests.worker.acting import put_in_force, rule

SMALL = rule("small", "allow", "$.fields.amount <= 1000")
LARGE = rule("large", "needs_approval", "$.fields.amount > 1000", 10)
REST = rule("rest", "allow", "true", 20)


def with_fields(**fields: Any) -> dict[str, Any]:
    return {**ACTION, "fields": fields}


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize(
    ("fields", "gap"),
    [
        ({"amount": [1, 999999]}, "$.fields.amount is a list"),
        ({"amount": {"value": 1}}, "$.fields.amount is an object"),
        ({}, "$.fields.amount is missing"),
        ({"amount": None}, "$.fields.amount is missing"),
        ({"amount": "1"}, ""),
        ({"amount": True}, ""),
    ],
)
@pytest.mark.parametrize(
    "rules",
    [
        pytest.param([SMALL], id="a rule that allows"),
        pytest.param([LARGE, REST], id="a rule that asks, and the rest is free"),
        pytest.param([rule("not-large", "allow", "!($.fields.amount > 1000)")], id="not large"),
        pytest.param([rule("small", "allow", "lax $.fields.amount <= 1000")], id="lax mode written out"),
        pytest.param([rule("small", "allow", " LAX $.fields.amount <= 1000")], id="lax mode in capitals"),
    ],
)
def test_a_value_that_cannot_be_compared_denies_and_is_named(engine: Engine, rules, fields, gap):
    found = tried(engine, rules, with_fields(**fields))
    assert (found["effect"], found["reason_code"]) == ("deny", "rule_unknown"), found
    assert found["reason"].endswith(gap), found


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize(
    "match",
    [
        "exists($.fields ? (@.amount > 1000))",
        "strict exists($.fields ? (@.amount > 1000))",
        'exists($ ? (@.connector == "http" && @.fields.amount > 1000))',
        '$.connector == "http" && exists($.fields ? (@.amount > 1000))',
        'exists($.fields ? (@.amount > 1000 && (@.note == ")?(" || 1 == 1)))',
    ],
)
def test_a_filter_of_a_rule_that_asks_overlooks_nothing(engine: Engine, match: str):
    """A filter leaves out what it cannot compare; a rule that denies or asks must not."""
    rules = [rule("large", "needs_approval", match, 10), REST]
    answers = {
        "5": "rest", "5000": "large", "[1, 999999]": "large", "\"5000\"": None,
        "{\"value\": 5000}": None, "null": "rest",
    }  # fmt: skip
    for amount, name in answers.items():
        found = tried(engine, rules, with_fields(amount=json.loads(amount)))
        effect = {None: "deny", "large": "needs_approval", "rest": "allow"}[name]
        wanted = (effect, "rule_unknown" if name is None else "rule")
        assert (found["effect"], found["reason_code"]) == wanted, (amount, found)
    assert tried(engine, rules, with_fields(amount=[[999999]]))["effect"] != "allow"
    assert tried(engine, rules, with_fields())["rule"] == "rest", "a value that may be missing"


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize(
    ("match", "amount"),
    [
        # A filter under a negation drops what it cannot compare.
        ("!exists($.fields ? (@.amount > 1000))", [1, 999999]),
        ("!exists($.fields ? (@.amount > 1000))", "999999"),
        ("!exists($.fields ? (@.amount > 1000))", {"value": 999999}),
        ("!exists($.fields.amount ? (@ > 1000))", [1, 999999]),
        ("!(exists($.fields ? (@.amount > 1000)))", True),
        # One small value of several.
        ("$.fields.amount[*] <= 1000", [1, 999999]),
        ("$.fields.amount[0 to 1] <= 1000", [1, 999999]),
        ("$.fields.amount[0, 1] <= 1000", [1, 999999]),
        ("$.fields.amount.* <= 1000", {"a": 1, "b": 999999}),
        ("$.fields.amount.keyvalue().value <= 1000", {"a": 1, "b": 999999}),
        ("$.fields.* <= 1000", 1),
        # Nobody knows, so it is allowed.
        ("($.fields.amount > 1000) is unknown", "999999"),
        ("!($.fields.amount > 1000) || ($.fields.amount > 1000) is unknown", [999999]),
    ],
)
def test_a_rule_that_allows_is_not_true_because_something_was_left_out(engine: Engine, match: str, amount):
    found = tried(engine, [rule("small", "allow", match)], with_fields(amount=amount, other=999999))
    assert found["effect"] == "deny", found


@pytest.mark.parametrize(
    ("match", "amount"),
    [
        ("!exists($.fields ? (@.amount > 1000))", 5),
        ("exists($.fields.amount[*] ? (@ == 5))", [5, 6]),
        ("!exists($.fields.amount[*] ? (@ > 1000))", [5, 6]),
        ("$.fields.amount[*] <= 1000", [5]),
        ("$.fields.amount * 2 <= 1000", 5),
        ('$.target != "a,b*?" && $.fields.amount <= 1000', 5),
    ],
)
def test_a_rule_that_allows_may_ask_for_one_or_for_all_of_a_list(engine: Engine, match: str, amount):
    found = tried(engine, [rule("small", "allow", match)], with_fields(amount=amount, other=999999))
    assert found["effect"] == "allow", found


@pytest.mark.requirement("RT-06")
def test_rules_of_other_connectors_and_optional_values_are_no_gap(engine: Engine):
    guarded = rule("mail", "allow", '$.connector == "mail" && $.fields.amount <= 1000', 10)
    sunday = rule("sunday", "deny", match_path({"input.weekday?": ["sunday", "saturday"]}), 15)
    rules = [guarded, sunday, REST]
    assert tried(engine, rules, with_fields())["rule"] == "rest"
    assert tried(engine, rules, {**ACTION, "input": {"weekday": "sunday"}})["rule"] == "sunday"
    assert tried(engine, rules, {**ACTION, "input": {"weekday": "monday"}})["rule"] == "rest"
    named = rule("none", "allow", "$.fields.note == null")
    assert tried(engine, [named], with_fields(note=None))["effect"] == "allow"


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize(
    "match",
    [
        "$.feilds.amount <= 1000",
        '$."feilds".amount <= 1000',
        '$ . "feilds" . amount <= 1000',
        '$."\\u0066eilds".amount <= 1000',
        "strict $.feilds.amount <= 1000",
        '$.connector == "a" || $.feilds.amount <= 1000',
        "exists($ ? (@.feilds.amount <= 1000))",
        'exists($ ? (@."feilds".amount <= 1000))',
        "exists($[*] ? (@.feilds.amount <= 1000))",
        "exists($.fields ? (@.amount <= $.feilds.amount))",
        '$.target == "$.fields" && $.feilds.amount == 1',
    ],
)
def test_a_root_that_no_action_has_is_refused_however_it_is_written(engine: Engine, match: str):
    put_in_force(engine.db, REST)
    with refused("SW001", "an action has no feilds; it has tenant"):
        engine.one("select fn_policy_propose(1, %s, null, 'ada')", (Jsonb([rule("odd", "allow", match)]),))
    tamper(engine, [rule("odd", "allow", match)])
    found = engine.one("select fn_policy_evaluate(1, %s)", (Jsonb(ACTION),))
    assert (found["effect"], found["reason_code"]) == ("deny", "policy_broken")
    assert "feilds" in found["reason"]


@pytest.mark.parametrize(
    "match",
    [
        '$."fields"."amount" == 50', '$.target != "$.feilds"',
        '$.fields."a.b$x" == 1 || $.fields.amount == 50',
        'exists($ ? (@.connector == "http" && @.fields.amount < 1000))', '$.fields.keyvalue().key == "$."',
    ],
)  # fmt: skip
def test_a_root_that_actions_have_is_accepted(engine: Engine, match: str):
    assert engine.db.execute(
        "select * from fn_policy_check(%s)", (Jsonb([rule("r", "allow", match)]),)
    ).fetchall() == []  # fmt: skip


@pytest.mark.requirement("RT-06")
def test_a_guard_is_read_strictly(engine: Engine):
    """A guard over evidence does not hold where the evidence lacks what it reads."""

    def holds(path: str, evidence: dict[str, Any]) -> bool:
        return engine.one(
            "select _guard_expression(%s, u, %s) from work_unit as u limit 1", (path, Jsonb(evidence))
        )

    engine.one("select fn_job_enqueue(1, 'charge', array['{}'::jsonb])")
    for path in ("$.evidence.amount <= 1000", "!($.evidence.amount > 1000)"):
        assert holds(path, {"amount": 5}) is True
        for wrong in ({"amount": [1, 999999]}, {}, {"amount": None}, {"amount": "5"}):
            assert holds(path, wrong) is False, (path, wrong)
    assert holds("$.unit.pic_id == null", {}) is True
