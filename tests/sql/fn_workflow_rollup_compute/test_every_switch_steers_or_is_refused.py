"""Every switch of every policy row steers the kept colour and the recompute alike, or is refused when set."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, subworkflow
from tests.sql.people.asking import People
from tests.support.sample import WANTED

COLOURS = ("gray", "green", "yellow", "red")
SET = "update rollup_policy_def set policy_config_jsonb = %s where policy_config_jsonb ->> 'rule' = %s"


def policies(engine: Engine) -> dict[str, dict[str, Any]]:
    rows = engine.db.execute("select policy_config_jsonb from rollup_policy_def")
    return {config["rule"]: config for (config,) in rows}


def drawn(rules: dict[str, dict[str, Any]], chance: random.Random) -> tuple[str, dict[str, Any]]:
    """One rule with one switch set at random: a value that it may have, or one that makes no sense."""
    rule = chance.choice([*sorted(rules), "R-1", "R-5", "R-5"])
    config = dict(rules[rule])
    switch = chance.choice([key for key in config if key != "rule"])
    if switch == "classes":
        classes = [dict(entry) for entry in config["classes"]]
        field = chance.choice(["colour", "colour", "colour", "rank"])
        chance.choice(classes)[field] = chance.choice(COLOURS) if field == "colour" else chance.randint(1, 5)
        config["classes"] = classes
    elif isinstance(config[switch], bool):
        config[switch] = chance.choice([True, False, not config[switch], "yes"])
    else:
        values: list[Any] = [True, False, "yellow", "red", "green", "wait", "idle", [], ["skipped"]]
        config[switch] = chance.choice([*values, ["completed"], ["cancelled"], None])
    return rule, config


def accepts(engine: Engine, rule: str, config: dict[str, Any]) -> bool:
    """Sets the rule; a refusal must be one of the registry."""
    state = None
    try:
        engine.db.execute(SET, (Jsonb(config), rule))
    except psycopg.Error as error:
        state = error.sqlstate
    assert state in (None, "SW004")
    return state is None


def agreed(engine: Engine, run_ids: list[int]) -> None:
    for run_id in run_ids:
        kept = engine.one("select rollup_state_code from workflow_run where run_id = %s", (run_id,))
        assert kept == engine.one("select fn_workflow_rollup_compute(%s)", (run_id,))["rollup_state_code"]


@pytest.mark.requirement("RU-01", "RU-03", "RU-07")
def test_kept_and_computed_agree_under_every_policy_that_is_accepted(engine: Engine):
    people = People(engine)
    people.add("ada", "office", "operator")
    engine.publish("inner", human("x", role="office"))
    engine.publish(
        "w",
        human("a", role="office"),
        human("b", role="office", mandatory=False),
        subworkflow("sub", "inner"),
        edges=[],
    )
    chance = random.Random(2026)
    accepted: dict[str, int] = {}
    refused = 0
    for _ in range(WANTED or 25):
        rule, config = drawn(policies(engine), chance)
        if accepts(engine, rule, config):
            accepted[rule] = accepted.get(rule, 0) + 1
        else:
            refused += 1
        outer = engine.start("w")
        inner = engine.one("select max(run_id) from workflow_run where workflow = 'inner'")
        runs = [outer, inner]
        units = [engine.unit(outer, "a"), engine.unit(outer, "b"), engine.unit(inner, "x")]
        chance.shuffle(units)
        for unit, act in zip(units, ("wait", "cannot_complete", "block"), strict=True):
            people.claim(unit, "ada")
            agreed(engine, runs)
            if act == "wait":
                people.wait(unit, "ada", ["waiting_human"])
            elif act == "block":
                people.block(unit, "ada", "other")
            else:
                people.cannot_complete(unit, "ada", "note:1")
            agreed(engine, runs)
        # A change of the rules is a change of the runs that exist.
        accepts(engine, *drawn(policies(engine), chance))
        agreed(engine, runs)
    assert refused > 5
    assert {"R-1", "R-5"} <= set(accepted)
    assert engine.faults() == {}


@pytest.mark.requirement("RU-01", "RU-07")
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "update {} set active = false where policy_config_jsonb ->> 'rule' = 'R-2'",
            "rule R-2: exactly one",
        ),
        (
            "update {} set active = false where policy_config_jsonb ->> 'rule' = 'R-6'",
            "rule R-6: exactly one",
        ),
        ("delete from {} where policy_config_jsonb ->> 'rule' = 'R-3'", "rule R-3: exactly one"),
        (
            "update {} set policy_config_jsonb = policy_config_jsonb || '{{\"optional_excluded\": false}}'"
            " where policy_config_jsonb ->> 'rule' = 'R-4'",
            "mandatory_only: optional_excluded: only true is accepted, rule R-4 is binding",
        ),
        (
            'update {} set policy_config_jsonb = policy_config_jsonb || \'{{"colour": "red"}}\''
            " where policy_config_jsonb ->> 'rule' = 'R-6'",
            'all_completed_is_green: colour: only "green" is accepted, rule R-6 is binding',
        ),
        (
            "update {} set policy_config_jsonb ="
            " jsonb_set(policy_config_jsonb, '{{classes,0,colour}}', '\"green\"')"
            " where policy_config_jsonb ->> 'rule' = 'R-1'",
            "a step in red keeps its run from being green",
        ),
        (
            "insert into {} (state_machine_id, policy_code, policy_config_jsonb, description)"
            " values ('workflow_run.1', 'weighted', '{{\"weights\": {{\"red\": 3}}}}', 'x')",
            "weighted: weights: the roll-up has no weights",
        ),
        (
            'update {} set policy_config_jsonb = policy_config_jsonb || \'{{"weights": {{"red": 3}}}}\''
            " where policy_config_jsonb ->> 'rule' = 'R-2'",
            "wait_is_at_most_yellow: weights: the roll-up has no weights",
        ),
        (
            "update {} set policy_config_jsonb = jsonb_set(policy_config_jsonb, '{{classes,0,weight}}', '3')"
            " where policy_config_jsonb ->> 'rule' = 'R-1'",
            "classes: weight: is unknown; accepted: semantic_class, colour, rank",
        ),
        (
            "insert into {} (state_machine_id, policy_code, policy_config_jsonb, description)"
            " values ('workflow_run.1', 'other', '{{\"colour\": \"red\"}}', 'x')",
            "other: rule: must be one of R-1 to R-6",
        ),
    ],
)
def test_a_switch_without_a_meaning_is_refused_by_name(db: psycopg.Connection, statement: str, said: str):
    with pytest.raises(psycopg.Error) as refused:
        db.execute(statement.format("rollup_policy_def"))
    assert said in str(refused.value)
    assert refused.value.sqlstate == "SW004"
