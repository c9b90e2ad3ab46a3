"""Seal the log of a tenant: receives a client, returns new blocks, or waits until a position is sealed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from stepwell.errors import Conflict
from stepwell.store.calls import sealing
from stepwell.store.calls.audit import Position
from stepwell.store.calls.sealing import Sealed
from stepwell.store.connection.call import Call

T = TypeVar("T")
ROUND_LIMIT = 10_000
POLL_SECONDS = 0.05
WAIT_LIMIT_SECONDS = 30.0


class Sealer(Protocol):
    """Whoever may seal the log of a tenant: a client, or what a keeper uses for a bundle."""

    @property
    def tenant_id(self) -> int: ...

    async def perform(self, call: Call[T]) -> T: ...


async def seal_now(client: Sealer) -> list[Sealed]:
    """Seal block after block until a block is not full."""
    made: list[Sealed] = []
    for _ in range(ROUND_LIMIT):
        block = await client.perform(sealing.seal(client.tenant_id))
        if block is not None:
            made.append(block)
        if block is None or not block.is_full:
            break
    return made


async def seal_until(
    client: Sealer, position: Position, sealed: Callable[[], Position], limit_seconds: float
) -> None:
    """Return when the event is in a block; raise Conflict if an older transaction stays open too long.

    `sealed` reads the last position that is sealed.
    """
    began = time.monotonic()
    while await asyncio.to_thread(sealed) < position:
        await seal_now(client)
        if await asyncio.to_thread(sealed) >= position:
            return
        if time.monotonic() - began > limit_seconds:
            raise Conflict(
                f"event {position[0]}/{position[1]} cannot be sealed yet: an older transaction is still open",
                hint="end it (see pg_stat_activity and pg_prepared_xacts), then try again",
            )
        await asyncio.sleep(POLL_SECONDS)
