"""A step is found by its id, a step of a map also by its item number, a task by its id in the step."""

from __future__ import annotations

from tests.sql.drive import Engine, human, operation


def found(
    engine: Engine, run_id: int, step: str, task: str | None = None, item: int | None = None
) -> int | None:
    unit_id: int | None = engine.one("select fn_step_find(1, %s, %s, %s, %s)", (run_id, step, task, item))
    return unit_id


def test_a_step_a_step_of_an_item_and_a_task_are_found(engine: Engine):
    engine.publish(
        "w",
        {"id": "all", "kind": "map", "over": "$.input.items"},
        human("sign", role="office", tasks=[{"id": "read"}, {"id": "stamp"}]),
        operation("pack", scope=1),
        edges=[("all", "sign")],
    )
    other = engine.start("w", {"items": [1]})
    run_id = engine.start("w", {"items": [1, 2, 3]})
    engine.drain(engine.worker())
    packs = [
        unit_id
        for (unit_id,) in engine.db.execute(
            "select step_run_id from step_run where run_id = %s and step_id = 'pack' order by 1", (run_id,)
        )
    ]
    assert len(packs) == 3
    assert found(engine, run_id, "all") == engine.unit(run_id, "all")
    assert found(engine, run_id, "pack") == packs[0]
    assert [found(engine, run_id, "pack", item=item) for item in range(4)] == [*packs, None]
    assert found(engine, other, "pack", item=1) is None
    assert found(engine, run_id, "sign") == engine.unit(run_id, "sign")
    tasks = dict(
        engine.db.execute(
            "select task_id, unit_id from task_detail where step_run_id = %s", (engine.unit(run_id, "sign"),)
        ).fetchall()
    )
    assert {task: found(engine, run_id, "sign", task) for task in ("read", "stamp")} == tasks
    assert found(engine, run_id, "sign", "burn") is None
    assert found(engine, run_id, "no such step") is None
