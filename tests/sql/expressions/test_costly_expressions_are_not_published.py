"""Publishing refuses an expression whose cost grows faster than its document; old versions still run."""

from __future__ import annotations

import json
import re

import psycopg
import pytest

from tests.sql.drive import Engine, human, operation, subworkflow
from tests.sql.expressions.hostile import COSTLY, TWO_LISTS, publish_before_the_rule

LINEAR = [
    "$.input.amount",
    '$.input."full name"[0].first',
    '$.input.amount > 100 && $.input.kind == "x" || !($.input.a == null)',
    "$.input.a == $.input.b",
    "$.input.due.datetime() < $.input.paid.datetime()",
    "$.input.items[*] ? (@.price > 10).name",
    "$.input.items[*] ? (@.price < @.limit && @.count > $.input.least)",
    "$.input.orders[*] ? (exists (@.lines[*] ? (@.price > 10)))",
    "exists ($.input.orders[*] ? (@.lines[*].price > 10))",
    '$.input.** ? (@.type() == "number")',
    "$.input.**.price",
    "$.input.items ? (@.sku == $.input.skus[*])",
    "$.input.items.size() > 3",
    "$.input.items[last - 1].price * 2 + $.input.extra",
    "$.input.items[$.input.index].price",
    "$.input.items[0, 1, 2].price > 3",
    "$.input.map.keyvalue() ? (@.value > 3).key",
    '$.input.mail like_regex "^[a-z0-9._]{1,64}@[a-z0-9.-]{1,255}$" flag "i"',
    '$.input.date like_regex "^\\\\d{4}-\\\\d{2}-\\\\d{2}$"',
    '$.input.text like_regex "\\\\\\\\1" flag "q"',
    '$.input.list[*] starts with "a"',
    'strict $.input.list[*] ? (@ == "x")',
    '$.input."[*]" == $.input."[*] to"',
]
SQUARE = "goes through a list once for each item of another"
REFUSED = [
    ("$.input.a[*] == $.input.b[*]", SQUARE),
    ("$.input.a[*] < -$.input.b[*]", SQUARE),
    ("$.input.a.* == $.input.b[0 to last]", SQUARE),
    ("1 == 1 && ($.input.a[*]) == ($.input.b[*])", SQUARE),
    ("$.input.items[*] ? (@.sku == $.input.skus[*])", SQUARE),
    ("$.input.items[*] ? (@.a[*] == @.b[*])", SQUARE),
    ("$.input.a[*] ? (exists ($.input.b[*] ? (@ == 1)))", SQUARE),
    ("$.input.a[*] ? (exists ($.input.b[*]))", SQUARE),
    ("$.input.**.** ? (@ == 1)", SQUARE),
    ("$.input.a[*][$.input.b[*]]", SQUARE),
    ("$.input.a /* \" */ [*] == $.input.b[*] /* \" */", SQUARE),
    ("$.input.text" + "[0, 0]" * 8, "finds the same values many times"),
    ("$.input" + ".keyvalue()" * 4, "finds the same values many times"),
    ('$.input.text like_regex "^((a+)\\\\2)+$"', "refers back to a group"),
    ('$.input.text like_regex "(?=a)b"', "condition on what comes before or after"),
    ('$.input.text like_regex "((a{1,200}){1,200}){1,200}"', "not an SQL/JSON path"),
    ('$.input.text like_regex "(a{1,40}){1,40}"', "repeats a repetition too often"),
    ("$.input." + "a" * 5000, "5008 bytes are too many; at most 4096 are accepted"),
]  # fmt: skip


def test_an_expression_of_linear_cost_is_accepted(engine: Engine):
    # Publishing checks only the cost; the result of a path matters only in a run.
    for number, path in enumerate(LINEAR):
        assert engine.publish(f"w{number}", operation("a", inputs={"x": path})) == 1


@pytest.mark.parametrize(("path", "reason"), REFUSED)
def test_a_costly_expression_is_refused_and_the_error_names_step_and_field(
    engine: Engine, path: str, reason: str
):
    with pytest.raises(
        psycopg.Error, match="^workflow w: step a, inputs.x: .*" + re.escape(reason)
    ) as refused:
        engine.publish("w", operation("a", inputs={"x": path}))
    assert refused.value.sqlstate == "SW001"


@pytest.mark.parametrize(
    ("step", "field"),
    [
        ({"id": "s", "kind": "conditional", "test": TWO_LISTS[0]}, "test"),
        ({"id": "s", "kind": "map", "over": TWO_LISTS[0]}, "over"),
        (operation("s", postcondition=TWO_LISTS[0]), "postcondition"),
        (subworkflow("s", "w2", inputs={"y": TWO_LISTS[0]}), "inputs.y"),
        (human("s", tasks=[{"id": "t", "when": TWO_LISTS[0]}]), "tasks.t.when"),
    ],
)
def test_a_costly_expression_is_refused_in_every_field(engine: Engine, step, field: str):
    with pytest.raises(psycopg.Error, match=f"step s, {field}: .* {SQUARE}"):
        engine.publish("w", step)


@pytest.mark.parametrize(
    ("where", "graph", "step"),
    [("input", {"input": {"pattern": "(a)\\1"}}, {}), ("step s, form", {}, {"form": {"pattern": "(a)\\1"}})],
)
def test_a_costly_pattern_of_a_form_or_an_input_is_refused(engine: Engine, where: str, graph, step):
    with pytest.raises(psycopg.Error, match=f"workflow w: {where}: .* refers back to a group"):
        engine.publish("w", human("s", **step), **graph)
    # As in a form for a new password.
    assert engine.publish("w", human("s", form={"pattern": "^(?=.*[0-9]).{8,}$"})) == 1


def test_a_policy_rule_with_a_costly_expression_is_refused(engine: Engine):
    rules = [{"name": "bad", "priority": 1, "match": TWO_LISTS[0], "effect": "allow", "reason": "r"}]
    with pytest.raises(psycopg.Error, match=f"rule 1: match: .* {SQUARE}"):
        engine.one("select fn_policy_propose(1, %s, '', 'ada')", (json.dumps(rules),))


@pytest.mark.parametrize("path", [path for path, _, _ in COSTLY.values()], ids=COSTLY.keys())
def test_a_version_published_before_the_rule_runs_on_a_small_document(engine: Engine, path: str):
    """On a small document most of the costly expressions cost little, so they run."""
    publish_before_the_rule(engine, "w", operation("a", inputs={"x": path}))
    engine.start("w", {"a": [1, 2], "b": [3]})
    (lease,) = engine.claim(engine.worker())
    always = ("[0,0]", "keyvalue", "{1,200}")
    assert isinstance(lease.bound_input, list) == any(part in path for part in always)


def test_publishing_the_same_graph_again_is_not_checked_again(engine: Engine):
    graph = {
        "format": 2, "name": "w", "edges": [],
        "steps": [{"no": 1, **operation("a", inputs={"x": TWO_LISTS[0]})}],
    }  # fmt: skip
    engine.publish("w", operation("a"))
    engine.db.execute(
        "update workflow_version set graph = %s,"
        " graph_hash = encode(sha256(convert_to(%s::jsonb::text, 'UTF8')), 'hex')",
        (json.dumps(graph), json.dumps(graph)),
    )
    row = engine.db.execute(
        "select version_no, is_new from fn_workflow_publish(1, %s, 'test')", (json.dumps(graph),)
    ).fetchone()
    assert row == (1, False)
