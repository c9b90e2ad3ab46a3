"""The order process: a map, a sub-workflow, failures, and a payment provider that is down at times."""

from __future__ import annotations

from typing import Any

import stepwell as sw
from stepwell.demo.chance import between, chance
from stepwell.demo.operations import handler, step
from stepwell.demo.pace import work

_INPUT = {
    "type": "object",
    "required": ["order_id", "lines"],
    "properties": {
        "order_id": {"type": "string", "title": "Order"},
        "lines": {"type": "integer", "minimum": 1, "maximum": 40, "title": "Lines"},
        "amount": {"type": "number", "minimum": 0, "title": "Amount in EUR"},
        "provider_is_down": {"type": "boolean", "title": "The payment provider is down"},
    },
}

INVOICE = sw.Workflow(
    "order.invoice",
    sw.Sequential(
        step("write_invoice", title="Write the invoice"),
        step("send_invoice", title="Send it"),
    ),
    title="Invoice",
)
ORDER = sw.Workflow(
    "order.process",
    sw.Sequential(
        step("check_order", title="Check the order"),
        sw.Parallel(
            step(
                "charge",
                title="Charge",
                retry=sw.Retry(max_attempts=6, delays=["20s", "40s", "80s"]),
                milestone="Paid",
            ),
            step("reserve", title="Reserve stock"),
        ),
        sw.Map(
            "$.steps.reserve.output.items",
            step("pack", title="Pack"),
            id="boxes",
            title="Pack boxes",
            max_concurrency=4,
            milestone="Packed",
        ),
        sw.Conditional(
            "$.input.amount > 900",
            then=sw.Human("inspect", title="Inspect the parcel", role="warehouse", deadline="8h"),
            id="is-valuable",
        ),
        sw.SubWorkflow(
            "order.invoice", id="invoice", title="Invoice", inputs={"order_id": "$.input.order_id"}
        ),
        sw.Wait(
            "carrier.picked_up", id="pick-up", title="Carrier picks up", timeout="2d", milestone="On its way"
        ),
        step("close_order", title="Close"),
    ),
    title="Order process",
    input=_INPUT,
)


class ProviderDown(Exception):
    """The payment provider does not answer."""


def register(app: sw.App) -> None:
    @handler(app)
    async def check_order(ctx: sw.Context, order_id: str) -> dict[str, Any]:
        await work(between(0.5, 2, ctx.unit_id))
        return {"order_id": order_id, "is_known": True}

    @handler(app)
    async def charge(
        ctx: sw.Context, order_id: str, amount: float = 0, provider_is_down: bool = False
    ) -> dict[str, Any]:
        await work(between(0.5, 1.5, ctx.unit_id, ctx.attempt))
        if provider_is_down and ctx.attempt <= 2 + int(chance("storm", order_id) * 5):
            raise ProviderDown(f"no answer from the provider for {order_id} after 30 s")
        return {"receipt": f"R-{order_id}", "amount": amount}

    @handler(app)
    async def reserve(ctx: sw.Context, order_id: str, lines: int) -> dict[str, Any]:
        await work(between(1, 3, ctx.unit_id))
        return {"items": [{"sku": f"{order_id}-{n}", "count": n % 3 + 1} for n in range(lines)]}

    @handler(app)
    async def pack(ctx: sw.Context, item: dict[str, Any], index: int) -> str:
        await work(between(1, 5, ctx.unit_id))
        if chance("broken", item["sku"]) < 0.004:
            raise ValueError(f"{item['sku']} is broken")
        return f"box {index}: {item['count']} of {item['sku']}"

    @handler(app)
    async def write_invoice(ctx: sw.Context, order_id: str) -> dict[str, str]:
        await work(between(1, 2, ctx.unit_id))
        return {"invoice": f"I-{order_id}"}

    @handler(app)
    async def send_invoice(ctx: sw.Context, order_id: str) -> str:
        await work(1)
        return f"I-{order_id} sent"

    @handler(app)
    async def close_order(ctx: sw.Context, order_id: str) -> str:
        await work(0.5)
        return f"{order_id} closed"

    app.publish(INVOICE)
    app.publish(ORDER)
