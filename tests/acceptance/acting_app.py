"""An app with one step that writes to a file. It passes gates around the effect, where a test can kill it.

A gate is an advisory lock in the database; the file stands for the other system and counts the effects.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import stepwell as sw
from stepwell.connectors.base import Action, Effect
from tests.acceptance.stoppable_app import pass_gate
from tests.worker.acting import Ledger

app = sw.App()


class GatedLedger(Ledger):
    """Waits at `before` and `after` while the test has closed that gate."""

    async def perform(self, action: Action) -> Effect:
        await asyncio.to_thread(pass_gate, "before")
        found = await super().perform(action)
        await asyncio.to_thread(pass_gate, "after")
        return found


app.connector(GatedLedger(Path(os.environ["LEDGER_PATH"])))


@app.operation
async def book(ctx: sw.Context, op: str) -> object:
    await asyncio.to_thread(pass_gate, "asking")
    found = await ctx.act("ledger", op, "A", {"amount": 7})
    await asyncio.to_thread(pass_gate, "returning")
    return found


app.publish(sw.Workflow("act", sw.Operation("book")))
