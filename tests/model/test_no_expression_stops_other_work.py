"""Random expressions over random documents, in claims, reports, timers and policies.

No call raises an error, the work of another tenant goes on, and each result is the one of PostgreSQL.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, operation, subworkflow, wait
from tests.sql.expressions.hostile import publish_before_the_rule
from tests.strategies.paths import documents, paths
from tests.support.databases import Databases

EXAMPLES = int(os.environ.get("STEPWELL_EXAMPLES", "0")) or 25
SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[phase for phase in Phase if phase is not Phase.shrink or "STEPWELL_EXAMPLES" in os.environ],
    print_blob=True,
    # The same examples each time, unless the environment asks for more.
    derandomize="STEPWELL_EXAMPLES" not in os.environ,
)


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


def row_or_error(engine: Engine, query: str, values: tuple[Any, ...]) -> tuple[Any, str | None]:
    """(the row, None), or (None, the error message)."""
    try:
        return engine.db.execute(query, values).fetchone(), None
    except psycopg.Error as error:
        return None, error.diag.message_primary


@pytest.mark.timeout(900)
@SETTINGS
@given(path=paths(), given_input=documents())
def test_no_expression_makes_a_call_fail_or_stops_another_tenant(
    engine: Engine, path: str, given_input: dict[str, Any]
):
    assume(parses(engine, path))
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
        outcomes = [
            (lease, "dead", {"failure_class": "expression_error", "error": {"message": lease.bound_input}})
            if isinstance(lease.bound_input, str)
            else (lease, "completed", {"x": 1})
            for lease in leases
        ]
        assert [row.row_kind for row in engine.report(session, *outcomes) if row.row_kind == "refused"] == []
    engine.one("select fn_worker_close(%s)", (session,))
    assert honest.run_state(honest_run) == "completed"
    assert {engine.run_state(run_id) for run_id in runs} <= {"completed", "failed"}
    rules = [{"name": "r", "priority": 1, "match": path, "effect": "allow", "reason": "r"}]
    verdict = engine.one("select fn_policy_try(%s, %s)", (Jsonb(rules), Jsonb({"input": given_input})))
    assert verdict["effect"] in ("allow", "deny")


@SETTINGS
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


@SETTINGS
@given(path=paths())
def test_every_path_is_accepted_or_refused_with_a_reason(engine: Engine, path: str):
    reason = engine.one("select _path_refusal(%s)", (path,))
    assert reason is None or reason.startswith(path)


def test_no_invariant_is_broken_after_all_examples(engine: Engine):
    assert engine.faults() == {}
