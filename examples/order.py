"""An order from charge to pick-up: parallel steps, a condition, a map and a wait in one workflow.

Run it together with the server: `stepwell up --app examples/order.py:app`, then in another terminal:

    stepwell start order.process -i order_id=A-1 --key A-1
    stepwell signal order.process/A-1 carrier.picked_up
    stepwell runs list
"""

from __future__ import annotations

import stepwell as sw

app = sw.App()

Item = dict[str, int | str]


@app.operation(retry=sw.Retry(max_attempts=5, initial="200ms"))
async def charge(ctx: sw.Context, order_id: str) -> dict[str, str]:
    # The key is the same for every attempt, so a payment provider would charge once.
    return {"receipt": f"R-{order_id}", "key": ctx.idempotency_key}


@app.operation
def reserve(order_id: str, lines: int = 3) -> dict[str, list[Item]]:
    return {"items": [{"sku": f"{order_id}-{number}", "count": number + 1} for number in range(lines)]}


@app.operation
async def pack(item: Item, index: int) -> str:
    return f"box {index}: {item['count']} × {item['sku']}"


@app.operation
async def refund(order_id: str) -> str:
    return f"{order_id} refunded"


@app.operation
async def close(order_id: str, boxes: list[str] | None = None) -> dict[str, str | int]:
    return {"order": order_id, "boxes": len(boxes or [])}


app.publish(
    sw.Workflow(
        "order.process",
        sw.Sequential(
            sw.Parallel(sw.Operation("charge"), sw.Operation("reserve"), max_concurrency=2),
            sw.Conditional(
                '$.steps.charge.status == "completed"',
                then=sw.Sequential(
                    sw.Map(
                        "$.steps.reserve.output.items", sw.Operation("pack"), id="boxes", max_concurrency=10
                    ),
                    sw.Wait("carrier.picked_up", timeout="2d"),
                    sw.Operation("close", inputs={"boxes": "$.steps.boxes.output"}),
                ),
                otherwise=sw.Operation("refund"),
            ),
        ),
    )
)
