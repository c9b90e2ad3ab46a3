"""The database checks a declared input when a run starts; the input can be a model."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

import stepwell as sw


class Order(BaseModel):
    order_id: str
    amount: float = Field(ge=0)
    note: str | None = None


@pytest.fixture
def order(app):
    @app.operation
    async def charge(order_id: str, amount: float) -> float:
        return amount * 2

    workflow = sw.Workflow("order", sw.Operation("charge"), input=Order, output=float)
    app.publish(workflow)
    return workflow


def test_a_start_names_the_field_that_is_wrong(app, play, order):
    async def scenario():
        for given, field in (({}, "input.order_id"), ({"order_id": "A", "amount": -1}, "input.amount")):
            for call in (app.start, app.run):
                with pytest.raises(sw.InvalidInput) as caught:
                    await call(order, given)
                assert caught.value.field == field
        with pytest.raises(sw.InvalidInput, match=r"inputs\[1\]\.amount is required"):
            await app.start_many(order, [{"order_id": "A", "amount": 1}, {"order_id": "B"}])
        assert await app.run_count() == 0

    play(scenario)


def test_a_start_through_a_local_worker_is_checked_too(app, play, order):
    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.InvalidInput, match=r"input\.amount must be of type number, not string"):
                await app.run(order, {"order_id": "A", "amount": "much"})
            assert await app.run(order, Order(order_id="A", amount=2.5)) == 5.0

    play(scenario)


def test_the_schema_can_be_read_back(app, play, order):
    async def scenario():
        await app.prepare()
        found = await app.workflow("order")
        assert found.input_schema == order.input_schema == Order.model_json_schema()
        assert (await app.workflow_versions("order"))[0].graph.input_schema == order.input_schema

    play(scenario)
