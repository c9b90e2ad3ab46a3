"""An agent with governed tools: it reads a complaint and refunds; the policy decides when a lead is asked."""

from __future__ import annotations

from typing import Any

import stepwell as sw
from stepwell.demo.chance import between
from stepwell.demo.operations import handler, step
from stepwell.demo.pace import work

REFUND = sw.Workflow(
    "agent.refund",
    sw.Sequential(
        step("read_complaint", title="Read the complaint"),
        step("plan_refund", title="Plan"),
        step(
            "refund",
            title="Refund",
            inputs={"customer": "$.input.customer", "amount": "$.steps.plan_refund.output.amount"},
        ),
        step("answer", title="Answer the customer"),
    ),
    title="Refund by an agent",
    input={
        "type": "object",
        "required": ["customer", "complaint"],
        "properties": {
            "customer": {"type": "string", "title": "Customer"},
            "complaint": {"type": "string", "title": "Complaint"},
        },
    },
)


def amount(customer: str) -> float:
    """What the agent wants to refund: always the same for a customer."""
    return round(between(20, 260, customer), 2)


def register(app: sw.App) -> None:
    @handler(app)
    async def read_complaint(ctx: sw.Context, customer: str, complaint: str) -> dict[str, Any]:
        await ctx.act("desk", "read", "/tickets")
        await work(2)
        return {"customer": customer, "words": len(complaint.split())}

    @handler(app)
    async def plan_refund(ctx: sw.Context, customer: str) -> dict[str, Any]:
        for done in range(1, 5):
            await work(1)
            ctx.progress(done, 4, "thinking")
        return {"amount": amount(customer), "because": "the parcel came late"}

    @handler(app)
    async def refund(ctx: sw.Context, customer: str, amount: float) -> Any:
        paid = await ctx.act("desk", "refund", f"/customers/{customer}", {"amount": amount})
        await work(1)
        return paid

    @handler(app)
    async def answer(ctx: sw.Context, customer: str) -> Any:
        await work(2)
        return await ctx.act("desk", "ticket", "/tickets", {"customer": customer, "text": "refunded"})

    app.publish(REFUND)
