"""Corrections inside maps and sub-workflows: the map and the runs around the step reopen with it, and the
answer lists the steps that follow.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.drive import Engine, human, operation, subworkflow
from tests.sql.people.asking import People, refused
from tests.support.deciding import deciding


def granted(engine: Engine, unit: int, action: str = "reopen") -> int:
    made: int = engine.one("select fn_approval_request(1, %s, %s, 'ada')", (action, unit))
    engine.one(deciding("approve", "ben"), (made,))
    return made


def do(people: People, unit: int, output: dict[str, Any] | None = None) -> None:
    people.claim(unit, "ada")
    people.complete(unit, "ada", output or {})


def items(engine: Engine, run_id: int, step_id: str) -> list[int]:
    rows = engine.db.execute(
        "select step_run_id from step_run where run_id = %s and step_id = %s and scope_no > 0 order by 1",
        (run_id, step_id),
    )
    return [unit for (unit,) in rows.fetchall()]


def output(engine: Engine, unit: int) -> Any:
    return engine.one("select output from step_run where step_run_id = %s", (unit,))


def touched(answer: dict[str, Any]) -> list[tuple[str, str, bool]]:
    return [(row["relation"], row["step_id"], row["reopened"]) for row in answer["downstream"]]


def with_a_map(engine: Engine, **graph: Any) -> int:
    """A map of pack → weigh over two items, then ship."""
    engine.publish(
        "w",
        {"id": "all", "kind": "map", "over": "$.input.items"},
        human("ship", role="office"),
        human("pack", role="office", scope=1),
        human("weigh", role="office", scope=1),
        edges=[("all", "ship"), ("pack", "weigh")],
        **graph,
    )
    return engine.start("w", {"items": ["a", "b"]})


def mapped(engine: Engine, people: People) -> int:
    run_id = with_a_map(engine)
    for step in ("pack", "weigh"):
        for at, unit in enumerate(items(engine, run_id, step)):
            do(people, unit, {"kg": at})
    do(people, engine.unit(run_id, "ship"))
    assert engine.run_state(run_id) == "completed"
    return run_id


@pytest.mark.requirement("SM-12")
def test_reopening_a_step_of_an_item_reopens_its_map_and_its_run(engine: Engine, people: People):
    run_id = mapped(engine, people)
    whole = engine.unit(run_id, "all")
    assert output(engine, whole) == [{"kg": 0}, {"kg": 1}]
    unit = items(engine, run_id, "weigh")[1]
    preview = engine.db.execute(
        "select relation, step_id from fn_step_correction_preview(1, %s)", (unit,)
    ).fetchall()
    assert preview == [("around", "all"), ("after", "ship")]
    answer = people.reopen_for_correction(unit, "ben", "data_error", granted(engine, unit))
    assert touched(answer) == [("around", "all", True), ("after", "ship", False)]
    assert (engine.state(unit), engine.state(whole), engine.run_state(run_id)) == ("in_progress",) * 3
    assert engine.faults() == {}
    people.complete(unit, "ada", {"kg": 9})
    assert output(engine, whole) == [{"kg": 0}, {"kg": 9}]
    assert engine.run_state(run_id) == "completed"
    closed = engine.db.execute(
        "select unit_id, closed_state from step_run_correction_cycle order by 1"
    ).fetchall()
    assert closed == [(whole, "completed"), (unit, "completed")]
    assert engine.one("select output from step_run_prior_audit where unit_id = %s", (whole,)) == [
        {"kg": 0}, {"kg": 1},
    ]  # fmt: skip
    assert engine.faults() == {}


@pytest.mark.requirement("SM-12")
def test_the_steps_after_it_in_the_item_and_after_the_map_wait(engine: Engine, people: People):
    run_id = mapped(engine, people)
    pack, weigh = items(engine, run_id, "pack")[0], items(engine, run_id, "weigh")[0]
    ship = engine.unit(run_id, "ship")
    answer = people.reopen_for_correction(pack, "ben", "data_error", granted(engine, pack), "reopen")
    assert touched(answer) == [("around", "all", True), ("after", "ship", True), ("after", "weigh[0]", True)]
    assert [engine.state(unit) for unit in (pack, weigh, ship)] == ["in_progress", "waiting", "waiting"]
    assert engine.faults() == {}
    people.complete(pack, "ada")
    assert [engine.state(unit) for unit in (weigh, ship)] == ["in_progress", "waiting"]
    people.complete(weigh, "ada", {"kg": 7})
    assert engine.state(ship) == "in_progress"
    people.complete(ship, "ada")
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


@pytest.mark.parametrize("policy", ["continue-running", "abort-dependents"])
def test_reopening_a_failed_item_reopens_its_map_and_the_cancelled_steps(
    engine: Engine, people: People, policy: str
):
    run_id = with_a_map(engine, failure_policy=policy)
    first, second = items(engine, run_id, "pack")
    people.claim(first, "ada")
    people.cannot_complete(first, "ada", "note:1")
    if policy == "continue-running":
        do(people, second)
        do(people, items(engine, run_id, "weigh")[1])
    assert (engine.state(engine.unit(run_id, "all")), engine.run_state(run_id)) == (
        "cannot_complete",
        "failed",
    )
    people.reopen_for_correction(first, "ben", "operator_mistake", granted(engine, first))
    assert engine.state(engine.unit(run_id, "all")) == "in_progress"
    assert engine.state(engine.unit(run_id, "ship")) == "not_started"
    assert engine.faults() == {}
    people.complete(first, "ada")
    if policy == "abort-dependents":
        do(people, second)
        do(people, items(engine, run_id, "weigh")[1])
    do(people, items(engine, run_id, "weigh")[0])
    do(people, engine.unit(run_id, "ship"))
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def nested(engine: Engine) -> tuple[int, int, int]:
    """outer: mid → close; middle: a map of one inner run; inner: sign → check."""
    engine.publish("inner", human("sign", role="office"), operation("check"))
    engine.publish(
        "middle",
        {"id": "all", "kind": "map", "over": "$.input.items"},
        subworkflow("in", "inner", scope=1),
        edges=[],
    )
    engine.publish("outer", subworkflow("mid", "middle"), human("close", role="office"))
    outer = engine.start("outer", {"items": [1]})
    return outer, outer + 1, outer + 2


@pytest.mark.requirement("SM-12")
@pytest.mark.requirement("SM-15")
def test_reopening_a_step_of_a_sub_workflow_reopens_every_run_above(engine: Engine, people: People):
    outer, middle, inner = nested(engine)
    session = engine.worker()
    sign = engine.unit(inner, "sign")
    do(people, sign, {"n": 1})
    engine.drain(session)
    do(people, engine.unit(outer, "close"))
    assert engine.run_state(outer) == "completed"
    answer = people.reopen_for_correction(sign, "ben", "data_error", granted(engine, sign), "reopen")
    assert touched(answer) == [
        ("after", "check", True),
        ("around", "all", True),
        ("around", "in[0]", True),
        ("around", "mid", True),
        ("after", "close", True),
    ]
    assert [engine.run_state(run) for run in (outer, middle, inner)] == ["in_progress"] * 3
    # The inner run waits. The middle run counts its map and not the items of the map. `close` waits itself.
    colours = engine.one("select array_agg(rollup_state_code::text order by run_id) from run_progress")
    assert colours == ["yellow", "green", "yellow"]
    assert engine.faults() == {}
    people.complete(sign, "ada", {"n": 2})
    engine.drain(session)
    assert [engine.run_state(run) for run in (outer, middle, inner)] == [
        "in_progress",
        "completed",
        "completed",
    ]
    assert engine.state(engine.unit(outer, "close")) == "in_progress"
    people.complete(engine.unit(outer, "close"), "ada")
    assert engine.run_state(outer) == "completed"
    assert engine.one("select count(*) from step_run_correction_cycle where closed_state = 'completed'") == 6
    assert engine.faults() == {}


def test_reopening_a_step_of_a_failed_sub_workflow_reopens_the_runs_above(engine: Engine, people: People):
    outer, middle, inner = nested(engine)
    sign = engine.unit(inner, "sign")
    people.claim(sign, "ada")
    people.cannot_complete(sign, "ada", "note:1")
    assert [engine.run_state(run) for run in (outer, middle, inner)] == ["failed"] * 3
    people.reopen_for_correction(sign, "ben", "operator_mistake", granted(engine, sign))
    assert [engine.run_state(run) for run in (outer, middle, inner)] == ["in_progress"] * 3
    assert engine.state(engine.unit(outer, "close")) == "not_started"
    assert engine.faults() == {}
    people.complete(sign, "ada")
    engine.drain(engine.worker())
    do(people, engine.unit(outer, "close"))
    assert engine.run_state(outer) == "completed"
    assert engine.faults() == {}


def test_a_reopened_operation_of_an_item_runs_again(engine: Engine, people: People):
    engine.publish(
        "w", {"id": "all", "kind": "map", "over": "$.input.items", "max_concurrency": 1},
        operation("a", scope=1), edges=[],
    )  # fmt: skip
    run_id = engine.start("w", {"items": [1, 2]})
    session = engine.worker()
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    unit = items(engine, run_id, "a")[0]
    people.reopen_for_correction(unit, "ben", "data_error", granted(engine, unit))
    (lease,) = engine.claim(session)
    engine.complete(session, lease, output={"again": True})
    assert output(engine, engine.unit(run_id, "all")) == [{"again": True}, {"ok": True}]
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_one_approval_for_the_run_is_enough_for_two_items(engine: Engine, people: People):
    run_id = mapped(engine, people)
    approval = granted(engine, run_id << 20)
    for unit in items(engine, run_id, "weigh"):
        people.reopen_for_correction(unit, "ben", "data_error", approval)
        people.complete(unit, "ada", {"kg": 5})
    assert output(engine, engine.unit(run_id, "all")) == [{"kg": 5}, {"kg": 5}]
    assert engine.faults() == {}


def test_a_step_of_a_cancelled_run_is_not_reopened(engine: Engine, people: People):
    outer, _, inner = nested(engine)
    sign = engine.unit(inner, "sign")
    do(people, sign)
    approval = granted(engine, sign)
    with refused("SW004", "transition_refused_by_guard:actor_oversees"):
        people.reopen_for_correction(sign, "ada", "data_error", approval)
    engine.one("select fn_run_cancel(1, %s, 'cli:r')", (outer,))
    with refused("SW003", "cancelled"):
        people.reopen_for_correction(sign, "ben", "data_error", approval)
    with refused("SW003", "only human and operation"):
        people.reopen_for_correction(engine.unit(outer, "mid"), "ben", "data_error", approval)


def test_a_step_of_a_replaced_sub_run_is_not_reopened(engine: Engine, people: People):
    outer, _, inner = nested(engine)
    engine.db.execute(
        "update dot_config set config_value = 'false' where config_key = 'approval.required.replay'"
    )
    sign = engine.unit(inner, "sign")
    people.claim(sign, "ada")
    people.cannot_complete(sign, "ada", "note:1")
    engine.one("select fn_run_retry(1, %s, 'cli:ada')", (outer,))
    with refused("SW003", "was replaced by run"):
        people.reopen_for_correction(sign, "ben", "data_error", granted(engine, sign))


@pytest.mark.requirement("SM-12")
def test_cancelling_the_run_ends_its_corrections(engine: Engine, people: People):
    run_id = mapped(engine, people)
    unit = items(engine, run_id, "pack")[0]
    people.reopen_for_correction(unit, "ben", "data_error", granted(engine, unit), "reopen")
    engine.one("select fn_run_cancel(1, %s, 'cli:r')", (run_id,))
    ends = engine.db.execute("select distinct closed_state from step_run_correction_cycle").fetchall()
    assert ends == [("cancelled",)]
    assert engine.one("select needs_attention from run_progress where run_id = %s", (run_id,)) is False
    assert engine.faults() == {}
