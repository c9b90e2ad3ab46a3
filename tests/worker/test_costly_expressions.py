"""A real worker evaluates the expressions that are too costly for a claim, a report or a timer."""

from __future__ import annotations

import psycopg
import pytest

import stepwell as sw
from tests.sql.drive import Engine, operation
from tests.sql.expressions.hostile import publish_before_the_rule
from tests.support.wait import until_async

SAME = "$.input.a == $.input.b"
COSTLY = {"a": list(range(2_000)), "b": list(range(2_000, 4_001)), "items": [1, 2, 3]}


def test_inputs_tests_and_sub_workflows_get_the_same_values_as_cheap_ones(app: sw.App, play):
    @app.operation
    def note(same: bool) -> bool:
        return same

    app.publish(sw.Workflow("child", sw.Operation("note")))
    step = sw.Operation("note", id="leaf", inputs={"same": SAME})
    app.publish(
        sw.Workflow(
            "all",
            sw.Sequential(
                sw.Conditional(SAME, sw.Operation("note", id="yes", inputs={"same": "true"}), step, id="c"),
                sw.SubWorkflow("child", id="sub", inputs={"same": SAME}),
                sw.Map("$.input.items", sw.Operation("note", id="each", inputs={"same": SAME}), id="m"),
            ),
        )
    )

    async def scenario() -> None:
        async with sw.Worker(app):
            for given, value, state in (
                (COSTLY, False, {"yes": "skipped", "leaf": "completed"}),
                ({**COSTLY, "b": [*COSTLY["b"], 5]}, True, {"yes": "completed", "leaf": "skipped"}),
                ({"a": 1, "b": 1, "items": [1, 2, 3]}, True, {"yes": "completed", "leaf": "skipped"}),
            ):
                run = await app.start("all", given)
                assert await run.result() == [value] * 3
                states = {row.step_id: row.state_code for row in await run.steps()}
                assert {name: states[name] for name in state} == state

    play(scenario)


def test_a_worker_whose_app_has_no_operation_serves_it(app: sw.App, play):
    app.publish(sw.Workflow("w", sw.Conditional(SAME, sw.Wait("never", timeout="1h"), id="c")))

    async def scenario() -> None:
        async with sw.Worker(app):
            run = await app.start("w", COSTLY)
            assert (await run.wait()).state == "completed"

    play(scenario)


@pytest.mark.parametrize("times", [1, 5])
def test_an_evaluation_that_is_cancelled_is_tried_again_later(app: sw.App, play, db, times: int):
    """57014 is a failed attempt: the next one comes after its pause, and there are not more than five."""
    nested = "exists ($.input.a[*] ? (exists ($.input.a[*] ? (@ < 0))))"
    db.execute("update dot_config set config_value = '1000000000' where config_key like 'limits.%cost_alone'")

    @app.operation(retry=sw.Retry(max_attempts=5, initial="50ms", max="100ms"))
    def leaf(found: bool) -> bool:
        return found

    async def scenario() -> None:
        async with sw.Worker(app):
            publish_before_the_rule(Engine(db), "w", operation("leaf", inputs={"found": nested}))
            run = await app.start("w", {"a": list(range(4_000))})
            for number in range(1, times + 1):
                await until_async(lambda: cancel_evaluation(db), what="an evaluation to cancel")
                await until_async(
                    lambda number=number: failures(db) == number, what=f"failed attempt {number}"
                )
            if times < 5:
                assert await run.result() is False
            else:
                with pytest.raises(sw.RunFailed, match="canceling statement due to user request"):
                    await run.result()

    play(scenario)
    assert failures(db) == times


def cancel_evaluation(db: psycopg.Connection) -> bool:
    row = db.execute(
        "select pg_cancel_backend(pid) from pg_stat_activity"
        " where datname = current_database() and state = 'active'"
        " and query like '%fn_expression_evaluate%' and pid <> pg_backend_pid()"
    ).fetchone()
    return row == (True,)


def failures(db: psycopg.Connection) -> int:
    row = db.execute("select count(*) from unit_failure").fetchone()
    assert row is not None
    return row[0]
