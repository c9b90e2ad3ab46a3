"""The example in the repository runs as its docstring says."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepwell as sw
from stepwell.loading import load_app

EXAMPLE = Path(__file__).parents[2] / "examples" / "order.py"


async def _order(dsn: str, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("STEPWELL_DATABASE_URL", dsn)
    app = load_app(f"{EXAMPLE}:app")
    async with app, sw.Worker(app):
        run = await app.start("order.process", {"order_id": "A-1"}, key="A-1")
        # The event may arrive before the boxes are packed: it is kept.
        await app.signal(("order.process", "A-1"), "carrier.picked_up", {"carrier": "X"}, event_id="pickup-1")
        return await run.result()


@pytest.mark.requirement("RX-10")
def test_an_order_is_charged_packed_picked_up_and_closed(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    assert asyncio.run(_order(dsn, monkeypatch)) == {"order": "A-1", "boxes": 3}
