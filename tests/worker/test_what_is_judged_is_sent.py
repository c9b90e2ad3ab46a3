"""Policy judges the form of a target that the connector sends; no other spelling passes a rule."""

from __future__ import annotations

import pytest

import stepwell as sw
from stepwell.connectors.http import HttpConnector, HttpOperation
from tests.connectors.http_server import Reply, local_server
from tests.worker.acting import failure, put_in_force, receipts, rule, verdicts

DENIED = rule("no-admin", "deny", '$.target starts with "/admin"', 10)
EXACT = rule("no-vault", "deny", '$.target == "/vault"', 11)
FREE = rule("free", "allow", '$.connector == "shop"', 20)


@pytest.fixture
def shop(app):
    with local_server() as server:
        server.answer = lambda _: Reply(201, {"id": 7})
        app.connector(HttpConnector("shop", server.url))

        @app.operation
        async def order(ctx: sw.Context, target: str):
            return (await ctx.act("shop", "post", target, {"item": "A"}))["status"]

        app.publish(sw.Workflow("order", sw.Operation("order")))
        yield server


@pytest.mark.requirement("RT-06")
@pytest.mark.parametrize(
    ("target", "failure_class"),
    [
        ("/admin/x", "policy_denied"), ("admin/x", "policy_denied"), ("/%61dmin", "policy_denied"),
        ("/Admin", "policy_denied"), ("/ADMIN?x=1", "policy_denied"), ("/vault?x=1", "policy_denied"),
        ("/vault/", "policy_denied"), ("/Vault", "policy_denied"), ("/orders/..%2fadmin", "effect_refused"),
        ("/orders/..;/admin", "effect_refused"), ("/orders/../admin", "effect_refused"),
        ("//admin", "effect_refused"), ("/%2561dmin", "effect_refused"), ("\\admin", "effect_refused"),
    ],
)  # fmt: skip
def test_no_spelling_of_a_denied_target_is_sent(app, play, db, shop, target, failure_class):
    put_in_force(db, DENIED, EXACT, FREE)

    async def scenario():
        async with sw.Worker(app):
            with pytest.raises(sw.Conflict):
                await (await app.start("order", {"target": target})).result()

    play(scenario)
    assert shop.seen == []
    assert failure(db)[0] == failure_class
    assert receipts(db) == []


@pytest.mark.requirement("RT-06")
def test_the_recorded_target_is_the_one_that_was_sent(app, play, db, shop):
    put_in_force(db, DENIED, FREE)

    async def scenario():
        async with sw.Worker(app):
            assert await (await app.start("order", {"target": "orders/%37%3a?x=%41"})).result() == 201

    play(scenario)
    assert [seen.raw for seen in shop.seen] == ["/orders/7:?x=A"]
    for table in ("policy_verdict", "action_receipt"):
        assert db.execute(f"select target from {table}").fetchall() == [("/orders/7:?x=A",)]


@pytest.mark.requirement("RT-06")
def test_a_field_of_another_type_than_declared_is_denied(app, play, db):
    put_in_force(db, FREE)
    with local_server() as server:
        pay = HttpOperation("POST", fields={"amount": "number"})
        app.connector(HttpConnector("shop", server.url, operations={"pay": pay}))

        @app.operation
        async def order(ctx: sw.Context, amount: object):
            return (await ctx.act("shop", "pay", "/orders", {"amount": amount}))["status"]

        app.publish(sw.Workflow("order", sw.Operation("order")))

        async def scenario():
            async with sw.Worker(app):
                with pytest.raises(sw.Conflict):
                    await (await app.start("order", {"amount": [1, 999999]})).result()
                assert await (await app.start("order", {"amount": 7})).result() == 200

        play(scenario)
        assert [seen.json for seen in server.seen] == [{"amount": 7}]
    assert [row[:2] for row in verdicts(db)] == [("deny", "field_type"), ("allow", "rule")]
    assert "fields.amount must be of type number, not array" in failure(db)[1]
