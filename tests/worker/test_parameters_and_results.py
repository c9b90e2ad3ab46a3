"""What a handler receives as parameters, and how the value it returns is stored and passed on."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

import pytest

import stepwell as sw
from tests.worker.crunching import add_slowly


def one_step(app: sw.App, name: str, **step: object) -> None:
    app.publish(sw.Workflow("one", sw.Operation(name, **step)))


@pytest.mark.requirement("LN-06")
def test_outputs_are_inputs_of_later_steps_and_the_last_is_the_result(app, play):
    @app.operation
    async def double(n: int) -> int:
        return n * 2

    @app.operation
    async def add(n: int, doubled: int) -> dict[str, int]:
        return {"sum": n + doubled}

    bound = sw.Operation("add", inputs={"doubled": "$.steps.double.output"})
    app.publish(sw.Workflow("sum", sw.Sequential(sw.Operation("double"), bound)))

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("sum", {"n": 4})
            assert await run.result() == {"sum": 12}
            assert await run.state() == "completed"

    play(scenario)


@pytest.mark.parametrize(
    ("returned", "kept"),
    [
        (None, None),
        ("text", "text"),
        ([1, 2.5, {"a": None}], [1, 2.5, {"a": None}]),
        (sw.Completed({"a": 1}), {"a": 1}),
        (sw.Completed(), None),
    ],
    ids=repr,
)
def test_returning_a_value_is_the_same_as_returning_completed(app, play, returned, kept):
    @app.operation
    async def give():
        return returned

    one_step(app, "give")

    async def scenario():
        async with sw.Worker(app):
            assert await (await app.start("one")).result() == kept

    play(scenario)


def test_parameters_are_bound_by_name_by_mapping_and_by_default(app, play):
    seen = {}

    @app.operation
    async def take(name: str, renamed: int, left_out: str = "default", *, only: bool = True):
        seen.update(name=name, renamed=renamed, left_out=left_out, only=only)

    one_step(app, "take", inputs={"renamed": "$.input.number"})

    async def scenario():
        async with sw.Worker(app):
            await (await app.start("one", {"name": "n", "number": 7, "unused": 1})).result()

    play(scenario)
    assert seen == {"name": "n", "renamed": 7, "left_out": "default", "only": True}


def test_a_handler_with_keyword_arguments_receives_the_whole_input(app, play):
    @app.operation
    async def take(**given):
        return given

    one_step(app, "take")

    async def scenario():
        async with sw.Worker(app):
            assert await (await app.start("one", {"a": 1, "b": [2]})).result() == {"a": 1, "b": [2]}

    play(scenario)


@dataclass
class Order:
    id: str
    amount: float


def test_the_input_is_converted_to_the_declared_types(app, play):
    @app.operation
    async def take(order: Order) -> Order:
        assert isinstance(order, Order)
        return Order(order.id, order.amount * 2)

    one_step(app, "take")

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one", {"order": {"id": "A", "amount": "1.5"}})
            assert await run.result() == {"id": "A", "amount": 3.0}

    play(scenario)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "operation take: parameter number is required and not in the input"),
        ({"number": "x"}, "operation take: parameter number: Input should be a valid integer"),
    ],
)
def test_a_wrong_input_names_the_parameter_and_is_not_tried_again(app, play, db, given, message):
    calls = []

    @app.operation
    async def take(number: int):
        calls.append(number)

    one_step(app, "take")

    async def scenario():
        async with sw.Worker(app):
            run = await app.start("one", given)
            with pytest.raises(sw.Conflict, match="failed"):
                await run.result()

    play(scenario)
    assert calls == []
    (error, attempt_count, failure_class) = db.execute(
        "select error ->> 'message', attempt_count, failure_class from job_dead_letter"
    ).fetchone()
    assert error.startswith(message)
    assert (attempt_count, failure_class) == (1, "invalid_input")


@pytest.mark.parametrize("value", ["no number", "a\x00b", object()], ids=["type", "NUL", "object"])
def test_a_result_that_cannot_be_stored_fails_the_step_and_not_the_worker(app, play, db, value):
    @app.operation
    async def wrong() -> int:
        return value

    @app.operation
    async def untyped():
        return value

    @app.operation
    async def right() -> int:
        return 1

    for name in ("wrong", "untyped", "right"):
        app.publish(sw.Workflow(f"w.{name}", sw.Operation(name)))
    bad = ["wrong", "untyped"] if not isinstance(value, str) or "\x00" in value else ["wrong"]

    async def scenario():
        async with sw.Worker(app):
            for name in bad:
                with pytest.raises(sw.Conflict):
                    await (await app.start(f"w.{name}")).result()
            assert await (await app.start("w.right")).result() == 1

    play(scenario)
    messages = [row[0] for row in db.execute("select error ->> 'message' from job_dead_letter")]
    assert len(messages) == len(bad)
    assert all(message.startswith("operation ") and ": result" in message for message in messages)


def test_a_plain_function_runs_in_a_thread(app, play):
    @app.operation
    def where() -> str:
        return threading.current_thread().name

    one_step(app, "where")

    async def scenario():
        async with sw.Worker(app):
            assert (await (await app.start("one")).result()).startswith("stepwell-handler")

    play(scenario)


def test_the_process_executor_runs_the_handler_in_another_process(app, play):
    app.operation(add_slowly, executor="process")
    one_step(app, "add_slowly")

    async def scenario():
        async with sw.Worker(app):
            found = await (await app.start("one", {"a": 2, "b": 3})).result()
            assert found["sum"] == 5
            assert found["pid"] != os.getpid()

    play(scenario)


def test_a_free_standing_job_returns_its_result(app, play):
    @app.operation
    async def square(n: int) -> int:
        return n * n

    async def scenario():
        async with sw.Worker(app):
            job = await app.enqueue("square", {"n": 5}, key="five")
            again = await app.enqueue("square", {"n": 5}, key="five")
            assert (job.is_new, again.is_new, again.id == job.id) == (True, False, True)
            assert await job.result() == 25

    play(scenario)


def test_the_sync_app_starts_and_cancels_a_run(app, dsn):
    @app.operation
    def square(n: int) -> int:
        return n * n

    app.publish(sw.Workflow("square", sw.Operation("square")))
    run = app.sync.start("square", {"n": 3})
    assert run.state() == "in_progress"
    assert run.cancel("not needed") == "cancelled"
    app.sync.close()
