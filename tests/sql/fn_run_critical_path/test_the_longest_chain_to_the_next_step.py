"""The critical path is the longest chain to the earliest mandatory step that has not settled."""

from __future__ import annotations

import itertools

import pytest

from tests.sql.drive import Engine, operation, wait


def _path(engine: Engine, run_id: int) -> list[str]:
    rows = engine.db.execute("select step_id from fn_run_critical_path(1, %s) order by place", (run_id,))
    return [row[0] for row in rows]


@pytest.mark.requirement("RU-05")
def test_the_longer_of_two_chains_is_critical(engine: Engine):
    steps = [operation("a"), operation("b"), operation("c"), operation("d"), operation("e")]
    edges = [("a", "e"), ("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
    engine.publish("two", *steps, edges=edges)
    run_id = engine.start("two")
    session = engine.worker()
    for _ in range(4):
        engine.complete(session, *engine.claim(session))
    assert engine.states(run_id)["e"] == "ready"
    assert _path(engine, run_id) == ["a", "b", "c", "d", "e"]


def test_a_settled_run_has_no_critical_path(engine: Engine):
    engine.publish("one", operation("a"))
    run_id = engine.start("one")
    engine.drain(engine.worker())
    assert _path(engine, run_id) == []


@pytest.mark.requirement("RU-05")
def test_a_run_of_two_thousand_steps_has_a_critical_path(engine: Engine):
    names = [f"s{number}" for number in range(2000)]
    edges = [*itertools.pairwise(names), *zip(names, names[2:], strict=False)]
    engine.publish("long", *(operation(name, operation="x") for name in names), edges=edges)
    run_id = engine.start("long")
    engine.db.execute("update work_unit set mandatory = false where def_no between 1 and 1999")
    assert _path(engine, run_id) == names


def test_the_steps_behind_a_waiting_step_are_listed_with_it(engine: Engine):
    engine.publish("wait", operation("a"), wait("w", "go"), operation("b"), operation("c"))
    run_id = engine.start("wait")
    session = engine.worker()
    engine.complete(session, *engine.claim(session))
    rows = engine.db.execute(
        "select unit_id, blocker_unit_id from fn_run_blocked_downstream(1, %s)", (run_id,)
    )
    blocker = engine.unit(run_id, "w")
    assert set(rows) == {(engine.unit(run_id, name), blocker) for name in ("b", "c")}


@pytest.mark.requirement("RU-05")
def test_all_of_two_thousand_steps_behind_a_waiting_step_are_found(engine: Engine):
    names = [f"s{number}" for number in range(1998)]
    edges = [("w", "s0"), *itertools.pairwise(names), *zip(names, names[2:], strict=False)]
    steps = [operation(name, operation="x") for name in names]
    engine.publish("blocked", wait("w", "go"), *steps, operation("free"), edges=edges)
    run_id = engine.start("blocked")
    rows = engine.db.execute(
        "select unit_id, blocker_unit_id from fn_run_blocked_downstream(1, %s)", (run_id,)
    ).fetchall()
    first = (run_id << 20) + 2
    assert sorted(rows) == [(first + number, engine.unit(run_id, "w")) for number in range(1998)]
