"""An expression that fails or costs too much fails its own step, with a reason; the work of others goes on.

What costs too much for a claim, a report or a timer is evaluated by a worker; it fails if it costs too much
for a worker too. Each expression is in a version that was published before such expressions were refused.
Units of another tenant are in the same batch.
"""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.drive import Engine, human, operation, subworkflow, wait
from tests.sql.expressions.hostile import ALL, FAILING, TWO_LISTS, ZONE, Hostile, publish_before_the_rule
from tests.support.clock import Clock

pytestmark = pytest.mark.usefixtures("statement_limit")

EVERY = pytest.mark.parametrize("hostile", ALL.values(), ids=ALL.keys())


@pytest.fixture
def statement_limit(db: psycopg.Connection) -> None:
    """60 s are more than enough, and far less than an evaluation without a limit takes."""
    db.execute("set statement_timeout = '60s'")


@pytest.fixture
def other(engine: Engine) -> Engine:
    """Another tenant on the same database."""
    return Engine(
        engine.db, engine.one("insert into tenant (tenant_code) values ('other') returning tenant_id")
    )


def set_limit(engine: Engine, name: str, value: int) -> None:
    engine.db.execute(
        "update dot_config set config_value = to_jsonb(%s) where config_key = %s", (value, f"limits.{name}")
    )


def reason(engine: Engine, run_id: int, step_id: str) -> tuple[str, str]:
    row = engine.db.execute(
        "select l.failure_class, s.last_error ->> 'message' from step_run as s"
        " inner join job_dead_letter as l on l.unit_id = s.step_run_id"
        " where s.run_id = %s and s.step_id = %s",
        (run_id, step_id),
    ).fetchone()
    assert row is not None
    return row  # type: ignore[return-value]


def work(engine: Engine) -> None:
    """Does everything that can be claimed, of all tenants, as a worker does."""
    session = engine.worker()
    while leases := engine.claim(session):
        assert engine.report(session, *(engine.outcome(session, lease) for lease in leases)) == []


@EVERY
def test_a_bad_input_of_an_operation_fails_only_its_step(engine: Engine, other: Engine, hostile: Hostile):
    path, given, why = hostile
    publish_before_the_rule(engine, "w", operation("a", inputs={"ok": "$.input.due", "bad": path}))
    run_id = engine.start("w", given)
    other.publish("honest", operation("h"))
    honest = other.start("honest")
    session = engine.worker()
    bad, good = sorted(engine.claim(session), key=lambda lease: lease.tenant_id)
    assert isinstance(bad.bound_input, str | list)
    assert engine.report(session, engine.outcome(session, bad)) == []
    assert other.complete(session, good) == []
    assert engine.states(run_id) == {"a": "cannot_complete"}
    failure_class, message = reason(engine, run_id, "a")
    assert (failure_class, message[: len(path) + 12]) == ("expression_error", f"inputs.bad: {path}")
    assert why in message
    assert other.run_state(honest) == "completed"
    assert engine.faults() == {}


def test_a_bad_input_of_an_operation_inside_a_map_is_returned_as_text(engine: Engine):
    engine.publish(
        "w",
        {"id": "m", "kind": "map", "over": "$.input.list", "reads": []},
        operation("a", scope=1, inputs={"bad": ZONE[0]}),
        edges=[],
    )
    engine.start("w", {**ZONE[1], "list": [1, 2]})
    session = engine.worker()
    leases = engine.claim(session)
    assert [type(lease.bound_input) for lease in leases] == [str, str]


@EVERY
def test_a_bad_conditional_after_a_wait_that_timed_out_fails_only_its_step(
    engine: Engine, other: Engine, clock: Clock, hostile: Hostile
):
    path, given, why = hostile
    publish_before_the_rule(
        engine,
        "w",
        wait("answer", "answered", timeout_seconds=60),
        {"id": "late", "kind": "conditional", "test": {"step": "answer"}, "reads": [1]},
        {"id": "test", "kind": "conditional", "test": path, "reads": []},
    )
    run_id = engine.start("w", given)
    other.publish("honest", operation("h", retry={"max_attempts": 3}))
    honest = other.start("honest")
    session = engine.worker()
    (lease,) = engine.claim(session)
    other.report(session, (lease, "retry", {"delay_seconds": 30}))
    clock.advance(minutes=30)
    assert engine.timers() == 2
    work(engine)
    assert engine.states(run_id)["test"] == "cannot_complete"
    failure_class, message = reason(engine, run_id, "test")
    assert (failure_class, message[: len(path) + 6]) == ("expression_error", f"test: {path}")
    assert why in message
    assert other.run_state(honest) == "completed"
    assert engine.faults() == {}


@EVERY
def test_bad_expressions_that_a_report_evaluates_fail_only_their_steps(
    engine: Engine, other: Engine, hostile: Hostile
):
    path, given, why = hostile
    engine.publish("child", operation("c"))
    steps = {
        "over": {"id": "over", "kind": "map", "over": path, "reads": []},
        "inputs.x": subworkflow("sub", "child", inputs={"x": path}),
        "test": {"id": "cond", "kind": "conditional", "test": path, "reads": []},
    }
    runs = {}
    for field, step in steps.items():
        body = [operation("each", scope=2)] if field == "over" else []
        publish_before_the_rule(engine, field, operation("first"), step, *body, edges=[("first", step["id"])])
        runs[field] = engine.start(field, given)
    other.publish("honest", operation("h"), operation("i"))
    honest = other.start("honest")
    session = engine.worker()
    # One report completes all of them.
    assert engine.complete(session, *engine.claim(session)) == []
    work(engine)
    for field, run_id in runs.items():
        failure_class, message = reason(engine, run_id, str(steps[field]["id"]))
        assert failure_class == "expression_error"
        assert message.startswith(f"{field}: {path} ")
        assert why in message
        assert engine.run_state(run_id) == "failed"
    assert other.run_state(honest) == "completed"
    assert engine.faults() == {}


