"""Retry of a failed map: completed items stay, dead and cancelled items run again."""

from __future__ import annotations

import pytest

from tests.sql.drive import Engine, operation

ITEMS = {"items": [1, 2, 3]}


def publish(engine: Engine, **graph) -> None:
    engine.publish(
        "w",
        {"id": "each", "kind": "map", "over": "$.input.items", **graph.pop("map", {})},
        operation("after"),
        operation("pack", scope=1),
        operation("send", scope=1),
        edges=[("each", "after"), ("pack", "send")],
        **graph,
    )


def items(engine: Engine) -> list[str]:
    rows = engine.db.execute(
        "select state_code from step_run where scope_no = 1 and parent_id is not null order by step_run_id"
    )
    return [state for (state,) in rows]


def test_only_dead_steps_and_their_successors_run_again(engine: Engine):
    publish(engine)
    run_id = engine.start("w", ITEMS)
    session = engine.worker()
    packs = engine.claim(session)
    engine.complete(session, *packs[:2], output="packed")
    engine.kill(session, packs[2])
    engine.complete(session, *engine.claim(session), output="sent")
    assert engine.run_state(run_id) == "failed"
    assert items(engine) == ["completed"] * 4 + ["cannot_complete", "cancelled"]
    answer = engine.one("select fn_run_retry(1, %s, 'cli:ada')", (run_id,))
    assert len(answer["unit_ids"]) == 2
    assert items(engine) == ["completed"] * 4 + ["ready", "not_started"]
    assert engine.states(run_id)["each"] == "in_progress"
    assert engine.faults() == {}
    assert engine.drain(session) == 3
    assert engine.run_state(run_id) == "completed"
    assert engine.one("select output from step_run where step_id = 'each'") == ["sent", "sent", {"ok": True}]
    assert engine.faults() == {}


@pytest.mark.parametrize("limit", [{}, {"map": {"max_concurrency": 2}}])
def test_items_that_a_failed_map_cancelled_run_again(engine: Engine, limit):
    publish(engine, failure_policy="abort-dependents", **limit)
    run_id = engine.start("w", ITEMS)
    session = engine.worker()
    leases = engine.claim(session)
    engine.kill(session, leases[0])
    assert engine.run_state(run_id) == "failed"
    assert items(engine).count("cancelled") == 5
    engine.one("select fn_run_retry(1, %s, 'cli:ada')", (run_id,))
    assert engine.faults() == {}
    assert engine.drain(session) == 7
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_the_retry_of_one_dead_item_continues_its_map_and_its_run(engine: Engine):
    publish(engine)
    run_id = engine.start("w", ITEMS)
    session = engine.worker()
    packs = engine.claim(session)
    engine.kill(session, packs[0])
    engine.complete(session, *packs[1:])
    engine.drain(session)
    engine.one("select fn_job_retry(1, %s, 'cli:ada')", (packs[0].unit_id,))
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_a_map_that_could_not_read_its_list_reads_it_again(engine: Engine):
    publish(engine)
    run_id = engine.start("w", {"items": "none"})
    assert engine.run_state(run_id) == "failed"
    engine.db.execute("update run_detail set input = '{\"items\": [1]}'")
    engine.one("select fn_run_retry(1, %s, 'cli:ada')", (run_id,))
    engine.drain(engine.worker())
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_a_cancelled_map_inside_a_map_is_opened_again(engine: Engine):
    engine.publish(
        "w",
        {"id": "outer", "kind": "map", "over": "$.input.items"},
        {"id": "inner", "kind": "map", "over": "$.input.items", "scope": 1},
        operation("leaf", scope=2),
        edges=[],
        failure_policy="abort-dependents",
    )
    run_id = engine.start("w", {"items": [1, 2]})
    session = engine.worker()
    leases = engine.claim(session)
    assert len(leases) == 4
    engine.kill(session, leases[0])
    assert engine.run_state(run_id) == "failed"
    assert engine.faults() == {}
    engine.one("select fn_run_retry(1, %s, 'cli:ada')", (run_id,))
    assert engine.faults() == {}
    engine.drain(session)
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}
