"""Random expressions over random documents, in claims, reports, timers and policies.

No call raises an error, the work of another tenant goes on, and each result is the one of PostgreSQL. With a
low limit most expressions are costly: a worker evaluates them, and everything ends in the same states.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation, subworkflow, wait
from tests.sql.expressions.hostile import publish_before_the_rule
from tests.strategies.paths import documents, paths
from tests.support.databases import Databases
from tests.support.sample import sample

SAMPLE = sample(25)

# (limits.expression_cost, limits.expression_cost_alone): as they are, always costly, always too costly.
LIMITS = st.sampled_from([(1_000_000, 10_000_000), (0, 10_000_000), (0, 0)])
# How often the examples took which way, by the limits.
ways: Counter[tuple[str, int]] = Counter()


@pytest.fixture(scope="module")
def engine(databases: Databases, template: str) -> Iterator[Engine]:
    with (
        databases.fresh(template) as dsn,
        psycopg.connect(dsn, autocommit=True, options="-csearch_path=stepwell,public") as db,
    ):
        db.execute("set synchronous_commit = off")
        # No evaluation within the cost limit takes nearly as long, on any machine.
        db.execute("set statement_timeout = '60s'")
        db.execute("insert into tenant (tenant_code) values ('honest')")
        yield Engine(db)


def parses(engine: Engine, path: str) -> bool:
    return engine.one("select _jsonpath_problem(%s) is null", (path,))


def set_limits(engine: Engine, limits: tuple[int, int]) -> None:
    for name, value in zip(("expression_cost", "expression_cost_alone"), limits, strict=True):
        engine.db.execute(
            "update dot_config set config_value = to_jsonb(%s::int) where config_key = %s",
            (value, f"limits.{name}"),
        )


def row_or_error(engine: Engine, query: str, values: tuple[Any, ...]) -> tuple[Any, str | None]:
    """(the row, None), or (None, the error message)."""
    try:
        return engine.db.execute(query, values).fetchone(), None
    except psycopg.Error as error:
        return None, error.diag.message_primary


@SAMPLE
@given(path=paths(), given_input=documents(), limits=LIMITS)
def no_call_fails_and_no_other_tenant_stops(
    engine: Engine, path: str, given_input: dict[str, Any], limits: tuple[int, int]
) -> None:
    assume(parses(engine, path))
    set_limits(engine, limits)
    honest = Engine(engine.db, 2)
    engine.publish("child", operation("c"))
    steps = (
        operation("input", inputs={"x": path}),
        {"id": "test", "kind": "conditional", "test": path, "reads": []},
        subworkflow("sub", "child", inputs={"x": path}),
        operation("post", postcondition=path),
        {"id": "over", "kind": "map", "over": path, "reads": []},
        operation("each", scope=5, inputs={"x": path}),
    )
    publish_before_the_rule(engine, "all", *steps, edges=[])
    late = (
        wait("w", "never", timeout_seconds=0),
        {"id": "caught", "kind": "conditional", "test": {"step": "w"}, "reads": [1]},
        {"id": "test", "kind": "conditional", "test": path, "reads": []},
    )
    publish_before_the_rule(engine, "late", *late)
    honest.publish("honest", operation("h"), operation("i"))
    runs = [engine.start("all", given_input), engine.start("late", given_input)]
    honest_run = honest.start("honest")
    engine.timers()
    session = engine.worker()
    while leases := engine.claim(session):
        outcomes = [engine.outcome(session, lease, {"x": 1}) for lease in leases]
        ways.update((outcome, limits[1]) for lease, outcome, _ in outcomes if limits[0] == 0)
        assert [row.row_kind for row in engine.report(session, *outcomes) if row.row_kind == "refused"] == []
    engine.one("select fn_worker_close(%s)", (session,))
    assert honest.run_state(honest_run) == "completed"
    assert {engine.run_state(run_id) for run_id in runs} <= {"completed", "failed"}
    rules = [{"name": "r", "priority": 1, "match": path, "effect": "allow", "reason": "r"}]
    verdict = engine.one("select fn_policy_try(%s, %s)", (Jsonb(rules), Jsonb({"input": given_input})))
    assert verdict["effect"] in ("allow", "deny")


@pytest.mark.timeout(900)
def test_no_expression_makes_a_call_fail_or_stops_another_tenant(engine: Engine):
    no_call_fails_and_no_other_tenant_stops(engine=engine)
    # The examples took the costly way: values and problems of workers, with the second limit and above it.
    assert ways["evaluated", 10_000_000] > 0
    assert ways["completed", 10_000_000] > 0
    assert ways["dead", 0] > 0
    assert engine.faults() == {}


@SAMPLE
@given(path=paths(), given_input=documents())
def test_a_run_ends_in_the_same_states_whoever_evaluates_its_expressions(
    engine: Engine, path: str, given_input: dict[str, Any]
):
    assume(parses(engine, path))
    steps = (
        {"id": "test", "kind": "conditional", "test": path, "reads": []},
        operation("yes", branch=1),
        {"id": "over", "kind": "map", "over": path, "reads": []},
        operation("each", scope=3, inputs={"x": path}),
    )
    branches = [{"no": 1, "conditional": 1, "negated": False}]
    publish_before_the_rule(engine, "both", *steps, edges=[("test", "yes")], branches=branches)
    ended = []
    session = engine.worker()
    for limits in ((1_000_000, 10_000_000), (0, 10_000_000)):
        set_limits(engine, limits)
        run_id = engine.start("both", given_input)
        bound = []
        while leases := engine.claim(session):
            set_limits(engine, (1_000_000, 10_000_000))
            for lease in leases:
                bound += [lease.bound_input] if isinstance(lease.bound_input, dict) else []
                bound += [engine.evaluate(session, lease)] if isinstance(lease.bound_input, list) else []
            engine.report(session, *(engine.outcome(session, lease) for lease in leases))
            set_limits(engine, limits)
        found = [json.dumps(one.get("value", one), sort_keys=True) for one in bound]
        ended.append((engine.states(run_id), engine.run_state(run_id), found))
    engine.one("select fn_worker_close(%s)", (session,))
    set_limits(engine, (1_000_000, 10_000_000))
    assert ended[0] == ended[1]


@SAMPLE
@given(path=paths(), given_input=documents())
def test_the_result_of_an_expression_is_the_one_of_postgres(
    engine: Engine, path: str, given_input: dict[str, Any]
):
    assume(parses(engine, path))
    document = Jsonb({"input": given_input})
    row = engine.db.execute(
        "select result, problem, result is null, _path_excess(%s, %s)"
        " from _path_evaluate(%s, %s, false, true)",
        (document, path, document, path),
    ).fetchone()
    assert row is not None
    result, problem, is_null, excess = row
    if excess is not None:
        assert (is_null, problem) == (True, excess)
        return
    # An expression within the cost limit is cheap enough to evaluate it in PostgreSQL directly.
    plain, error = row_or_error(
        engine,
        "select x, x is null, jsonb_array_length(jsonb_path_query_array(%s, %s, '{}', true))"
        " from jsonb_path_query_first(%s, %s, '{}', true) as x",
        (document, path, document, path),
    )
    if error is not None:
        assert error in problem
        return
    assert plain is not None
    assert problem is None
    assert (json.dumps(result), is_null) == (json.dumps(plain[0]), plain[1])
    # The cost is an upper bound: no path finds more values than its cost.
    size = 10**9
    cost = engine.one("select _path_cost(%s, _path_sites(%s), 1000000, %s)", (document, path, size))
    assert plain[2] <= max(cost, 1)


@SAMPLE
@given(path=paths())
def test_every_path_is_accepted_or_refused_with_a_reason(engine: Engine, path: str):
    reason = engine.one("select _path_refusal(%s)", (path,))
    assert reason is None or reason.startswith(path)


def test_no_invariant_is_broken_after_all_examples(engine: Engine):
    assert engine.faults() == {}
