"""Seal the log of a tenant: receives a client, returns new blocks, or waits until a position is sealed."""

from __future__ import annotations

import asyncio
import time

from stepwell.client import Client
from stepwell.errors import Conflict
from stepwell.store.calls import audit, sealing
from stepwell.store.calls.audit import Position
from stepwell.store.calls.sealing import Sealed

ROUND_LIMIT = 10_000
POLL_SECONDS = 0.05
WAIT_LIMIT_SECONDS = 30.0


async def seal_now(client: Client) -> list[Sealed]:
    """Seal block after block until a block is not full."""
    made: list[Sealed] = []
    for _ in range(ROUND_LIMIT):
        block = await client.perform(sealing.seal(client.tenant_id))
        if block is not None:
            made.append(block)
        if block is None or not block.is_full:
            break
    return made


async def seal_until(client: Client, position: Position, limit_seconds: float = WAIT_LIMIT_SECONDS) -> None:
    """Return when the event is in a block; raise Conflict if an older transaction stays open too long."""
    began = time.monotonic()
    while True:
        await seal_now(client)
        if await asyncio.to_thread(_sealed, client) >= position:
            return
        if time.monotonic() - began > limit_seconds:
            raise Conflict(
                f"event {position[0]}/{position[1]} cannot be sealed yet: an older transaction is still open",
                hint="end it (see pg_stat_activity and pg_prepared_xacts), then try again",
            )
        await asyncio.sleep(POLL_SECONDS)


def _sealed(client: Client) -> Position:
    with audit.reading(client.conninfo, client.tenant_id) as reader:
        chain = reader.chain()
    return (0, 0) if chain is None else chain.last
