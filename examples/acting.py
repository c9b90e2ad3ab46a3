"""Orders in the shop of another company: a step acts in another system, as examples/policy.yaml allows.

stepwell policy propose examples/policy.yaml
stepwell policy activate 1
SHOP_URL=https://shop.example.org stepwell up --app examples/acting.py:app
stepwell start order.place -i item=chair -i amount=20
stepwell receipts list
"""

from __future__ import annotations

import os
from typing import Any

import stepwell as sw
from stepwell.connectors.http import HttpConnector, HttpInverse, HttpOperation

app = sw.App()

app.connector(
    HttpConnector(
        "shop",
        os.environ.get("SHOP_URL", "http://127.0.0.1:8099"),
        operations={
            # The shop accepts one order for each Idempotency-Key; deleting the order reverses it.
            "order": HttpOperation(
                "POST", honours_key=True, inverse=HttpInverse("delete", "/orders/{result.id}")
            ),
        },
    )
)


@app.operation(retry=sw.Retry(max_attempts=5))
async def place(ctx: sw.Context, item: str, amount: int) -> Any:
    placed = await ctx.act("shop", "order", "/orders", {"item": item, "amount": amount})
    return placed["body"]


app.publish(sw.Workflow("order.place", sw.Operation("place")))
