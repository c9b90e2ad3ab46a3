"""Whatever is wrong with a policy, the verdict is deny, and it gives the reason."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine
from tests.sql.people.asking import refused
from tests.sql.policy.judging import ACTION, judged, tamper, tried
from tests.worker.acting import put_in_force, rule

GOOD = rule("all", "allow")


def denied(engine: Engine, action: object = None) -> object:
    """The reason of a denial."""
    found = judged(engine, action)
    assert found["effect"] == "deny", found
    return found["reason_code"]


def without(**gone: object) -> dict[str, object]:
    return {name: value for name, value in {**GOOD, **gone}.items() if value is not None}


@pytest.mark.requirement("RT-06")
def test_no_policy_denies(engine: Engine):
    assert judged(engine) == {"effect": "deny", "reason_code": "no_policy", "reason": "no policy is in force"}


@pytest.mark.requirement("RT-06")
def test_no_match_denies(engine: Engine):
    put_in_force(engine.db, rule("other", "allow", '$.connector == "mail"'))
    assert denied(engine) == "no_match"


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize(
    "broken",
    [
        pytest.param([], id="no rules"),
        pytest.param({"rules": []}, id="not a list"),
        pytest.param(None, id="null"),
        pytest.param(["allow everything"], id="a rule that is a text"),
        pytest.param([without(effect="permit")], id="an unknown effect"),
        pytest.param([without(effect=None)], id="no effect"),
        pytest.param([without(match=None)], id="no match"),
        pytest.param([without(match="$.connector = 'x'")], id="a match that does not parse"),
        pytest.param([without(match="$.conector == 1")], id="a match on a field that no action has"),
        pytest.param([without(match="$x == 1")], id="a match with a variable"),
        pytest.param([without(match="true || " * 700 + "true")], id="a match that is too long"),
        pytest.param([without(priority="first")], id="a priority that is no number"),
        pytest.param([GOOD, {**GOOD, "name": "again"}], id="a priority given twice"),
        pytest.param([GOOD, {**GOOD, "priority": 11}], id="a name given twice"),
        pytest.param([without(effect="needs_approval")], id="an approval without a tier"),
        pytest.param([without(reason=None)], id="no reason"),
        pytest.param([without(efect="deny")], id="an unknown word"),
        pytest.param(
            [GOOD, without(name="b", priority=99, effect="permit")], id="a broken rule after one that matches"
        ),
        pytest.param([{**GOOD, "name": f"r{at}", "priority": at} for at in range(201)], id="too many rules"),
    ],
)
def test_a_broken_rule_set_denies_and_cannot_be_proposed(engine: Engine, broken):
    put_in_force(engine.db, GOOD)
    assert judged(engine)["effect"] == "allow"
    tamper(engine, broken)
    found = judged(engine)
    assert (found["effect"], found["reason_code"]) == ("deny", "policy_broken"), found
    with refused("SW001", "rule"):
        engine.one("select fn_policy_propose(1, %s, null, 'ada')", (Jsonb(broken),))


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize(
    ("match", "reason_code"),
    [
        pytest.param("strict $.fields.missing == 1", "rule_unknown", id="strict on a missing field"),
        pytest.param('$.fields.amount > "many"', "rule_unknown", id="a number against a text"),
        pytest.param('$.target.size() > "x"', "rule_unknown", id="incomparable"),
        pytest.param("$.connector", "rule_error", id="neither true nor false"),
        pytest.param("$.fields.*", "rule_error", id="many answers"),
        pytest.param("$.fields.amount / 0 == 1", "rule_unknown", id="division by zero"),
    ],
)
def test_an_expression_that_fails_denies(engine: Engine, match: str, reason_code: str):
    put_in_force(engine.db, rule("odd", "allow", match), rule("all", "allow", priority=20))
    found = judged(engine)
    assert (found["effect"], found["reason_code"], found["rule"]) == ("deny", reason_code, "odd"), found


@pytest.mark.requirement("RT-06")
def test_rules_that_differ_from_the_approved_ones_deny(engine: Engine):
    put_in_force(engine.db, rule("none", "deny"))
    tamper(engine, [GOOD], with_hash=False)
    assert denied(engine) == "policy_altered"


@pytest.mark.requirement("RT-06")
def test_a_policy_that_cannot_be_found_denies(engine: Engine):
    put_in_force(engine.db, GOOD)
    engine.db.execute("alter table policy_active drop constraint active_policy_exists")
    engine.db.execute("update policy_active set policy_set_id = 4711")
    assert denied(engine) == "policy_missing"


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize("action", [[], "POST", 7, None])
def test_a_value_that_is_no_action_is_denied(engine: Engine, action):
    put_in_force(engine.db, GOOD)
    found = engine.one("select fn_policy_evaluate(1, %s)", (Jsonb(action),))
    assert (found["effect"], found["reason_code"]) == ("deny", "action_unreadable")


@pytest.mark.requirement("RT-06")
def test_an_action_too_large_to_judge_is_denied(engine: Engine):
    put_in_force(engine.db, GOOD)
    assert denied(engine, {**ACTION, "fields": {"text": "x" * 300_000}}) == "action_too_large"


@pytest.mark.requirement("RT-06")
def test_an_error_of_the_database_denies(engine: Engine):
    put_in_force(engine.db, GOOD)
    engine.db.execute("alter table dot_config rename to dot_config_gone")
    found = judged(engine)
    assert (found["effect"], found["reason_code"]) == ("deny", "evaluation_error")


def test_the_policy_of_another_tenant_allows_nothing(engine: Engine):
    put_in_force(engine.db, GOOD)
    other = engine.one("insert into tenant (tenant_code) values ('other') returning tenant_id")
    assert denied(Engine(engine.db, other)) == "no_policy"


def evaluate_slowly(engine: Engine) -> None:
    """Judges an action by many slow rules, under the time limit that fn_action_limit sets."""
    rules = [rule(f"r{at}", "deny", '$.target like_regex "(a*)*b$"', at) for at in range(150)]
    with engine.db.transaction():
        engine.db.execute("select fn_action_limit()")
        tried(engine, rules, {**ACTION, "target": "a" * 3000})


@pytest.mark.requirement("RT-06")
def test_a_slow_evaluation_is_stopped(engine: Engine):
    """The limit applies to the statements after the call that sets it, and ends with the transaction."""
    engine.db.execute("update dot_config set config_value = '1' where config_key = 'policy.timeout_ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        evaluate_slowly(engine)
    assert engine.one("show statement_timeout") == "0"
