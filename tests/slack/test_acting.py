"""A governed action: policy requires an approval, Slack shows it, the connector acts once."""

from __future__ import annotations

import asyncio

import pytest

import stepwell as sw
from stepwell.connectors.http import HttpConnector, HttpHeader, HttpInverse, HttpOperation
from stepwell.connectors.secrets import SecretRef
from stepwell.testing import check_invariants
from tests.connectors.http_server import Reply, local_server
from tests.slack.conftest import TOKEN, words
from tests.support.roles import process_app
from tests.support.wait import until_async
from tests.worker.acting import put_in_force, rule

SHOP_KEY = "canary-shop-5d1e77"
TABLES = ("action_receipt", "event_log", "approval_detail", "policy_verdict", "unit_output")


@pytest.fixture
def shop(monkeypatch):
    """A service that repeats the headers of each request in its answer."""
    monkeypatch.setenv("PLANTED_SHOP_KEY", SHOP_KEY)
    with local_server() as server:
        server.answer = lambda seen: Reply(201, {"id": 7, "echo": seen.headers})
        yield server


@pytest.fixture
def app(dsn, shop) -> sw.App:
    made = process_app(dsn)
    made.connector(
        HttpConnector(
            "shop",
            shop.url,
            headers={"Authorization": HttpHeader(SecretRef("env:PLANTED_SHOP_KEY"), prefix="Bearer ")},
            operations={
                "refund": HttpOperation(
                    "POST", honours_key=True, inverse=HttpInverse("undo", "/refunds/{result.id}")
                ),
                "undo": HttpOperation("DELETE"),
            },
        )
    )

    @made.operation
    async def refund(ctx: sw.Context, order: str) -> int:
        answer = await ctx.act("shop", "refund", f"/orders/{order}/refunds", {"amount": 40}, reversible=True)
        found: int = answer["body"]["id"]
        return found

    made.publish(sw.Workflow("order.refund", sw.Operation("refund")))
    return made


@pytest.mark.requirement("RT-07")
def test_an_action_is_shown_in_slack_approved_and_performed_once(
    app, engine, db, dsn, workspace, notifier, slack, shop
):
    put_in_force(db, rule("money", "needs_approval", tier="high", reason="money leaves the house"))

    async def card() -> list:
        await asyncio.to_thread(notifier.run_once)
        return workspace.messages()

    async def scenario() -> int:
        async with app, sw.Worker(app):
            run = await app.start("order.refund", {"order": "A-1"})
            (message,) = await until_async(card)
            shown = words(message)
            for part in ("*shop.refund* `/orders/A-1/refunds`", "can be undone", "high", '\\"amount\\": 40',
                         "*Policy* (rule money, version 1)", "money leaves the house"):  # fmt: skip
                assert part in shown
            assert shop.seen == []
            answer = await asyncio.to_thread(slack.press, "ben", message, "Approve")
            assert answer.status_code == 200
            return await run.result()

    assert asyncio.run(scenario()) == 7
    assert check_invariants(dsn) == []
    (request,) = shop.seen
    assert (request.method, request.path, request.json) == ("POST", "/orders/A-1/refunds", {"amount": 40})
    assert request.headers["authorization"] == f"Bearer {SHOP_KEY}"
    notifier.run_once()
    assert "Approved" in words(workspace.messages()[0])
    kept = str([db.execute(f"select t::text from {table} as t").fetchall() for table in TABLES])
    assert "/orders/A-1/refunds" in kept
    assert SHOP_KEY not in kept
    assert TOKEN not in kept
