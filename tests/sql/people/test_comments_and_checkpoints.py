"""People write comments on steps and tasks; what a handler has saved can be seen."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from stepwell.client import Client
from stepwell.people import People as PeopleClient
from tests.sql.drive import Engine, human, operation


@pytest.mark.requirement("SM-24")
def test_comments_are_kept_in_order_and_never_doubled(engine: Engine, dsn: str):
    engine.person("ada", "eve")
    tasks = [{"id": "read", "assignee": "ada"}]
    engine.publish("w", human("sign", assignee="ada", tasks=tasks), operation("call"))
    run_id = engine.start("w")
    sign = engine.unit(run_id, "sign")
    task = engine.one("select task_run_id from task_run")

    async def talk() -> list[list[str]]:
        client = await Client.connect(dsn)
        people = PeopleClient(client)
        try:
            first = await people.step_comment(sign, "ada", "Is this the last page?", key="k")
            assert await people.step_comment(sign, "ada", "Is this the last page?", key="k") == first
            await people.step_comment(sign, "ada", "It is. token=abcdefghijklmnop1234567890")
            await people.step_comment(task, "ada", "On the task")
            return [[c.body for c in await people.step_comments(unit)] for unit in (sign, task)]
        finally:
            await client.close()

    on_step, on_task = asyncio.run(talk())
    assert on_step[0] == "Is this the last page?"
    assert "abcdefghijklmnop" not in on_step[1]
    assert (len(on_step), on_task) == (2, ["On the task"])
    assert engine.events(sign).count("step.commented") == 2
    assert engine.events(task).count("task.commented") == 1
    required = "body: a text is required"
    too_long = ("x" * 10_001, "at most 10000 bytes")
    for body, said in [("  ", required), ("\n\t ", required), (None, required), too_long]:
        with pytest.raises(psycopg.Error, match=said):
            engine.one("select fn_step_comment(1, %s, 'ada', %s)", (sign, body))
    with pytest.raises(psycopg.Error, match="nobody"):
        engine.one("select fn_step_comment(1, %s, 'nobody', 'x')", (sign,))
    with pytest.raises(psycopg.Error) as refused:
        engine.one("select fn_step_comment(1, %s, 'eve', 'x')", (sign,))
    assert refused.value.sqlstate == "SW004"
    assert engine.faults() == {}


@pytest.mark.requirement("SM-24")
def test_what_a_handler_saved_can_be_seen(engine: Engine):
    engine.publish("w", operation("call"))
    engine.start("w")
    session = engine.worker()
    (lease,) = engine.claim(session)
    engine.one(
        "select fn_checkpoint_save(%s, 1, %s, %s, 'fetched', '42')", (session, lease.unit_id, lease.lease_no)
    )
    rows = engine.db.execute(
        "select unit_id, checkpoint_name, checkpoint_value from task_checkpoints"
    ).fetchall()
    assert rows == [(lease.unit_id, "fetched", 42)]
