"""Under row level security the views that name the run of a unit find it by its key and read no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from stepwell.store.calls import people, run_list, runs
from tests.sql.binding import as_role, token
from tests.sql.drive import Engine, operation


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


@pytest.mark.parametrize(
    ("view", "key"), [("job_queue", "job_id"), ("v_unit_name", "unit_id"), ("v_dead_letter", "unit_id")]
)
def test_the_run_is_found_by_its_key(engine: Engine, view: str, key: str):
    engine.publish("w", operation("a"))
    unit = engine.unit(engine.start("w"), "a")
    text = token(engine.db, 1)
    with as_role(engine.db, "stepwell_api", text):
        engine.db.execute("set local enable_seqscan = off")
        (plan,) = engine.db.execute(
            f"explain (format json) select * from stepwell.{view} where {key} = {unit}"
        ).fetchone()
    found = [node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name") == "run_detail"]
    assert found
    assert all("run_id" in node.get("Index Cond", "") for node in found), found


@pytest.mark.parametrize(
    "read",
    [
        lambda unit: run_list.run(1, unit >> 20),
        lambda unit: run_list.run_text(1, unit >> 20),
        lambda unit: runs.run_outcome(1, unit >> 20),
        lambda unit: people.step_card(1, unit),
    ],
    ids=["run", "run_text", "run_outcome", "step_card"],
)
def test_a_read_of_one_run_or_step_reads_no_other(engine: Engine, read: Any):
    engine.publish("w", operation("a"))
    unit = engine.unit(engine.start("w"), "a")
    call = read(unit)
    with as_role(engine.db, "stepwell_api", token(engine.db, 1)):
        for kind in ("seqscan", "bitmapscan", "hashjoin", "mergejoin"):
            engine.db.execute(f"set local enable_{kind} = off".encode())
        (plan,) = engine.db.execute(f"explain (format json) {call.text}".encode(), call.parameters).fetchone()
        assert call.decode(engine.db.execute(call.text, call.parameters).fetchall()) is not None
    large = {"work_unit": "unit_id", "run_detail": "run_id", "run_progress": "run_id"}
    read_by = [
        (node["Relation Name"], node.get("Index Cond", ""))
        for node in nodes(plan[0]["Plan"])
        if node.get("Relation Name") in large
    ]
    assert read_by
    assert [found for found in read_by if large[found[0]] not in found[1]] == []
