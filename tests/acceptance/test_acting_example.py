"""examples/acting.py: orders in another system are allowed, approved by two, reversed, and made once."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg
import pytest

import stepwell as sw
from stepwell.loading import load_app
from stepwell.testing import check_invariants
from tests.support.processes import ROOT
from tests.support.wait import until_async


class Shop(ThreadingHTTPServer):
    """Accepts one order for each Idempotency-Key, and removes it when it is deleted."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ShopHandler)
        self.orders: dict[str, dict[str, object]] = {}
        self.by_key: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class ShopHandler(BaseHTTPRequestHandler):
    server: Shop
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.headers["Idempotency-Key"]
        number = self.server.by_key.setdefault(key, f"O-{len(self.server.by_key) + 1}")
        self.server.orders.setdefault(number, order)
        self._answer(201, {"id": number, **order})

    def do_DELETE(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.orders.pop(self.path.rpartition("/")[2], None)
        self._answer(200, {})

    def _answer(self, status: int, body: dict[str, object]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words: object) -> None:
        """Logs nothing."""


@pytest.fixture
def shop(monkeypatch) -> Iterator[Shop]:
    with Shop() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("SHOP_URL", server.url)
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.requirement("RT-06", "RT-09", "RT-12")
def test_small_orders_are_allowed_large_ones_need_two_leads_and_can_be_reversed(
    dsn, db: psycopg.Connection, shop, monkeypatch
):
    monkeypatch.setenv("STEPWELL_DATABASE_URL", dsn)
    app = load_app(f"{ROOT}/examples/acting.py:app")
    policy = (ROOT / "examples" / "policy.yaml").read_text()

    def waiting() -> int | None:
        row = db.execute("select approval_id from v_approval where state_code = 'requested'").fetchone()
        return None if row is None else row[0]

    async def whole() -> None:
        async with app:
            made = await app.acting_as("ada").policy_propose(policy)
            await app.policy_activate(made["version_no"])
            for name in ("ben", "cleo"):
                await app.person_set(name, ["lead"])
            await app.person_set("dan", ["clerk"])
            async with sw.Worker(app):
                small = await app.start("order.place", {"item": "chair", "amount": 20})
                assert await small.result() == {"id": "O-1", "item": "chair", "amount": 20}
                large = await app.start("order.place", {"item": "table", "amount": 5000})
                approval = await until_async(waiting)
                assert list(shop.orders) == ["O-1"]
                with pytest.raises(sw.PermissionDenied, match="role lead"):
                    await app.approval_decide(await app.approval(approval), "approve", "dan")
                await app.approval_decide(await app.approval(approval), "approve", "ben")
                await app.approval_decide(await app.approval(approval), "approve", "cleo")
                assert (await large.result())["id"] == "O-2"
                table, _ = await app.receipts()
                assert table.reversal == {"operation": "delete", "target": "/orders/O-2", "fields": {}}
                undoing = await app.acting_as("ada").reverse(table.receipt_id)
                await app.approval_decide(await app.approval(await until_async(waiting)), "approve", "dan")
                await undoing.result()
                assert (await app.receipt(table.receipt_id)).state_code == "reversed"

    asyncio.run(whole())
    assert list(shop.orders) == ["O-1"]
    assert check_invariants(dsn) == []
