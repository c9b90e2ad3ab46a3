"""A limit that is checked while a run runs fails the step that exceeds it, never the steps before it."""

from __future__ import annotations

import psycopg
import pytest

import stepwell as sw
from tests.sql.drive import Engine, human, operation, wait
from tests.sql.graphs.publishing import publish

BODY = sw.Sequential(*(sw.Operation("op", id=f"s{number}") for number in range(105)))


def test_a_run_whose_input_makes_a_map_too_large_is_not_started(engine: Engine):
    """10,000 items of 105 steps are more than the 2^20 units of a run."""
    each = sw.Map("$.input.order.items", BODY, id="each")
    publish(engine, sw.Sequential(sw.Operation("charge", id="charge"), each))
    with pytest.raises(psycopg.Error, match="input: 10000 items of 105 steps each are too many for one run"):
        engine.start("w", {"order": {"items": list(range(10_000))}})
    assert engine.one("select count(*) from run_detail") == 0
    publish(engine, sw.SubWorkflow("w", id="below"), name="above")
    above = engine.start("above", {"order": {"items": list(range(10_000))}})
    assert engine.states(above) == {"below": "cannot_complete"}
    assert "10000 items of 105 steps each" in engine.one("select error ->> 'message' from unit_failure")


@pytest.mark.parametrize("over", ["$.input.items[*]", "$.steps.charge.output"])
def test_a_map_that_has_no_room_in_its_run_fails_and_the_step_before_it_is_done_once(
    engine: Engine, over: str
):
    publish(engine, sw.Sequential(sw.Operation("charge", id="charge"), sw.Map(over, BODY, id="each")))
    items = list(range(10_000))
    run = engine.start("w", {"items": [items]})
    session = engine.worker()
    (charge,) = engine.claim(session)
    assert engine.complete(session, charge, output=items) == []
    assert engine.states(run)["charge"] == "completed"
    assert engine.states(run)["each"] == "cannot_complete"
    assert engine.run_state(run) == "failed"
    error = engine.one("select error from unit_failure")
    assert "10000 items of 105 steps each are too many for this run" in error["message"]
    assert engine.faults() == {}


def test_a_dense_graph_with_a_cycle_is_refused_at_once(engine: Engine):
    """The check does not walk all simple paths: there are far too many of them."""
    nodes = [operation(f"s{number}") for number in range(30)]
    edges = [(a["id"], b["id"]) for a in nodes for b in nodes if a is not b]
    engine.db.execute("set statement_timeout = '10s'")
    with pytest.raises(psycopg.Error, match="edges: cycle s0 → s1 → s0"):
        engine.publish("dense", *nodes, edges=edges)


def test_the_error_names_every_step_of_a_long_cycle(engine: Engine):
    nodes = [operation(f"s{number}") for number in range(300)]
    edges = [(f"s{number}", f"s{(number + 1) % 300}") for number in range(300)]
    with pytest.raises(psycopg.Error, match=r"cycle s0 → s1 → s2 .* → s299 → s0"):
        engine.publish("ring", *nodes, edges=edges)


WRONG_TIMES = {
    "due_at: never is not accepted; accepted: a time with its zone": human("h", due_at="never"),
    "due_at: infinity is not accepted": human("h", due_at="infinity"),
    "due_at: 20000-01-01T00:00:00Z is not accepted": human("h", due_at="20000-01-01T00:00:00Z"),
    "deadline: 1000000000000000.0 is not accepted": human("h", deadline=1e15),
    "deadline: -1 is not accepted; accepted: 0 to 316224000 seconds": human("h", deadline=-1),
    'deadline: "soon" is not accepted': human("h", deadline="soon"),
    "escalation 1, after: 1000000000000000.0 is": human("h", escalation=[{"after": 1e15, "tell": "ada"}]),
    "escalation 1, after: required": human("h", escalation=[{"tell": "ada"}]),
    "timeout_seconds: 1000000000000000.0 is not": wait("h", "e", timeout_seconds=1e15),
}


def test_a_time_that_would_fail_the_report_of_the_step_before_is_not_published(engine: Engine):
    for said, step in WRONG_TIMES.items():
        with pytest.raises(psycopg.Error, match="step h, ") as error:
            engine.publish("w", operation("first"), step)
        assert error.value.sqlstate == "SW001"
        assert said in str(error.value)