@EVERY
def test_a_bad_postcondition_fails_only_its_step(engine: Engine, other: Engine, hostile: Hostile):
    path, given, _ = hostile
    publish_before_the_rule(engine, "w", operation("a", postcondition=path))
    run_id = engine.start("w", given)
    other.publish("honest", operation("h"))
    honest = other.start("honest")
    session = engine.worker()
    assert engine.complete(session, *engine.claim(session)) == []
    assert engine.states(run_id) == {"a": "cannot_complete"}
    assert reason(engine, run_id, "a")[0] == "output_contract"
    assert other.run_state(honest) == "completed"
    assert engine.faults() == {}


@pytest.mark.parametrize("pattern", ["^((a+)\\2)+$", "((a{1,200}){1,200}){1,200}$", "(?=.*b)(?=.*c)a+"])
def test_a_pattern_of_a_form_that_takes_too_long_is_not_matched(engine: Engine, pattern: str):
    """The form of a version of before such patterns were refused."""
    form = {"type": "object", "properties": {"x": {"pattern": pattern}}}
    output = {"x": "a" * 100_001}
    assert engine.one("select _schema_problem(%s, %s)", (Jsonb(form), Jsonb(output))) == (
        f"$.x has 100001 characters, too many to match {pattern} with"
    )


@EVERY
def test_a_bad_condition_fails_only_its_task(engine: Engine, hostile: Hostile):
    path, given, why = hostile
    tasks = [{"id": "bad", "when": path}, {"id": "good", "when": "true"}]
    publish_before_the_rule(engine, "w", human("sign", tasks=tasks))
    run_id = engine.start("w", given)
    rows = engine.db.execute(
        "select t.task_id, u.state_code, l.error ->> 'message' from task_detail as t"
        " inner join work_unit as u using (tenant_id, unit_id)"
        " left join job_dead_letter as l using (tenant_id, unit_id)"
        " where t.step_run_id = %s order by 1",
        (engine.unit(run_id, "sign"),),
    ).fetchall()
    assert [row[:2] for row in rows] == [("bad", "cannot_complete"), ("good", "ready")]
    assert rows[0][2].startswith(f"when: {path} ")
    assert why in rows[0][2]
    assert engine.faults() == {}


@EVERY
def test_a_bad_guard_expression_is_false(engine: Engine, hostile: Hostile):
    path, given, _ = hostile
    engine.publish("w", operation("a"))
    run_id = engine.start("w", given)
    assert not engine.one(
        "select _guard_expression(%s, u, null) from work_unit as u where u.unit_id = %s",
        (path, engine.unit(run_id, "a")),
    )


@EVERY
def test_a_bad_policy_expression_denies(engine: Engine, hostile: Hostile):
    path, given, why = hostile
    engine.db.execute(
        "update dot_config set config_value = '2000000' where config_key = 'limits.action_bytes'"
    )
    rules = [{"name": "bad", "priority": 1, "match": path, "effect": "allow", "reason": "r"}]
    verdict = engine.one("select _policy_match(%s, %s)", (path, Jsonb({"input": given})))
    assert why in verdict
    assert (
        engine.one(
            "select fn_policy_try(%s, %s) ->> 'effect'",
            (Jsonb(rules), Jsonb({"input": given})),
        )
        == "deny"
    )


@pytest.mark.parametrize("hostile", FAILING.values(), ids=FAILING.keys())
def test_a_bad_input_of_a_human_step_fails_it_with_the_reason(engine: Engine, hostile: Hostile):
    path, given, why = hostile
    engine.publish("w", human("sign", inputs={"bad": path}))
    run_id = engine.start("w", given)
    assert why in reason(engine, run_id, "sign")[1]


def test_a_cancelled_statement_is_not_an_expression_error(engine: Engine):
    """57014 is not an error of the expression: the cancel ends the statement."""
    engine.db.execute("set statement_timeout = '100ms'")
    engine.db.execute(
        "update dot_config set config_value = '2000000000' where config_key = 'limits.expression_cost'"
    )
    path = "exists ($.input.a[*] ? (exists ($.input.a[*] ? (@ < 0))))"
    with pytest.raises(psycopg.errors.QueryCanceled):
        engine.one(
            "select _path_evaluate(%s, %s, true, true)",
            (Jsonb({"input": {"a": list(range(20_000))}}), path),
        )


def test_the_cost_limit_of_an_expression_is_a_setting(engine: Engine):
    given = Jsonb({"input": {"a": list(range(100)), "b": list(range(100, 200))}})
    ask = "select result, problem from _path_evaluate(%s, %s, true, true)"
    assert engine.db.execute(ask, (given, TWO_LISTS[0])).fetchone() == (False, None)
    engine.db.execute(
        "update dot_config set config_value = '9999' where config_key = 'limits.expression_cost'"
    )
    row = engine.db.execute(ask, (given, TWO_LISTS[0])).fetchone()
    assert row is not None
    assert row[0] is None
    assert "would look at 10200 values of this document; at most 9999 are accepted" in row[1]
