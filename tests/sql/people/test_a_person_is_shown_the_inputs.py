"""The inputs of a human step are bound when it becomes ready, stored, and shown in every view."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from tests.sql.drive import Engine, human, operation
from tests.sql.people.asking import People
from tests.support.clock import Clock
from tests.support.deciding import deciding

# Postgres raises an error when a path compares a date with a timestamptz, even in silent mode.
BAD = '$.input.items[*] ? (@.at.datetime() < "2026-01-01 00:00:00+00".datetime())'
DATES = {"items": [{"at": "2026-01-01"}]}


def shown(engine: Engine, unit: int) -> list[object]:
    return [
        engine.one(f"select inputs from {view} where step_run_id = %s", (unit,))
        for view in ("v_human_step", "v_inbox", "step_run")
    ]


@pytest.mark.parametrize("before", [[], [operation("quote")]], ids=["first", "after another"])
def test_the_inputs_are_bound_when_the_step_becomes_ready(engine: Engine, people: People, before):
    engine.publish("w", *before, human("sign", role="office", inputs={
        "amount": "$.input.amount", "price": "$.steps.quote.output.price", "name": '$.input."full name"',
    }))  # fmt: skip
    run_id = engine.start("w", {"amount": 3, "full name": "Ada"})
    unit = engine.unit(run_id, "sign")
    if before:
        assert shown(engine, unit) == [None] * 3
        session = engine.worker()
        engine.complete(session, *engine.claim(session), output={"price": 9.5})
    expected = {"amount": 3, "price": 9.5 if before else None, "name": "Ada"}
    assert shown(engine, unit) == [expected] * 3
    assert engine.one("select inputs from fn_inbox_read(1, 'ada')") == expected
    # The bound inputs stay as they are when their source changes.
    engine.db.execute("update run_detail set input = '{}'")
    people.claim(unit, "ada")
    people.complete(unit, "ada", {})
    assert engine.one("select inputs from v_human_step where step_run_id = %s", (unit,)) == expected
    assert engine.faults() == {}


def test_inside_a_map_the_inputs_include_the_item(engine: Engine, people: People):
    engine.publish(
        "w",
        {"id": "m", "kind": "map", "over": "$.input.list", "reads": []},
        human("check", role="office", scope=1),
        human("sign", role="office", scope=1, inputs={"of": "$.input.of"}),
        edges=[],
    )
    run_id = engine.start("w", {"list": ["x", "y"], "of": "Q1"})
    rows = engine.db.execute(
        "select step_id, item_no, inputs from v_inbox where run_id = %s order by item_no, step_id", (run_id,)
    ).fetchall()
    assert rows == [
        ("check", 0, {"item": "x", "index": 0}), ("sign", 0, {"item": "x", "index": 0, "of": "Q1"}),
        ("check", 1, {"item": "y", "index": 1}), ("sign", 1, {"item": "y", "index": 1, "of": "Q1"}),
    ]  # fmt: skip
    assert engine.faults() == {}


def test_a_task_shows_the_inputs_of_its_step(engine: Engine, people: People):
    engine.publish(
        "w",
        human("sign", role="office", inputs={"a": "$.input.a"}, tasks=[{"id": "check", "role": "office"}]),
    )
    engine.start("w", {"a": 1})
    assert engine.db.execute("select step_id, inputs from v_inbox order by 1").fetchall() == [
        ("check", {"a": 1}),
        ("sign", {"a": 1}),
    ]


def test_without_inputs_nothing_is_stored(engine: Engine, people: People):
    engine.publish("w", human("sign", role="office"))
    unit = engine.unit(engine.start("w", {"a": 1}), "sign")
    assert shown(engine, unit) == [None] * 3
    assert engine.one("select count(*) from step_input") == 0


def message(engine: Engine, unit: int) -> str:
    return engine.one("select last_error ->> 'message' from step_run where step_run_id = %s", (unit,))


@pytest.mark.parametrize(
    ("path", "given", "reason"),
    [
        (BAD, DATES, f"inputs.bad: {BAD}"
            " cannot be evaluated: cannot convert value from date to timestamptz without time zone usage"),
        ("$.input[$unknown]", DATES, "inputs.bad: $.input[$unknown] cannot be evaluated: could not find"),
        ("$.input.text", {"text": "x" * 1_100_000}, "inputs: 1100"),
    ],
    ids=["datetime", "variable", "size"],
)  # fmt: skip
def test_a_bad_expression_fails_its_own_step_and_not_the_rest_of_the_report(
    engine: Engine, people: People, path, given, reason
):
    engine.db.execute(
        "update dot_config set config_value = '2000000' where config_key = 'limits.payload_bytes'"
    )
    engine.publish(
        "bad",
        operation("a"),
        human("sign", role="office", inputs={"ok": "$.input.no", "bad": path}),
        operation("b"),
    )
    engine.publish("good", operation("a"), human("sign", role="office", inputs={"x": "$.input.x"}))
    runs = [engine.start("bad", given), engine.start("good", {"x": 1})]
    engine.db.execute(
        "update dot_config set config_value = '1048576' where config_key = 'limits.payload_bytes'"
    )
    session = engine.worker()
    leases = engine.claim(session)
    # One report of one worker completes both.
    assert engine.complete(session, *leases) == []
    assert engine.states(runs[0]) == {"a": "completed", "sign": "cannot_complete", "b": "cancelled"}
    assert engine.run_state(runs[0]) == "failed"
    assert engine.states(runs[1]) == {"a": "completed", "sign": "ready"}
    assert message(engine, engine.unit(runs[0], "sign")).startswith(reason)
    assert engine.one("select failure_class from job_dead_letter") == "expression_error"
    assert engine.faults() == {}


def test_a_bad_expression_fails_its_own_run_and_not_the_other_starts(engine: Engine, people: People):
    engine.publish("w", human("sign", role="office", inputs={"bad": BAD}), human("next", role="office"))
    rows = engine.db.execute(
        "select run_id from fn_run_start(1, 'w', %s::jsonb[])", ([json.dumps(DATES), '{"items": []}'],)
    ).fetchall()
    assert [engine.states(run_id)["sign"] for (run_id,) in rows] == ["cannot_complete", "ready"]
    assert engine.faults() == {}


def test_a_replay_binds_the_inputs_again(engine: Engine, people: People):
    engine.publish("w", human("sign", role="office", inputs={"bad": BAD}))
    run_id = engine.start("w", DATES)
    unit = engine.unit(run_id, "sign")
    engine.db.execute("update run_detail set input = '{\"items\": []}'")
    engine.db.execute("select fn_run_retry(1, %s, 'cli:ada', 'fixed')", (run_id,))
    assert (engine.state(unit), shown(engine, unit)[0]) == ("ready", {"bad": None})
    people.claim(unit, "ada")
    people.complete(unit, "ada", {})
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_a_reopened_step_shows_the_corrected_inputs(engine: Engine, people: People):
    engine.publish(
        "w",
        human("count", role="office"),
        human("sign", role="office", inputs={"n": "$.steps.count.output.n"}),
    )
    run_id = engine.start("w")
    first, second = engine.unit(run_id, "count"), engine.unit(run_id, "sign")
    for unit, output in ((first, {"n": 1}), (second, {"ok": True})):
        people.claim(unit, "ada")
        people.complete(unit, "ada", output)
    approval = engine.one("select fn_approval_request(1, 'reopen', %s, 'ada')", (first,))
    engine.one(deciding("approve", "ben"), (approval,))
    people.reopen_for_correction(first, "ben", "data_error", approval, downstream="reopen")
    assert shown(engine, second)[0] == {"n": 1}
    people.complete(first, "ada", {"n": 2})
    assert shown(engine, second)[0] == {"n": 2}
    rows = engine.db.execute("select binding_no, inputs from step_input order by 1").fetchall()
    assert rows == [(1, {"n": 1}), (2, {"n": 2})]
    assert engine.faults() == {}


def test_retention_deletes_the_inputs_with_the_run(engine: Engine, people: People, clock: Clock):
    engine.publish("w", human("sign", role="office", inputs={"a": "$.input.a"}))
    unit = engine.unit(engine.start("w", {"a": 1}), "sign")
    people.claim(unit, "ada")
    people.complete(unit, "ada", {})
    clock.advance(timedelta(days=4000))
    engine.db.execute("select fn_partitions_ensure(stepwell.now())")
    engine.db.execute("select fn_retention_sweep()")
    assert engine.one("select count(*) from work_unit where unit_id = %s", (unit,)) == 0
    assert engine.one("select count(*) from step_input") == 0
