"""A Map that was cancelled with the Map around it continues with its items when the run is retried.

Items that completed are not done again, and no unit numbers are used up, however often the run is retried.
"""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.types.json import Jsonb

import stepwell as sw
from tests.sql.drive import Engine, Lease
from tests.sql.graphs.publishing import publish

INNER = {"outer": [1], "inner": ["a", "b", "c"]}


@pytest.fixture
def run_id(engine: Engine) -> int:
    each = sw.Sequential(sw.Operation("leaf"), sw.Operation("after"))
    body = sw.Parallel(sw.Map("$.input.inner", each, id="in", max_concurrency=2), sw.Operation("bad"))
    publish(engine, sw.Map("$.input.outer", body, id="out"), failure_policy="abort-dependents")
    return engine.start("w", INNER)


def next_number(engine: Engine) -> int:
    number: int = engine.one("select next_unit_no from run_detail")
    return number


def leases(engine: Engine, session: int) -> dict[str, list[Lease]]:
    found: dict[str, list[Lease]] = {}
    for lease in engine.claim(session):
        found.setdefault(str(lease.step_id), []).append(lease)
    return found


def retry(engine: Engine, run_id: int) -> None:
    engine.one("select fn_run_retry(1, %s, 'cli:ada', 'again')", (run_id,))


def drain(engine: Engine, session: int) -> list[tuple[Any, Any]]:
    """Completes everything; returns step and item of each lease."""
    done = []
    while found := engine.claim(session):
        done += [(lease.step_id, lease.bound_input["item"]) for lease in found]
        for lease in found:
            engine.complete(session, lease, output=f"{lease.step_id} {lease.bound_input['item']}")
    return sorted(done)


def test_items_that_completed_are_not_done_again(engine: Engine, run_id: int):
    session = engine.worker()
    first = leases(engine, session)
    done = first["leaf"][0]
    engine.complete(session, done, output="leaf a")
    (after,) = leases(engine, session)["after"]
    engine.complete(session, after, output="after a")
    number = next_number(engine)
    for _ in range(3):
        (bad,) = first["bad"]
        engine.kill(session, bad)
        assert engine.run_state(run_id) == "failed"
        retry(engine, run_id)
        assert engine.faults() == {}
        first = leases(engine, session)
        assert [lease.bound_input["item"] for lease in first["leaf"]] == ["b", "c"]
    engine.complete(session, *first["bad"], output="bad")
    for lease in first["leaf"]:
        engine.complete(session, lease, output=f"leaf {lease.bound_input['item']}")
    assert drain(engine, session) == [("after", "b"), ("after", "c")]
    assert engine.run_state(run_id) == "completed"
    assert next_number(engine) == number
    (result,) = engine.one("select _run_result(1, %s)", (run_id,))
    assert result == {"in": ["after a", "after b", "after c"], "bad": "bad"}
    assert engine.faults() == {}


def test_a_map_whose_list_a_worker_evaluates_continues_too(engine: Engine, run_id: int):
    session = engine.worker()
    first = leases(engine, session)
    engine.complete(session, first["leaf"][0], output="leaf a")
    engine.kill(session, *first["bad"])
    number = next_number(engine)
    engine.db.execute("update dot_config set config_value = '0' where config_key = 'limits.expression_cost'")
    retry(engine, run_id)
    # Its items wait for it.
    waiting = engine.one(
        "select unit_id from work_unit where state_code = 'not_started' and item_no = 1 limit 1"
    )
    assert engine.why(waiting)[0] == "dependency"
    assert engine.faults() == {}
    found = leases(engine, session)
    assert sorted(found) == ["bad", "in"]
    assert engine.report(session, engine.outcome(session, found["in"][0])) == []
    engine.complete(session, *found["bad"])
    assert drain(engine, session) == [
        ("after", "a"), ("after", "b"), ("after", "c"), ("leaf", "b"), ("leaf", "c"),
    ]  # fmt: skip
    assert (engine.run_state(run_id), next_number(engine)) == ("completed", number)
    assert engine.faults() == {}


def test_a_run_is_cancelled_while_such_a_map_waits(engine: Engine, run_id: int):
    session = engine.worker()
    engine.kill(session, *leases(engine, session)["bad"])
    engine.db.execute("update dot_config set config_value = '0' where config_key = 'limits.expression_cost'")
    retry(engine, run_id)
    assert engine.one("select fn_run_cancel(1, %s, 'cli:ada')", (run_id,)) == "cancelled"
    assert engine.claim(session) == []
    assert engine.faults() == {}


def test_another_list_makes_new_items(engine: Engine, run_id: int):
    session = engine.worker()
    first = leases(engine, session)
    engine.complete(session, first["leaf"][0], output="leaf a")
    engine.kill(session, *first["bad"])
    # As a correction of a step before the Map would change it.
    engine.db.execute("update run_detail set input = %s", (Jsonb({**INNER, "inner": ["x", "y"]}),))
    number = next_number(engine)
    retry(engine, run_id)
    assert next_number(engine) == number + 4
    assert drain(engine, session) == [
        ("after", "x"), ("after", "y"), ("bad", 1), ("leaf", "x"), ("leaf", "y"),
    ]  # fmt: skip
    assert engine.run_state(run_id) == "completed"
    assert engine.faults() == {}


def test_new_items_without_numbers_fail_the_map_with_the_reason(engine: Engine, run_id: int):
    session = engine.worker()
    engine.kill(session, *leases(engine, session)["bad"])
    engine.db.execute("update run_detail set input = %s", (Jsonb({**INNER, "inner": ["x", "y"]}),))
    engine.db.execute("update run_detail set next_unit_no = 1048573")
    retry(engine, run_id)
    row = engine.db.execute(
        "select error ->> 'message' from unit_failure order by failed_at desc limit 1"
    ).fetchone()
    assert row == (
        "items: 2 items of 2 steps each are too many for this run; it has numbers for 2 more steps",
    )
    assert engine.faults() == {}
