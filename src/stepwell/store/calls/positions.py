"""Positions of the log: wait until everything up to a position can be read."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from stepwell.store.connection import perform
from stepwell.store.connection.call import Call, value
from stepwell.store.connection.pool import checked_out

if TYPE_CHECKING:
    from stepwell.store.connection.pool import AsyncPool

REACH_LIMIT_SECONDS = 5.0
PAUSE_FIRST_SECONDS = 0.01
PAUSE_LIMIT_SECONDS = 0.25


def is_reached(position: int) -> Call[bool]:
    """Whether the transaction with this number has ended, so that a new snapshot has what it wrote."""
    return Call(
        "select pg_visible_in_snapshot(%s::text::xid8, pg_current_snapshot())", (str(position),), value
    )


async def reach(pool: AsyncPool, position: int) -> bool:
    """Wait until the position is reached; False if it is not reached in time."""
    deadline = time.monotonic() + REACH_LIMIT_SECONDS
    pause = PAUSE_FIRST_SECONDS
    while True:
        async with checked_out(pool) as connection:
            if await perform.on_connection(connection, is_reached(position)):
                return True
        if time.monotonic() + pause > deadline:
            return False
        await asyncio.sleep(pause)
        pause = min(pause * 2, PAUSE_LIMIT_SECONDS)
